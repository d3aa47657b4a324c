//! The errors of a stream or a connection, and their codes.

use salver_fields::Rejection;
use salver_semantics::Refusal;

/// The error codes of HTTP/3 and QPACK that this side sends (RFC 9114 section 8.1, RFC 9204
/// section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum ErrorCode {
    /// H3_NO_ERROR: nothing is wrong, the stream or connection is just not needed any more.
    NoError = 0x100,
    /// H3_INTERNAL_ERROR: the fault is this server's, or of the files that it serves.
    InternalError = 0x102,
    /// H3_STREAM_CREATION_ERROR: a stream of a type that may not be opened, or not again.
    StreamCreationError = 0x103,
    /// H3_CLOSED_CRITICAL_STREAM: a stream ended that has to stay open.
    ClosedCriticalStream = 0x104,
    /// H3_FRAME_UNEXPECTED: a frame that is not allowed here, or not now.
    FrameUnexpected = 0x105,
    /// H3_FRAME_ERROR: a frame whose layout or length is wrong.
    FrameError = 0x106,
    /// H3_EXCESSIVE_LOAD: the peer asks for more than is reasonable.
    ExcessiveLoad = 0x107,
    /// H3_ID_ERROR: an identifier that is not in use, or went backwards.
    IdError = 0x108,
    /// H3_SETTINGS_ERROR: settings that contradict each other or are reserved.
    SettingsError = 0x109,
    /// H3_MISSING_SETTINGS: the control stream does not begin with them.
    MissingSettings = 0x10a,
    /// H3_REQUEST_REJECTED: nothing was done for the request; it can be sent again elsewhere.
    RequestRejected = 0x10b,
    /// H3_REQUEST_CANCELLED: the answer is not going to be finished.
    RequestCancelled = 0x10c,
    /// H3_REQUEST_INCOMPLETE: the request ended too early.
    RequestIncomplete = 0x10d,
    /// H3_MESSAGE_ERROR: the message is malformed.
    MessageError = 0x10e,
    /// QPACK_DECOMPRESSION_FAILED: a field section that cannot be read.
    DecompressionFailed = 0x200,
    /// QPACK_ENCODER_STREAM_ERROR: an instruction that this side did not allow.
    EncoderStreamError = 0x201,
    /// QPACK_DECODER_STREAM_ERROR: an acknowledgement of what was never sent.
    DecoderStreamError = 0x202,
}

impl ErrorCode {
    /// The code by which the client is asked to send no more of a request that is refused.
    pub const fn of(refusal: &Refusal) -> ErrorCode {
        // RFC 9114 section 4.1.2: a malformed message may be answered, and is an error of the stream all the same.
        // Section 4.1: a client that has its answer need not send the rest.
        match refusal.status {
            400 => ErrorCode::MessageError,
            _ => ErrorCode::NoError,
        }
    }

    /// The code as it is sent.
    pub const fn value(self) -> u64 {
        self as u64
    }
}

/// The error that ends a connection (RFC 9114 section 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionError {
    /// The code to close it with.
    pub code: ErrorCode,
    /// The reason, for the peer's log; never with bytes that were received.
    pub reason: &'static str,
}

impl ConnectionError {
    pub(crate) const fn new(code: ErrorCode, reason: &'static str) -> Self {
        ConnectionError { code, reason }
    }

    /// A result that is this error.
    pub(crate) const fn fail<T>(code: ErrorCode, reason: &'static str) -> Result<T, Self> {
        Err(ConnectionError { code, reason })
    }
}

/// The failure that ends a request stream early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamFailure {
    /// The connection ends.
    Connection(ConnectionError),
    /// The stream is reset without an answer.
    Stream(ErrorCode),
    /// The request gets this answer.
    Refused(Refusal),
}

impl From<ConnectionError> for StreamFailure {
    fn from(error: ConnectionError) -> Self {
        StreamFailure::Connection(error)
    }
}

impl From<Refusal> for StreamFailure {
    fn from(refusal: Refusal) -> Self {
        StreamFailure::Refused(refusal)
    }
}

/// A malformed request is answered, so that its author learns what is wrong (RFC 9114 section 4.1.2).
impl From<Rejection> for StreamFailure {
    fn from(rejection: Rejection) -> Self {
        StreamFailure::Refused(match rejection {
            Rejection::Malformed(reason) => Refusal {
                status: 400,
                reason,
            },
            Rejection::Refused(refusal) => refusal,
        })
    }
}
