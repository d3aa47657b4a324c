//! The limits on one connection.

use salver_semantics::RequestLimits;

/// The limits on one connection. A client is told them, in SETTINGS or by a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The limits on one request.
    pub request: RequestLimits,
    /// The number of streams that may be open at once; default 128. More are refused.
    pub max_streams: u32,
    /// The number of frames that may come at once although they lead to nothing - PING, SETTINGS, resets, empty ones;
    /// default 1,000. A tenth of them is allowed again each second.
    pub max_idle_frames: u32,
    /// True if requests are for a program, not for files alone: then all their
    /// [lines](salver_fields::RequestHead::lines) are kept, and each is given when its head has come, its content
    /// after it. Otherwise content is dropped, and a request is given when it is whole. Default: false.
    pub for_program: bool,
    /// True if requests are given with all of their field lines. Default: false; they are where `for_program` is set.
    pub keeps_lines: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            request: RequestLimits::default(),
            max_streams: 128,
            max_idle_frames: 1000,
            for_program: false,
            keeps_lines: false,
        }
    }
}
