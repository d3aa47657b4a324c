//! Preparation of the files of a directory for the program: read, hashed, and coded.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use salver_assets::ContentCoding;
use salver_assets::digest::{self, Digest};
use salver_assets::source::KnownDigests;
use salver_coding::{
    Compressibility, CompressibleTypes, Effort, METHOD, encode, is_worth_it, looks_compressed,
};

use crate::error::Error;
use crate::generate::GeneratedFile;
use crate::store::Store;
use crate::walk::{FileBytes, SourceDirectory};

/// The preparation that is the same for each file.
pub(crate) struct Preparation<'a> {
    pub(crate) directory: &'a SourceDirectory,
    pub(crate) store: &'a Store,
    /// The codings of which siblings are made.
    pub(crate) codings: &'a [ContentCoding],
    /// The modification time of all files, if not their own.
    pub(crate) modified_unix_seconds: Option<i64>,
}

/// The result for one file, or for all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PreparedFiles {
    pub(crate) entries: Vec<GeneratedFile>,
    /// The number of siblings that this build made.
    pub(crate) compressed: usize,
    /// The warnings for the user.
    pub(crate) warnings: Vec<String>,
    /// The bytes of all files in the program.
    pub(crate) bytes: u64,
}

impl Preparation<'_> {
    /// All files, in the order of their paths.
    pub(crate) fn all(
        &self,
        files: &[String],
        threads: NonZero<usize>,
    ) -> Result<PreparedFiles, Error> {
        let all: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        let originals: Vec<&str> = all
            .iter()
            .copied()
            .filter(|path| !is_sibling(path, &all))
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some(path) = originals.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*path, self.original(path, &all)));
            }
            done
        };
        let mut done = Vec::new();
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.get()).map(|_| scope.spawn(work)).collect();
            done = work();
            for other in others {
                done.extend(
                    other
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                );
            }
        });
        // Whichever thread came first: the first error is that of the first path.
        done.sort_by_key(|(path, _)| *path);
        let mut prepared = PreparedFiles::default();
        for (_, one) in done {
            let one = one?;
            prepared.entries.extend(one.entries);
            prepared.compressed += one.compressed;
            prepared.warnings.extend(one.warnings);
            prepared.bytes += one.bytes;
        }
        prepared
            .entries
            .sort_by(|one, other| one.path.cmp(&other.path));
        Ok(prepared)
    }

    /// A file and its siblings.
    fn original(&self, path: &str, all: &BTreeSet<&str>) -> Result<PreparedFiles, Error> {
        let mut prepared = PreparedFiles::default();
        let original = self.directory.read(path)?;
        let digest = digest::of_bytes(&original.bytes);
        self.add(&mut prepared, path, &original, None)?;
        if original_of(path).is_some() {
            return Ok(prepared);
        }
        let mut already = None;
        for coding in ContentCoding::CODED {
            let sibling = format!("{path}{}", coding.extension().unwrap_or_default());
            let is_wanted = self.codings.contains(&coding);
            if all.contains(&*sibling) {
                let content = self.directory.read(&sibling)?;
                let fits = fits(&content.bytes, coding, digest, original.bytes.len());
                if fits || !is_wanted {
                    let decoded = fits.then_some(digest);
                    self.add(&mut prepared, &sibling, &content, decoded)?;
                    continue;
                }
                let why =
                    "it does not decode to its original: another is made where it is worth it";
                prepared
                    .warnings
                    .push(self.directory.say(sibling.as_bytes(), why));
            }
            if !is_wanted || *already.get_or_insert_with(|| is_coded(path, &original.bytes)) {
                continue;
            }
            let stored = format!(
                "{digest:032x}.{METHOD}{}",
                coding.extension().unwrap_or_default()
            );
            let made = self.make(&mut prepared, path, &original.bytes, coding, &stored)?;
            if made.is_empty() {
                continue;
            }
            prepared.bytes += length(&made);
            prepared.entries.push(GeneratedFile {
                path: sibling,
                stored,
                modified_unix_seconds: self.modified(&original),
                known: KnownDigests {
                    digest: digest::of_bytes(&made),
                    decoded: Some(digest),
                },
            });
        }
        Ok(prepared)
    }

    /// A file as it is.
    fn add(
        &self,
        prepared: &mut PreparedFiles,
        path: &str,
        content: &FileBytes,
        decoded: Option<Digest>,
    ) -> Result<(), Error> {
        let digest = digest::of_bytes(&content.bytes);
        let stored = format!("{digest:032x}");
        self.store.put(&stored, &content.bytes)?;
        prepared.bytes += length(&content.bytes);
        prepared.entries.push(GeneratedFile {
            path: path.to_owned(),
            stored,
            modified_unix_seconds: self.modified(content),
            known: KnownDigests { digest, decoded },
        });
        Ok(())
    }

    /// The bytes in `coding`, from the store if they are there; empty if they are not worth it,
    /// which no coded bytes are.
    fn make(
        &self,
        prepared: &mut PreparedFiles,
        path: &str,
        bytes: &[u8],
        coding: ContentCoding,
        stored: &str,
    ) -> Result<Vec<u8>, Error> {
        let digest = digest::of_bytes(bytes);
        let is_right =
            |coded: &Vec<u8>| coded.is_empty() || fits(coded, coding, digest, bytes.len());
        if let Some(coded) = self.store.get(stored).filter(is_right) {
            return Ok(coded);
        }
        let fails = |why: String| Error::at(&self.directory.within(path.as_bytes()), why);
        let coded = encode(bytes, coding, Effort::Best, &|| true);
        let mut coded = coded.map_err(|error| {
            fails(format!(
                "compressing it by {} failed: {error}",
                coding.name()
            ))
        })?;
        prepared.compressed += 1;
        if !is_worth_it(bytes.len(), coded.len()) {
            coded.clear();
        }
        if !is_right(&coded) {
            let name = coding.name();
            let why = format!("its {name} does not decode to it; leave that out by Tree::codings");
            return Err(fails(why));
        }
        self.store.put(stored, &coded)?;
        Ok(coded)
    }

    fn modified(&self, content: &FileBytes) -> i64 {
        self.modified_unix_seconds
            .unwrap_or(content.modified_unix_seconds)
    }
}

/// True if a file is taken for another one in a coding.
fn is_sibling(path: &str, all: &BTreeSet<&str>) -> bool {
    let original = path.get(..original_of(path).map_or(0, <[u8]>::len));
    original.is_some_and(|original| all.contains(original) && original_of(original).is_none())
}

/// The name without the extension of a coding, if it has one.
fn original_of(path: &str) -> Option<&[u8]> {
    ContentCoding::of_file_name(path.as_bytes()).map(|(_, original)| original)
}

/// True if a file has a coding already: its type tells, or a sample of it.
fn is_coded(path: &str, bytes: &[u8]) -> bool {
    match CompressibleTypes::default().of_file(path.as_bytes()) {
        Compressibility::Yes => false,
        Compressibility::No => true,
        Compressibility::Unknown => looks_compressed(bytes),
    }
}

/// True if coded bytes decode to what has this digest and length.
fn fits(coded: &[u8], coding: ContentCoding, digest: Digest, length: usize) -> bool {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    digest::of_coded(&mut &*coded, coding, length).is_ok_and(|known| known.decoded == Some(digest))
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
