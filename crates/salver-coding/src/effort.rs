//! How much work a coding is worth.

/// The effort of an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effort {
    /// For an answer that is waited for: Brotli 4, Zstandard 3, gzip 6.
    Quick,
    /// For what is made once and kept: Brotli 11 with the smallest window that has all, Zstandard 19 with a window of
    /// 8 MiB at most (RFC 9659), gzip by libdeflate and by zlib at their best: the shorter one counts.
    #[default]
    Best,
    /// The same with gzip by Zopfli, several times slower, if this build has the feature `zopfli`; the shorter one counts.
    Extreme,
}
