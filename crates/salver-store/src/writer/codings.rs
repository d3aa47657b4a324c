//! Codings of blobs, made before a release becomes current: once for each content, whatever releases have it.
//!
//! `codings/ab/cdef…` says which there are of the blob with this name. A coding is a blob like others.
//!
//! ```text
//! salver-codings 1 4
//! br 9f86d081… 3f9a1c2b… 250
//! zstd -
//! gzip 60303ae2… 77af00d1… 270
//! end 2c26b46b…
//! ```
//!
//! The second number is that of the encoders ([`METHOD`]). A line has the SHA-256 of a coding, the digest that its entity
//! tag is made of, and its length; `-` if it saves too little. The last line has the SHA-256 of all before it: what is
//! damaged, or of other encoders, is made anew.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use salver_assets::ContentCoding;
use salver_assets::digest::{Digest, KnownDigests};
use salver_coding::{
    Compressibility, CompressibleTypes, Effort, EncodeError, METHOD, decodes_to, encode,
    is_promising, is_worth_it, looks_compressed,
};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::digest::BlobDigest;
use crate::files::layout::{self, CODINGS as NOTES};
use crate::files::manifest::{LONGEST_PATH, MOST_FILES, ManifestFile};
use crate::place::Changes;
use crate::place::side_by_side::for_each;
use crate::place::uploads::AT_ONCE;
use crate::store::Store;

/// The codings that are made.
const CODINGS: [ContentCoding; 3] = [
    ContentCoding::Brotli,
    ContentCoding::Zstd,
    ContentCoding::Gzip,
];

/// The longest content that codings are made of, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The bytes of content from which on one is coded at a time, whatever the number of threads: encoders take many times
/// that.
const LONG: u64 = 8 * 1024 * 1024;

/// The longest file that says what codings there are, in bytes.
const LONGEST_NOTE: u64 = 1024;

/// A coding of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coding {
    blob: BlobDigest,
    engine: Digest,
    length: u64,
}

/// What there is of each coding of a blob; `None` where it saves too little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BlobCodings([Option<Coding>; CODINGS.len()]);

/// The content of a release, with what codings of it there have to be.
struct Wanted {
    length: u64,
    by_type: Compressibility,
}

/// Adds the codings of files that get smaller and have no such sibling to these files, and has those made that the store
/// does not have, by so many threads.
pub(super) fn add(
    store: &Store,
    files: &mut Vec<ManifestFile>,
    threads: usize,
    listener: &mut Listener<'_>,
) -> Result<(), Error> {
    let types = CompressibleTypes::default();
    let paths: BTreeSet<&[u8]> = files.iter().map(|file| &*file.path).collect();
    let mut wanted: BTreeMap<BlobDigest, Wanted> = BTreeMap::new();
    let mut places = Vec::new();
    for (place, file) in files.iter().enumerate() {
        let by_type = types.of_file(&file.path);
        if by_type == Compressibility::No || !(1..=LONGEST).contains(&file.length) {
            continue;
        }
        for (number, coding) in CODINGS.into_iter().enumerate() {
            let Some(path) = sibling(&file.path, coding) else {
                continue;
            };
            if !paths.contains(&*path) {
                let length = file.length;
                wanted
                    .entry(file.blob)
                    .or_insert(Wanted { length, by_type });
                places.push((place, number, path));
            }
        }
    }
    let made = made(store, &wanted, threads, listener)?;
    for (place, number, path) in places {
        let Some(original) = files.get(place) else {
            continue;
        };
        let codings = made.get(&original.blob).copied().unwrap_or_default();
        let Some(coding) = codings.0.get(number).copied().flatten() else {
            continue;
        };
        if files.len() >= MOST_FILES {
            break;
        }
        let file = ManifestFile {
            blob: coding.blob,
            known: KnownDigests {
                digest: coding.engine,
                decoded: Some(original.known.digest),
            },
            length: coding.length,
            modified_unix_seconds: original.modified_unix_seconds,
            media_type: ManifestFile::media_type_of(&path),
            path,
        };
        files.push(file);
    }
    Ok(())
}

/// The path of a sibling, if a release may have it.
fn sibling(path: &[u8], coding: ContentCoding) -> Option<Box<[u8]>> {
    let path = [path, coding.extension()?.as_bytes()].concat();
    (path.len() <= LONGEST_PATH).then(|| path.into())
}

/// The codings of all that is wanted.
fn made(
    store: &Store,
    wanted: &BTreeMap<BlobDigest, Wanted>,
    threads: usize,
    listener: &mut Listener<'_>,
) -> Result<BTreeMap<BlobDigest, BlobCodings>, Error> {
    let mut known = noted(store, wanted.keys())?;
    let missing = wanted.iter().filter(|(blob, _)| !known.contains_key(*blob));
    let mut missing: Vec<_> = missing.map(|(blob, wanted)| (*blob, wanted)).collect();
    if missing.is_empty() {
        return Ok(known);
    }
    let bytes = missing.iter().map(|(_, wanted)| wanted.length);
    listener(Event::Expected(bytes.fold(0, u64::saturating_add)));
    // The longest first: nobody waits for one alone at the end.
    missing.sort_by_key(|(_, wanted)| Reverse(wanted.length));
    let (long, done) = (Mutex::new(()), Mutex::new(&mut known));
    let work = |(blob, wanted): &(BlobDigest, &Wanted), is_ended: &AtomicBool| {
        let making = Making {
            store,
            is_ended,
            long: &long,
        };
        let codings = making.make(blob, wanted)?;
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.insert(*blob, codings);
        Ok(wanted.length)
    };
    for_each((&missing, threads.max(1)), work, listener)?;
    Ok(known)
}

/// The making of a blob's codings.
struct Making<'a> {
    store: &'a Store,
    is_ended: &'a AtomicBool,
    /// Held by who codes what is long.
    long: &'a Mutex<()>,
}

impl Making<'_> {
    fn make(&self, blob: &BlobDigest, wanted: &Wanted) -> Result<BlobCodings, Error> {
        let _alone = (wanted.length > LONG)
            .then(|| self.long.lock().unwrap_or_else(PoisonError::into_inner));
        let (name, place) = (layout::blob(blob), &self.store.place);
        let path = place.within(&name);
        let mut bytes = Vec::new();
        let read = place
            .open(&name)
            .and_then(|mut opened| opened.content.read_to_end(&mut bytes));
        read.map_err(Error::at(&path))?;
        if BlobDigest::of(&bytes) != *blob {
            return Err(Error::Damaged(format!(
                "{path:?} is damaged: deploy again, which writes it anew"
            )));
        }
        let mut codings = BlobCodings::default();
        let is_tried = wanted.by_type == Compressibility::Yes || !looks_compressed(&bytes);
        for (coding, place) in CODINGS.into_iter().zip(&mut codings.0) {
            if is_tried && let Some(coded) = self.coded(&bytes, coding, &path)? {
                *place = Some(self.keep(&coded)?);
            }
        }
        place.put_note(&layout::codings(blob), &codings.to_text())?;
        Ok(codings)
    }

    /// A coding, by the rules of `salver compress`: where it helps, and once it has been decoded.
    fn coded(
        &self,
        bytes: &[u8],
        coding: ContentCoding,
        path: &Path,
    ) -> Result<Option<Vec<u8>>, Error> {
        if !is_promising(bytes, coding) {
            return Ok(None);
        }
        let is_wanted = || !self.is_ended.load(Ordering::Acquire);
        let coded =
            encode(bytes, coding, Effort::Best, &is_wanted).map_err(|error| match error {
                EncodeError::Cancelled => Error::Stopped,
                EncodeError::Failed(error) => Error::at(path)(error),
            })?;
        if !is_worth_it(bytes.len(), coded.len()) {
            return Ok(None);
        }
        match decodes_to(&mut &*coded, coding, bytes) {
            true => Ok(Some(coded)),
            false => Err(Error::Damaged(format!(
                "{path:?}: its coding {} would not decode to it: deploy without --wait-compressed",
                coding.name()
            ))),
        }
    }

    /// Makes a coding a blob.
    fn keep(&self, coded: &[u8]) -> Result<Coding, Error> {
        let blob = BlobDigest::of(coded);
        let length = u64::try_from(coded.len()).unwrap_or(u64::MAX);
        self.store.place.put_blob(&blob, coded)?;
        let engine = salver_assets::digest::of_bytes(coded);
        Ok(Coding {
            blob,
            engine,
            length,
        })
    }
}

/// What is noted of blobs, if it holds: by these encoders, with all codings there.
fn noted<'a>(
    store: &Store,
    blobs: impl Iterator<Item = &'a BlobDigest>,
) -> Result<BTreeMap<BlobDigest, BlobCodings>, Error> {
    let notes = store.place.digest_files(NOTES)?;
    let notes: BTreeSet<BlobDigest> = notes.iter().filter_map(|note| note.digest).collect();
    let blobs: Vec<_> = blobs.filter(|blob| notes.contains(*blob)).collect();
    let noted = Mutex::new(BTreeMap::new());
    let read = |blob: &&BlobDigest, _: &AtomicBool| {
        let text = store.place.text(&layout::codings(blob), LONGEST_NOTE);
        // Whatever else lies there is written anew.
        let codings = text.ok().flatten().as_deref().and_then(BlobCodings::parse);
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.extend(codings.map(|codings| (**blob, codings)));
        Ok(0)
    };
    for_each((&blobs, AT_ONCE), read, &mut |_| true)?;
    let mut noted = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let all = noted
        .values()
        .flat_map(|codings| codings.0.iter().flatten());
    let mut lengths = match noted.is_empty() {
        true => BTreeMap::new(),
        false => store
            .place
            .lengths(&all.map(|coding| coding.blob).collect())?,
    };
    if store.is_in_bucket() {
        // A prune may be about to remove what no release has.
        let named = store.named_blobs(&store.ids()?)?;
        lengths.retain(|blob, _| named.contains(blob));
    }
    noted.retain(|_, codings| {
        let mut codings = codings.0.iter().flatten();
        codings.all(|coding| lengths.get(&coding.blob) == Some(&coding.length))
    });
    Ok(noted)
}

/// Removes notes of blobs that are of no release.
pub(super) fn prune(
    store: &Store,
    is_named: &dyn Fn(&BlobDigest) -> bool,
    changes: &mut dyn Changes,
) -> Result<(), Error> {
    let notes = store.place.digest_files(NOTES)?.into_iter();
    let unnamed = notes.filter(|note| note.digest.is_some_and(|blob| !is_named(&blob)));
    changes.remove(&unnamed.map(|note| note.name).collect::<Vec<_>>())
}

impl BlobCodings {
    fn to_text(self) -> String {
        let mut text = format!("salver-codings 1 {METHOD}\n");
        for (coding, made) in CODINGS.into_iter().zip(self.0) {
            text.push_str(coding.name());
            match made {
                None => text.push_str(" -\n"),
                Some(Coding {
                    blob,
                    engine,
                    length,
                }) => text.push_str(&format!(" {blob} {engine:032x} {length}\n")),
            }
        }
        let sum = BlobDigest::of(text.as_bytes());
        format!("{text}end {sum}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut codings = BlobCodings::default();
        let lines = text.lines().skip(1);
        for ((line, coding), place) in lines.zip(CODINGS).zip(&mut codings.0) {
            let rest = line.strip_prefix(coding.name())?.strip_prefix(' ')?;
            if rest != "-" {
                let mut words = rest.split(' ');
                *place = Some(Coding {
                    blob: BlobDigest::parse(words.next()?)?,
                    engine: Digest::from_str_radix(words.next()?, 16).ok()?,
                    length: words.next()?.parse().ok()?,
                });
            }
        }
        // One state has one text, the sum included.
        (codings.to_text() == text).then_some(codings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codings() -> BlobCodings {
        let coding = |content: &[u8]| Coding {
            blob: BlobDigest::of(content),
            engine: salver_assets::digest::of_bytes(content),
            length: 7,
        };
        BlobCodings([Some(coding(b"br")), None, Some(coding(b"gzip"))])
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_nothing_else_is() {
        let text = codings().to_text();
        assert_eq!(BlobCodings::parse(&text), Some(codings()));
        let nothing = BlobCodings::default();
        assert_eq!(BlobCodings::parse(&nothing.to_text()), Some(nothing));
        for at in 0..text.len() {
            assert_eq!(BlobCodings::parse(text.get(..at).unwrap()), None, "{at}");
        }
        for wrong in [
            text.replace("codings 1", "codings 2"),
            text.replace("zstd -", "zstd  -"),
            text.replace(" 7\n", " 8\n"),
            text.replace("\nbr", "\ngzip"),
            format!("{text}\n"),
        ] {
            assert_eq!(BlobCodings::parse(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = BlobCodings::parse(&text);
        }
    }
}
