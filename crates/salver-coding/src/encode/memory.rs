//! The memory that encoding takes, so that a caller can keep within a budget.

use salver_semantics::ContentCoding;

use super::brotli;
use crate::effort::Effort;

const MIB: u64 = 1 << 20;

/// An estimate of the bytes that [`encode`](super::encode) takes for content of so many, beside the content itself:
/// rather too many than too few.
pub fn peak_memory(coding: ContentCoding, effort: Effort, length: usize) -> u64 {
    let content = u64::try_from(length).unwrap_or(u64::MAX);
    // What comes out is no longer than what went in, but for some bytes; it grows by doubling.
    let out = content.saturating_mul(2);
    let encoder = match (coding, effort) {
        (ContentCoding::Identity, _) => 0,
        (ContentCoding::Brotli, Effort::Quick) => (2 << brotli::window(length)) + 8 * MIB,
        // A tree of all places within the window, beside the window twice.
        (ContentCoding::Brotli, _) => (10 << brotli::window(length)) + 40 * MIB,
        (ContentCoding::Zstd, Effort::Quick) => 8 * MIB,
        // Its tables grow with the content up to those of a window of 8 MiB.
        (ContentCoding::Zstd, _) => content.saturating_mul(20).min(96 * MIB) + 4 * MIB,
        (ContentCoding::Gzip, Effort::Quick) => MIB,
        (ContentCoding::Gzip, Effort::Best) => 12 * MIB,
        // What is found in a part of a million bytes, several times over.
        (ContentCoding::Gzip, Effort::Extreme) => 128 * MIB,
    };
    out.saturating_add(encoder)
}
