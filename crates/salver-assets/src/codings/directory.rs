//! The directory in which made codings outlive the process, which several processes may share.
//!
//! There is no lock. Two that make the same coding write the same bytes, and who finds another to have removed a file
//! makes it anew. Nothing is believed that is read: a file has a checksum, and who takes it decodes it and compares with
//! the original.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::codings::coder::{DICTIONARY_METHOD, METHOD};
use crate::codings::entry_file;
use crate::codings::key::{ContentKey, MadeAs};
use crate::durable::{DurableDirectory, UNFINISHED};
use crate::sync::Lock;

/// The age from which on a file that is not whole was left behind by a process that has ended.
const LEFT_BEHIND: Duration = Duration::from_secs(600);

/// The part of the bound to which old files are removed, in percent, so that it is not done for each file.
const DOWN_TO: u64 = 90;

/// The part of the bound after which all files are counted again: other processes write, too.
const COUNTED_EACH: u64 = 16;

/// A directory that keeps made codings across restarts.
///
/// Nothing in it can be asked for; it must not lie in a directory that is served.
#[derive(Debug)]
pub struct CodingDirectory {
    files: DurableDirectory,
    /// The bytes that its files may take.
    most: u64,
    /// What they take, about; `None` before the first look.
    taken: Lock<Option<Taken>>,
    /// True while it was said that nothing can be kept.
    has_failed: AtomicBool,
}

/// The bytes that the files of the directory take.
#[derive(Clone, Copy, Debug)]
struct Taken {
    bytes: u64,
    /// Those of them that were written since they were counted.
    since: u64,
}

/// A file of the directory: when it was last used, its length and its path.
type Kept = (SystemTime, u64, PathBuf);

impl CodingDirectory {
    /// The name of the directory within it that a program may keep other things in, which is passed over.
    pub const PREVIOUS: &'static str = "previous";

    /// The same for what came from other machines.
    pub const OBJECTS: &'static str = "objects";

    /// Checks that a directory at `path` would lie in none of `served`, the directories whose files anybody may ask for.
    ///
    /// # Errors
    /// `InvalidInput` if it does. Where nobody can tell, [`open`](Self::open) says why it cannot be used.
    pub fn check(path: &Path, served: &[&Path]) -> io::Result<()> {
        let Ok(real) = real_path(&std::path::absolute(path)?) else {
            return Ok(());
        };
        for root in served {
            if fs::canonicalize(root).is_ok_and(|root| real.starts_with(root)) {
                let what = format!("it lies in {root:?}, which is served: give one outside of it");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        }
        Ok(())
    }

    /// True if there is nothing but kept codings at `path`.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn has_nothing_else(path: &Path) -> io::Result<bool> {
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            let is_ours = |name: &str| {
                is_name(name)
                    || name.starts_with(UNFINISHED)
                    || name == CodingDirectory::PREVIOUS
                    || name == CodingDirectory::OBJECTS
            };
            if !name.to_str().is_some_and(is_ours) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The directory at `path`, whose files may take `most` bytes. It is made if it is not there, for its owner alone.
    /// It must not lie in a directory that is served: see [`check`](Self::check).
    ///
    /// # Errors
    /// Why it cannot be made or is no directory.
    pub fn open(path: &Path, most: u64) -> io::Result<Self> {
        let files = DurableDirectory::new(std::path::absolute(path)?);
        files.make()?;
        if !fs::metadata(files.path())?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(CodingDirectory {
            files,
            most,
            taken: Lock::default(),
            has_failed: AtomicBool::new(false),
        })
    }

    /// The path, made absolute.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// The verdict that is kept on a coding of an original of `length` bytes: the coding, or `Some(None)` if it is not
    /// worth it. What is damaged is removed.
    pub(crate) fn read(&self, key: &ContentKey, length: u64) -> Option<Option<Vec<u8>>> {
        let path = self.path().join(name_of(key));
        // No link is followed, and nothing is opened that could wait for somebody to write into it.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            self.remove(key, "it is no file");
            return None;
        }
        let mut file = File::open(&path).ok()?;
        // No coding is kept that is longer than its original.
        let most = length.saturating_add(entry_file::OVERHEAD as u64);
        let mut bytes = Vec::new();
        let read = (&mut file)
            .take(most.saturating_add(1))
            .read_to_end(&mut bytes);
        let kept = read.ok().and_then(|_| entry_file::read(bytes, length));
        match kept {
            // It was used: what was not used for the longest leaves first.
            Some(_) => drop(file.set_modified(SystemTime::now())),
            None => self.remove(key, "it is damaged"),
        }
        kept
    }

    /// Removes the file of a coding, which is not what it should be.
    pub(crate) fn remove(&self, key: &ContentKey, why: &str) {
        let path = self.path().join(name_of(key));
        let removed = fs::remove_file(&path);
        if removed.is_ok() {
            tracing::warn!("{path:?}: removed, {why}; the coding is made anew");
        }
    }

    /// Keeps a coding of an original of `length` bytes, or that it is not worth it. Where that fails it is said once, and
    /// the coding is made anew after a restart.
    pub(crate) fn keep(&self, key: &ContentKey, length: u64, coding: Option<&[u8]>) {
        match self.try_to_keep(key, length, coding) {
            Ok(()) => self.has_failed.store(false, Ordering::Relaxed),
            Err(error) => {
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    let path = self.path();
                    tracing::warn!(
                        "{path:?}: codings cannot be kept there, and are made anew after a restart: {error}"
                    );
                }
            }
        }
    }

    fn try_to_keep(&self, key: &ContentKey, length: u64, coding: Option<&[u8]>) -> io::Result<()> {
        let bytes = entry_file::write(length, coding);
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if more > self.most {
            return Ok(());
        }
        self.make_room(more)?;
        self.files.put(&name_of(key), &bytes)
    }

    /// Takes so many bytes of what there may be, and removes old files where that is too much.
    fn make_room(&self, more: u64) -> io::Result<()> {
        let mut taken = self.taken.hold();
        let known =
            taken.filter(|known| known.since.saturating_add(more) <= self.most / COUNTED_EACH);
        let mut now = match known {
            Some(known) => known,
            // Others may have written or removed some.
            None => Taken {
                bytes: self.tidy(self.most)?,
                since: 0,
            },
        };
        if now.bytes.saturating_add(more) > self.most {
            now = Taken {
                bytes: self.tidy((self.most / 100 * DOWN_TO).saturating_sub(more))?,
                since: 0,
            };
        }
        *taken = Some(Taken {
            bytes: now.bytes.saturating_add(more),
            since: now.since.saturating_add(more),
        });
        Ok(())
    }

    /// Removes what was left behind, and of the others those that were not used for the longest, until they take no
    /// more than `most` bytes; returns what they take.
    fn tidy(&self, most: u64) -> io::Result<u64> {
        let mut kept: Vec<Kept> = Vec::new();
        let mut bytes = 0_u64;
        for entry in fs::read_dir(self.path())? {
            // One that another process has just removed.
            let Some(found) = entry.ok().and_then(of_entry) else {
                continue;
            };
            bytes = bytes.saturating_add(found.1);
            kept.push(found);
        }
        if bytes > most {
            kept.sort();
            let mut gone = HashSet::new();
            for (_, length, path) in kept {
                if bytes <= most {
                    break;
                }
                let removed = fs::remove_file(&path);
                let is_gone =
                    removed.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true);
                if is_gone && gone.insert(path) {
                    bytes = bytes.saturating_sub(length);
                }
            }
        }
        Ok(bytes)
    }
}

/// A file of ours in the directory. One that was left behind is removed; others are not touched.
fn of_entry(entry: DirEntry) -> Option<Kept> {
    let name = entry.file_name();
    let name = name.to_str()?;
    let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    let used = metadata.modified().ok()?;
    if name.starts_with(UNFINISHED) {
        let age = used.elapsed().unwrap_or_default();
        if age > LEFT_BEHIND {
            let _ = fs::remove_file(entry.path());
        }
        return None;
    }
    is_name(name).then(|| (used, metadata.len(), entry.path()))
}

/// The name of the file of a coding: the hash of its original, the coding, with the hash of its dictionary if it has one,
/// and the method by which it was made.
fn name_of(key: &ContentKey) -> String {
    let mut name = String::with_capacity(160);
    // Writing to a String cannot fail.
    let push_hash = |name: &mut String, hash: &[u8; 32]| {
        hash.iter().for_each(|byte| {
            let _ = write!(name, "{byte:02x}");
        });
    };
    push_hash(&mut name, &key.sha256);
    let _ = match &key.made {
        MadeAs::Coded(coding) => write!(name, ".{}.{METHOD}", coding.name()),
        MadeAs::Delta(coding, dictionary) => {
            let _ = write!(name, ".{}-", coding.name());
            push_hash(&mut name, &dictionary.sha256);
            write!(name, ".{DICTIONARY_METHOD}")
        }
        // Those stay in memory.
        MadeAs::Dictionary => write!(name, ".dictionary.0"),
    };
    name
}

/// True if a file of this name is ours, by whatever method.
fn is_name(name: &str) -> bool {
    let is_hex = |text: &str| {
        text.len() == 64
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = name.split('.');
    parts.next().is_some_and(is_hex) && parts.count() == 2
}

/// The path with all links resolved, of what may not be there yet.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(real_path(parent)?.join(name)),
                _ => Err(error),
            }
        }
        real => real,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
