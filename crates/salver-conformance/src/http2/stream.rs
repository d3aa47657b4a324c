//! One stream that we have opened (RFC 9113 section 5.1).

use crate::answer::Answer;
use crate::http2::flow::Window;
use crate::http2::frame::Frame;

/// A request on its way and its answer.
pub(crate) struct Stream {
    /// What has come.
    pub(crate) answer: Answer,
    /// What the server may send.
    pub(crate) receive: Window,
    /// What we may send.
    pub(crate) send: Window,
    /// Content that waits for the window.
    pub(crate) unsent: Vec<u8>,
    /// The field section behind it, as a frame.
    pub(crate) trailers: Option<Frame>,
    /// Our side has ended.
    pub(crate) finished: bool,
}
