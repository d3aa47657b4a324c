#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`CompressibleTypes`] says by name whether a file can get smaller, and `looks_compressed` by a sample where the name
//! does not tell. `encode` makes a coding, [`is_worth_it`] says whether to keep it, [`decodes_to`] verifies one that was kept.
//! What a client already has a version of is sent by `encode_with_dictionary` in a few bytes (RFC 9842).
//! A cache of codings has `METHOD` in its keys, and asks `peak_memory` before it begins.
#![deny(unsafe_code)]

mod decode;
#[cfg(feature = "dictionary")]
mod dictionary;
#[cfg(feature = "encode")]
mod effort;
#[cfg(feature = "encode")]
mod encode;
#[cfg(feature = "encode")]
mod promise;
#[cfg(feature = "encode")]
mod sample;
mod worth;

pub use decode::{DECODED, decode, decode_with, decodes_to};
#[cfg(feature = "dictionary")]
pub use dictionary::{
    DICTIONARY_METHOD, Dictionary, DictionaryError, decode_with_dictionary,
    decodes_to_with_dictionary, dictionary_peak_memory, encode_with_dictionary,
};
#[cfg(feature = "encode")]
pub use effort::Effort;
#[cfg(feature = "encode")]
pub use encode::{EncodeError, METHOD, encode, peak_memory};
#[cfg(feature = "encode")]
pub use promise::{SHORT, is_promising};
pub use salver_semantics::{
    Compressibility, CompressibleTypes, ContentCoding, DictionaryCoding, TypeRange, content_type,
};
#[cfg(feature = "encode")]
pub use sample::looks_compressed;
pub use worth::is_worth_it;
