//! Digests of files, of the bytes as they are and of what they decode to, remembered by identity.
//!
//! Entity tags are made of it, and a precompressed sibling is trusted because of it. A
//! [`View`](crate::View) that [knows](crate::View::known) it beforehand spares the engine reading.

use std::collections::HashMap;
use std::io::{self, Read};

use salver_os::Identity;
use salver_semantics::coding::ContentCoding;
use xxhash_rust::xxh3::Xxh3;

use crate::source::decoders::{self, decode_with};
use crate::sync::Lock;

/// The content codings that this build decodes.
pub const DECODED: &[ContentCoding] = decoders::DECODED;

/// A digest of content: XXH3, 128 bits, without a seed, so that replicas of one tree agree.
pub type Digest = u128;

/// The most places of a generation, a power of two; a table fills seven eighths of them.
const PLACES: usize = 32 * 1024;

/// The bytes of one place: key, value and the table's own byte.
const PLACE: usize = std::mem::size_of::<((Identity, ContentCoding), Hashed)>() + 1;

/// The share of the cache's budget that digests may take.
const SHARE: usize = 8;

/// The bytes that are decoded at a time.
const CHUNK: usize = 64 * 1024;

/// The digests of one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDigests {
    /// The digest of the bytes as they are.
    pub digest: Digest,
    /// The digest of what they decode to as a content coding; `None` if they don't decode, or were
    /// not decoded.
    pub decoded: Option<Digest>,
}

/// The result of reading a file as one content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashed {
    /// The digest of the bytes as they are.
    pub(crate) digest: Digest,
    pub(crate) decoded: Decoded,
}

/// The result of decoding a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// Content of this digest.
    To(Digest),
    /// More than so many bytes, the length of the original that it was compared with. The limit goes
    /// with the verdict: of a longer original it says nothing.
    Beyond(u64),
    /// Nothing that browsers take, or it was not decoded.
    Nothing,
}

impl Hashed {
    /// The digests of a file that is taken for no coding.
    pub(crate) fn plain(digest: Digest) -> Self {
        Hashed {
            digest,
            decoded: Decoded::Nothing,
        }
    }

    /// True if this says anything of an original of so many bytes.
    pub(crate) fn is_of(&self, length: u64) -> bool {
        !matches!(self.decoded, Decoded::Beyond(limit) if length > limit)
    }

    /// The verdict whether this decodes to an original of so many bytes with this digest; `None` if that was
    /// not found out.
    pub(crate) fn fits(&self, original: Digest, length: u64) -> Option<bool> {
        match self.decoded {
            Decoded::To(decoded) => Some(decoded == original),
            Decoded::Beyond(_) | Decoded::Nothing => self.is_of(length).then_some(false),
        }
    }
}

/// A cache of the digests of files, so that an entry which comes back need not be read again. Two
/// generations: when the young one is full it becomes the old one, and the old one goes.
#[derive(Debug)]
pub(crate) struct Digests {
    generations: Lock<Generations>,
    /// The number of places of a generation.
    places: usize,
}

type Table = HashMap<(Identity, ContentCoding), Hashed, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct Generations {
    young: Table,
    old: Table,
}

impl Digests {
    /// A table for a cache with a budget of so many bytes.
    pub(crate) fn within(budget: usize) -> Self {
        let most = (budget / SHARE / 2 / PLACE).clamp(64, PLACES);
        Digests {
            generations: Lock::new(Generations::default()),
            // The greatest power of two that fits.
            places: (most + 1).next_power_of_two() / 2,
        }
    }

    /// The bytes that both generations take at most.
    pub(crate) fn weight(&self) -> usize {
        2 * self.places * PLACE
    }

    /// The digests of a file that was taken for `coding`.
    pub(crate) fn get(&self, identity: &Identity, coding: ContentCoding) -> Option<Hashed> {
        let key = (*identity, coding);
        let mut generations = self.generations.hold();
        if let Some(known) = generations.young.get(&key) {
            return Some(*known);
        }
        let known = generations.old.get(&key).copied()?;
        generations.put(key, known, self.places);
        Some(known)
    }

    pub(crate) fn remember(&self, identity: &Identity, coding: ContentCoding, known: Hashed) {
        self.generations
            .hold()
            .put((*identity, coding), known, self.places);
    }

    /// Forgets the digests of this version, which may be wrong.
    pub(crate) fn forget(&self, identity: &Identity, coding: ContentCoding) {
        let key = (*identity, coding);
        let mut generations = self.generations.hold();
        generations.young.remove(&key);
        generations.old.remove(&key);
    }

    /// Forgets all digests.
    pub(crate) fn clear(&self) {
        *self.generations.hold() = Generations::default();
    }
}

impl Generations {
    fn put(&mut self, key: (Identity, ContentCoding), known: Hashed, places: usize) {
        if self.young.len() >= places / 8 * 7 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, known);
    }
}

/// The digest of bytes in memory: XXH3 with 128 bits. It tells versions apart; it is no defence against
/// somebody who makes two of the same digest on purpose.
pub fn of_bytes(bytes: &[u8]) -> Digest {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

/// The digest of all that `reader` gives.
///
/// # Errors
/// Those of `reader`.
pub fn of_reader(reader: &mut impl Read) -> io::Result<Digest> {
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hasher.digest128()),
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads a coded file once for both digests. Decoding gives up beyond `length`, the length of the
/// original in bytes, so that no bomb goes off; what does not decode as browsers do (RFC 7932, RFC
/// 9659), has bytes after its end, or is in a coding that this build does not [decode](DECODED), has no
/// decoded digest.
///
/// # Errors
/// Only those of `reader`.
pub fn of_coded(
    reader: &mut impl Read,
    coding: ContentCoding,
    length: u64,
) -> io::Result<KnownDigests> {
    let Hashed { digest, decoded } = hash_coded(reader, coding, length)?;
    let decoded = match decoded {
        Decoded::To(digest) => Some(digest),
        Decoded::Beyond(_) | Decoded::Nothing => None,
    };
    Ok(KnownDigests { digest, decoded })
}

/// The digests of a coded file, with the reason if it has no decoded digest.
pub(crate) fn hash_coded(
    reader: &mut impl Read,
    coding: ContentCoding,
    length: u64,
) -> io::Result<Hashed> {
    let mut tap = Tap {
        reader,
        hasher: Xxh3::new(),
        passed: 0,
        failure: None,
    };
    let decoded = decode(&mut tap, coding, length);
    // What the decoder left unread still counts for the digest of the file as it is, and makes
    // it one that does not decode: clients differ in what they do with trailing bytes.
    let mut trailing = false;
    let mut buffer = vec![0; CHUNK];
    while tap.read(&mut buffer).unwrap_or(0) > 0 {
        trailing = true;
    }
    // Some decoders take nothing at all for an empty stream.
    let is_stream = tap.passed > 0 && !trailing;
    match tap.failure {
        Some(error) => Err(error),
        None => Ok(Hashed {
            digest: tap.hasher.digest128(),
            decoded: match decoded {
                Decoded::To(_) if !is_stream => Decoded::Nothing,
                decoded => decoded,
            },
        }),
    }
}

fn decode(reader: impl Read, coding: ContentCoding, length: u64) -> Decoded {
    // One byte more than the original shows what is longer, and makes the decoder see its own end.
    let digest = |decoder: &mut dyn Read| {
        let mut bounded = decoder.take(length.saturating_add(1));
        match of_reader(&mut bounded) {
            Ok(_) if bounded.limit() == 0 => Decoded::Beyond(length),
            Ok(digest) => Decoded::To(digest),
            Err(_) => Decoded::Nothing,
        }
    };
    match decode_with(reader, coding, digest) {
        // Bytes behind its end: clients differ in what they do with them.
        Some((Decoded::To(_), true)) | None => Decoded::Nothing,
        Some((decoded, _)) => decoded,
    }
}

/// A reader that hashes what passes, and keeps the file's own errors apart from the decoder's.
struct Tap<'a, R> {
    reader: &'a mut R,
    hasher: Xxh3,
    passed: usize,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Tap<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Ok(0);
        }
        match self.reader.read(buffer) {
            Ok(count) => {
                self.hasher.update(buffer.get(..count).unwrap_or_default());
                self.passed += count;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.failure = Some(error);
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::source::Timestamp;
    use std::io::Write;

    pub(crate) fn encode(bytes: &[u8], coding: ContentCoding) -> Vec<u8> {
        match coding {
            ContentCoding::Identity => bytes.to_vec(),
            ContentCoding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            ContentCoding::Brotli => {
                let mut out = Vec::new();
                let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 5, 20);
                encoder.write_all(bytes).unwrap();
                drop(encoder);
                out
            }
            ContentCoding::Zstd => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    fn known(coded: &[u8], coding: ContentCoding, length: usize) -> KnownDigests {
        of_coded(&mut &*coded, coding, u64::try_from(length).unwrap()).unwrap()
    }

    #[test]
    fn what_decodes_to_the_original_is_recognised() {
        for coding in ContentCoding::CODED {
            for length in [0, 1, 1000, 300_000] {
                let original: Vec<u8> =
                    (0..length).map(|n: u32| (n / 7).to_le_bytes()[0]).collect();
                let coded = encode(&original, coding);
                let check = |what: &str, coded: &[u8], expected: bool| {
                    let known = known(coded, coding, original.len());
                    assert_eq!(known.digest, of_bytes(coded), "{coding:?} {length} {what}");
                    let right = known.decoded == Some(of_bytes(&original));
                    let expected = expected && DECODED.contains(&coding);
                    assert_eq!(right, expected, "{coding:?} {length} {what}");
                };
                check("whole", &coded, true);
                check("another", &encode(b"another", coding), false);
                check("cut", &coded[..coded.len() - 1], false);
                check("other", b"no such coding", false);
                check(
                    "trailing",
                    &[&coded[..], b"trailing garbage"].concat(),
                    false,
                );
                let mut longer = original.clone();
                longer.push(1);
                check("longer", &encode(&longer, coding), false);
            }
        }
    }

    #[cfg(feature = "brotli")]
    #[test]
    fn windows_beyond_what_browsers_take_are_refused() {
        let original = vec![7; 100_000];
        let check = |large_window: bool, lgwin: i32, expected: bool| {
            let mut coded = Vec::new();
            let params = brotli::enc::BrotliEncoderParams {
                large_window,
                lgwin,
                ..Default::default()
            };
            brotli::BrotliCompress(&mut &*original, &mut coded, &params).unwrap();
            let known = known(&coded, ContentCoding::Brotli, original.len());
            assert_eq!(
                known.decoded == Some(of_bytes(&original)),
                expected,
                "{lgwin}"
            );
        };
        check(false, 24, true);
        check(true, 28, false);
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn a_bomb_is_decoded_no_further_than_the_original() {
        let bomb = encode(&vec![0; 50_000_000], ContentCoding::Zstd);
        let known = known(&bomb, ContentCoding::Zstd, 10);
        assert_eq!(known.decoded, None);
    }

    #[test]
    fn what_was_decoded_up_to_a_limit_is_no_verdict_about_longer_originals() {
        let original = vec![7; 5000];
        for &coding in DECODED {
            let coded = encode(&original, coding);
            let short = hash_coded(&mut &*coded, coding, 100).unwrap();
            assert_eq!(short.decoded, Decoded::Beyond(100), "{coding:?}");
            assert_eq!(short.fits(of_bytes(&[7; 100]), 100), Some(false));
            assert_eq!(short.fits(of_bytes(&[7; 50]), 50), Some(false));
            assert_eq!(short.fits(of_bytes(&original), 5000), None, "{coding:?}");
            let whole = hash_coded(&mut &*coded, coding, 5000).unwrap();
            assert_eq!(whole.fits(of_bytes(&original), 5000), Some(true));
        }
    }

    #[test]
    fn the_readers_own_error_is_not_taken_for_a_bad_file() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
        for coding in ContentCoding::CODED {
            let error = of_coded(&mut Fails, coding, 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_used() {
        let digests = Digests::within(256 << 20);
        let at = Timestamp {
            seconds: 0,
            nanoseconds: 0,
        };
        let identity = |inode| Identity {
            device: 0,
            inode,
            length: 0,
            modified: at,
            changed: at,
        };
        let one = Hashed::plain(1);
        digests.remember(&identity(0), ContentCoding::Identity, one);
        for inode in 1..u64::try_from(3 * digests.places).unwrap() {
            digests.remember(&identity(inode), ContentCoding::Identity, one);
            if inode % 1000 == 0 {
                assert!(digests.get(&identity(0), ContentCoding::Identity).is_some());
            }
        }
        let generations = digests.generations.hold();
        assert!(
            generations.young.len() <= digests.places && generations.old.len() <= digests.places
        );
    }
}
