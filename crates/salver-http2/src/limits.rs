//! The bounds of what one connection may cost.

use salver_semantics::RequestLimits;

/// What one connection may cost. Numbers that a client is told, in SETTINGS or by a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// What one request may cost.
    pub request: RequestLimits,
    /// Streams that may be open at once; default 128. More are refused.
    pub max_streams: u32,
    /// Frames that lead to nothing - PING, SETTINGS, resets, empty ones - that may come at once;
    /// default 1,000. A tenth of them is allowed again each second.
    pub max_idle_frames: u32,
    /// Whether requests are for a program, not for files alone: then all their
    /// [lines](salver_fields::RequestHead::lines) are kept, and whoever asks before sending content (Expect) is
    /// told to go on. Default: no.
    pub for_program: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            request: RequestLimits::default(),
            max_streams: 128,
            max_idle_frames: 1000,
            for_program: false,
        }
    }
}
