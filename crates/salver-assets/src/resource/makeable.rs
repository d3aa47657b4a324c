//! The codings of a file that may still be made, and which of them a client would rather have than what there is.

use std::cmp::Ordering;

use salver_semantics::{AcceptEncoding, ContentCoding};

use crate::codings::coder::MADE;
use crate::source::digest::Digest;

/// The codings of a file that are not made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Makeable {
    /// The number of the mount that the file is in.
    pub(crate) mount: usize,
    /// The digest of its content.
    pub(crate) digest: Digest,
    /// Invariant: not empty.
    pub(crate) codings: Vec<ContentCoding>,
}

impl Makeable {
    /// The coding that `accept` would rather have than the representation in the coding `selected`, if that can be made.
    /// `offered` are those that are there. In the steady state nothing is looked at but what can be made.
    pub(crate) fn wanted(
        &self,
        accept: &AcceptEncoding,
        selected: Option<ContentCoding>,
        offered: &[(ContentCoding, u64)],
    ) -> Option<ContentCoding> {
        let is_better = |one, other| is_better(accept, one, other);
        let better = self.codings.iter().copied().filter(|&coding| {
            accept.accepts(coding) && selected.is_none_or(|selected| is_better(coding, selected))
        });
        let best = better.reduce(|one, other| match is_better(other, one) {
            true => other,
            false => one,
        })?;
        let mut there = offered.iter();
        there
            .all(|&(coding, _)| !is_better(coding, best))
            .then_some(best)
    }

    /// The bytes that it takes.
    pub(crate) fn weight(&self) -> usize {
        std::mem::size_of::<Self>() + self.codings.len()
    }
}

/// True if a client would rather have the one coding than the other. Of two that it wants alike the one that is made
/// first is shorter, as a rule.
fn is_better(accept: &AcceptEncoding, one: ContentCoding, other: ContentCoding) -> bool {
    let rank = |coding| MADE.iter().position(|made| *made == coding);
    let rank = |coding| rank(coding).unwrap_or(MADE.len());
    match accept.compare(one, other) {
        Ordering::Less => false,
        Ordering::Equal => rank(one) < rank(other),
        Ordering::Greater => true,
    }
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use super::*;
    use ContentCoding::{Brotli, Gzip, Identity, Zstd};

    #[test]
    fn what_a_client_would_rather_have() {
        let check = |accept: &str, offered: &[ContentCoding], makes: &[ContentCoding], expected| {
            let makeable = Makeable {
                mount: 0,
                digest: 1,
                codings: makes.to_vec(),
            };
            let accept = AcceptEncoding::parse(Some(accept.as_bytes()));
            let lengths = |coding: &ContentCoding| (*coding, 9);
            let offered: Vec<_> = offered.iter().map(lengths).collect();
            let selected = accept.select(offered.iter().copied());
            let selected = selected.map(|place| offered[place].0);
            let wanted = makeable.wanted(&accept, selected, &offered);
            assert_eq!(wanted, expected, "{accept:?} {offered:?} {makes:?}");
        };
        let all = [Brotli, Zstd, Gzip];
        check("gzip, deflate, br, zstd", &[Identity], &all, Some(Brotli));
        check("gzip, deflate", &[Identity], &all, Some(Gzip));
        check("zstd, gzip", &[Identity], &all, Some(Zstd));
        check("br;q=0.5, gzip", &[Identity], &all, Some(Gzip));
        check("*", &[Identity], &all, Some(Brotli));
        check("", &[Identity], &all, None);
        check("identity", &[Identity], &all, None);
        check("identity, br;q=0.5", &[Identity], &all, None);
        check("deflate", &[Identity], &all, None);
        check("br, identity;q=0", &[Identity], &all, Some(Brotli));
        check("identity;q=0", &[Identity], &all, None);
        // What there is already is not made.
        check("br, gzip", &[Identity, Brotli], &[Zstd, Gzip], None);
        check("gzip", &[Identity, Brotli], &[Zstd, Gzip], Some(Gzip));
        check("br, gzip", &[Identity, Gzip], &[Brotli, Zstd], Some(Brotli));
        check("zstd, gzip", &[Identity, Gzip], &[Brotli], None);
        // What is there is longer than what could be made, as a rule.
        check("zstd, gzip", &[Identity, Gzip], &[Brotli, Zstd], Some(Zstd));
        check("br, gzip", &[Identity, Brotli, Gzip], &[Zstd], None);
        check("*", &[Identity, Brotli, Gzip], &[Zstd], None);
        // Brotli is not worth it.
        check("br, gzip", &[Identity], &[Gzip], Some(Gzip));
    }
}
