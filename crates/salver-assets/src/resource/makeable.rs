//! The codings of a file that may still be made, and which of them a client would rather have than what there is.

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
    /// `offered` are those that are there.
    pub(crate) fn wanted(
        &self,
        accept: &AcceptEncoding,
        selected: Option<ContentCoding>,
        offered: &[(ContentCoding, u64)],
    ) -> Option<ContentCoding> {
        let there = offered.iter().map(|(coding, _)| *coding);
        let mut all = there.chain(self.codings.iter().copied());
        // As a rule the first of them is the shortest.
        let rank = |coding: ContentCoding| {
            let place = MADE.iter().position(|made| *made == coding);
            u64::try_from(place.unwrap_or(MADE.len())).unwrap_or(u64::MAX)
        };
        let best = accept.select(all.clone().map(|coding| (coding, rank(coding))))?;
        let best = all.nth(best)?;
        (Some(best) != selected && self.codings.contains(&best)).then_some(best)
    }

    /// The bytes that it takes.
    pub(crate) fn weight(&self) -> usize {
        std::mem::size_of::<Self>() + self.codings.len()
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
        // Brotli is not worth it.
        check("br, gzip", &[Identity], &[Gzip], Some(Gzip));
    }
}
