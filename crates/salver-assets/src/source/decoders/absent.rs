//! No decoder: a build without the feature `coding` decodes nothing.

use std::io::Read;

use salver_semantics::ContentCoding;

/// The codings that this build decodes.
pub(super) const DECODED: &[ContentCoding] = &[];

/// What `read` makes of what was decoded: of nothing.
pub(super) fn decode_with<T>(
    _: impl Read,
    _: ContentCoding,
    _: impl FnOnce(&mut dyn Read) -> T,
) -> Option<(T, bool)> {
    None
}
