//! HTTP semantics (RFC 9110, RFC 9111) for static content, as pure values.
//!
//! What a field value means, which precondition holds, which bytes a range selects, which content
//! coding a client prefers: each answer is a function of its arguments alone.
//!
//! This crate never touches a file, a socket or a clock: whoever knows the time passes it in as an
//! [`HttpDate`]. It never fails loudly either. Every field value comes from a stranger, so each
//! parser takes raw bytes, never panics, and says "ignore it" in its return type where RFC 9110
//! says so.
//!
//! Field values are `&[u8]`, without the line's end. A field that arrived on several lines is one
//! value, joined with `", "` (RFC 9110 section 5.2).
#![forbid(unsafe_code)]

pub mod authority;
pub mod cache_control;
pub mod coding;
pub mod date;
pub mod field;
pub mod media_type;
pub mod precondition;
pub mod range;
pub mod validator;

mod fingerprint;
mod method;
pub mod request_fields;
mod request_limits;

pub use authority::Authority;
pub use cache_control::{IMMUTABLE, NO_CACHE, cache_control, is_cache_control, is_fingerprinted};
pub use coding::{AcceptEncoding, ContentCoding};
pub use date::HttpDate;
pub use field::Weight;
pub use media_type::{content_type, has_known_extension};
pub use method::Method;
pub use precondition::{Preconditions, Verdict, if_range};
pub use range::{
    RangeLimits, RangeOutcome, content_range, content_range_unsatisfied, evaluate_range,
};
pub use request_fields::RequestFields;
pub use request_limits::RequestLimits;
pub use validator::{EntityTag, Validators, entity_tags};
