//! The limits on one request.

pub use salver_semantics::RequestLimits as Limits;

/// The most field lines that [`Limits::max_fields`] can allow: several times what any client sends.
pub const FIELDS_AT_MOST: usize = 128;
