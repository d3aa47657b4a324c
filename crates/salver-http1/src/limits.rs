//! The bounds of what one request may cost.

pub use salver_semantics::RequestLimits as Limits;

use crate::error::ParseError;

/// More field lines than this are refused whatever [`Limits::max_fields`] says: several times what
/// any client has to say.
pub const FIELDS_AT_MOST: usize = 128;

/// Checks a length of content that was announced (RFC 9110 section 15.5.14).
pub(crate) fn check_body(limits: &Limits, length: u64) -> Result<(), ParseError> {
    if length > limits.max_body {
        Err(ParseError::BodyTooLarge)
    } else {
        Ok(())
    }
}
