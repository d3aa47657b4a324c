#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`AcceptEncoding`] chooses a coding, [`Preconditions`] decide between 200, 304 and 412, and
//! [`evaluate_range`] selects bytes. [`RequestFields`] has what all of them read. Lengths and positions
//! are bytes, times are an [`HttpDate`]: whole seconds since 1970.
//!
//! Field values are `&[u8]`, without the line's end. A field that arrived on several lines is one
//! value, joined with `", "` (RFC 9110 section 5.2).
#![forbid(unsafe_code)]

pub mod accept;
pub mod authority;
pub mod cache_control;
pub mod cache_status;
pub mod coding;
pub mod date;
pub mod dictionary;
pub mod field;
pub mod media_type;
pub mod message;
pub mod precondition;
pub mod range;
pub mod validator;

mod cache_groups;
mod civil_time;
mod client_key;
mod compressible;
mod fingerprint;
mod flood_guard;
mod host_table;
mod https_location;
mod least_rate;
mod method;
mod misdirected;
mod noted_fields;
mod origin_fields;
mod refusal;
pub mod request_fields;
mod request_limits;
mod request_path;

pub use accept::{MediaPreference, media_preference, preferred_alternative};
pub use authority::{Authority, is_this_machine};
pub use cache_control::{
    IMMUTABLE, NO_CACHE, cache_control, is_cache_control, is_fingerprinted, may_be_fingerprinted,
    versioned_name,
};
pub use cache_groups::is_in_group;
pub use cache_status::{CacheState, CacheStatus};
pub use civil_time::CivilTime;
pub use client_key::ClientKey;
pub use coding::{AcceptEncoding, ContentCoding};
pub use compressible::{Compressibility, CompressibleTypes, TypeRange};
pub use date::HttpDate;
pub use dictionary::DictionaryCoding;
pub use field::Weight;
pub use fingerprint::{HashPlaces, VersionedName};
pub use flood_guard::FloodGuard;
pub use host_table::{HostTable, host_of};
pub use https_location::https_location;
pub use least_rate::{LeastRate, RateCredit};
pub use media_type::{content_type, has_known_extension};
pub use method::Method;
pub use misdirected::{Destination, MISDIRECTED};
pub use noted_fields::NotedFields;
pub use origin_fields::{OriginFields, Readability};
pub use precondition::{Preconditions, Verdict, if_range};
pub use range::{
    RangeLimits, RangeOutcome, content_range, content_range_unsatisfied, evaluate_range,
};
pub use refusal::Refusal;
pub use request_fields::RequestFields;
pub use request_limits::RequestLimits;
pub use request_path::{PathError, RequestPath, encode_path, encode_query, target_of};
pub use validator::{EntityTag, Validators, entity_tags};
