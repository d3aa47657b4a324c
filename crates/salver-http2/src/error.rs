//! The errors that end a stream or a connection.

/// An error code (RFC 9113 section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorCode(pub u32);

#[expect(missing_docs, reason = "the names are the specification's")]
impl ErrorCode {
    pub const NO_ERROR: ErrorCode = ErrorCode(0);
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(1);
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(2);
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(3);
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(5);
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(6);
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(7);
    pub const CANCEL: ErrorCode = ErrorCode(8);
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(9);
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(11);
}

impl ErrorCode {
    /// The error of a stream with this code.
    pub(crate) fn on(self, stream: u32) -> ProtocolError {
        ProtocolError::Stream(stream, self)
    }
}

/// An error of the peer, as an error of the connection or of one stream (RFC 9113 section 5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProtocolError {
    /// The connection.
    Connection(ErrorCode),
    /// One stream.
    Stream(u32, ErrorCode),
}

impl From<ErrorCode> for ProtocolError {
    fn from(code: ErrorCode) -> Self {
        ProtocolError::Connection(code)
    }
}
