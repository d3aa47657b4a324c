//! The limits on one request.

pub use salver_semantics::RequestLimits as Limits;

use crate::error::ParseError;

/// The most field lines that [`Limits::max_fields`] can allow: several times what any client sends.
pub const FIELDS_AT_MOST: usize = 128;

/// Checks an announced length of content (RFC 9110 section 15.5.14).
pub(crate) fn check_body(limits: &Limits, length: u64) -> Result<(), ParseError> {
    if length > limits.max_body {
        Err(ParseError::BodyTooLarge)
    } else {
        Ok(())
    }
}
