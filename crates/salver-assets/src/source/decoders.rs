//! The decoders of content codings, by which siblings are verified.

pub(super) use salver_coding::{DECODED, decode_with};
