//! The bounds of what one request may cost.

use crate::error::ParseError;

/// More field lines than this are refused whatever [`Limits::max_fields`] says: several times what
/// any client has to say.
pub const FIELDS_AT_MOST: usize = 128;

/// What one request may cost. Whatever goes beyond is refused and the connection closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Length of a head (request line, field lines and the empty line), in bytes; default 16 KiB.
    /// A longer one is refused with 431. The same number bounds, per body, the chunk extensions and
    /// the trailer section together. A driver's buffer must be able to hold this much.
    pub max_head: usize,
    /// Length of a request target in bytes; default 8 KiB. A longer one is refused with 414.
    pub max_target: usize,
    /// Number of field lines; default 100, at most [`FIELDS_AT_MOST`]. More are refused with 431.
    pub max_fields: usize,
    /// Length of a request's content in bytes; default 1 MiB. More is refused with 413.
    pub max_body: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_head: 16 << 10,
            max_target: 8 << 10,
            max_fields: 100,
            max_body: 1 << 20,
        }
    }
}

impl Limits {
    /// Checks a length of content that was announced (RFC 9110 section 15.5.14).
    pub(crate) fn check_body(&self, length: u64) -> Result<(), ParseError> {
        if length > self.max_body {
            Err(ParseError::BodyTooLarge)
        } else {
            Ok(())
        }
    }
}
