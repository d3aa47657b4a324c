//! No encoder: a build without the feature `compress` makes no coding, so that nothing below is ever asked.

use salver_semantics::{CompressibleTypes, ContentCoding, DictionaryCoding};

use crate::codings::key::MadeAs;

/// The codings that this build makes.
pub(crate) const MADE: &[ContentCoding] = &[];

/// The codings against a dictionary that this build makes.
pub(crate) const MADE_AGAINST_DICTIONARY: &[DictionaryCoding] = &[];

/// The version of how codings are made.
pub(crate) const METHOD: u32 = 0;

/// The version of how codings against a dictionary are made.
pub(crate) const DICTIONARY_METHOD: u32 = 0;

/// What an encoder has made.
#[allow(dead_code, reason = "there is no encoder")]
pub(crate) enum Encoded {
    To(Vec<u8>),
    NotWorthIt,
    Cancelled,
}

pub(crate) fn may_get_smaller(_: &CompressibleTypes, _: &str, _: u64) -> bool {
    false
}

pub(crate) fn memory(_: u64, _: &MadeAs) -> u64 {
    u64::MAX
}

pub(crate) fn sha256(_: &[u8], _: &dyn Fn() -> bool) -> Option<[u8; 32]> {
    None
}

pub(crate) fn is_of(_: &[u8], _: &MadeAs, _: &[u8], _: &[u8]) -> bool {
    false
}

pub(crate) fn encode(_: &[u8], _: &MadeAs, _: &[u8], _: &dyn Fn() -> bool) -> Encoded {
    Encoded::Cancelled
}
