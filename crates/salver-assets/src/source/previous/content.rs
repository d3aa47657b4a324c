//! The directory that keeps content, by its digest, and the list of what is kept.
//!
//! Content is a copy, not a second name of the file: that would change with it where it is written to in
//! place. Nothing is believed that is read: content is compared with its digest.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use crate::durable::{DurableDirectory, UNFINISHED};
use crate::source::digest::{self, Digest};
use crate::source::previous::index::{self, IndexLine};
use crate::source::{Metadata, Reader, StoredFile};

/// The name of the list.
const INDEX: &str = "index";

/// The longest list that is read, in bytes.
const LONGEST_INDEX: u64 = 64 * 1024 * 1024;

/// A directory of content.
#[derive(Debug)]
pub(super) struct ContentDirectory(DurableDirectory);

impl PartialEq for ContentDirectory {
    fn eq(&self, other: &Self) -> bool {
        self.0.path() == other.0.path()
    }
}

impl ContentDirectory {
    /// The directory at this path. Touches nothing.
    pub(super) fn new(path: PathBuf) -> Self {
        ContentDirectory(DurableDirectory::new(path))
    }

    fn of(&self, digest: Digest) -> PathBuf {
        self.0.path().join(name_of(digest))
    }

    /// Keeps content, synced.
    pub(super) fn write(&self, digest: Digest, content: &[u8]) -> io::Result<()> {
        let path = self.of(digest);
        let length = u64::try_from(content.len()).ok();
        if fs::metadata(&path).ok().map(|metadata| metadata.len()) == length {
            // Whether it is right is seen when it is read.
            return Ok(());
        }
        self.put(&name_of(digest), content)
    }

    /// The list of what is kept; empty if there is none.
    pub(super) fn read_index(&self) -> io::Result<Vec<IndexLine>> {
        let file = match File::open(self.0.path().join(INDEX)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(LONGEST_INDEX).read_to_end(&mut text)?;
        Ok(index::parse(&String::from_utf8_lossy(&text)))
    }

    pub(super) fn write_index(&self, text: &str) -> io::Result<()> {
        self.put(INDEX, text.as_bytes())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.make()?;
        self.0.put(name, bytes)
    }

    /// Content that was kept, compared with its digest.
    ///
    /// # Errors
    /// It is not there, or damaged.
    pub(super) fn open(&self, digest: Digest, length: u64) -> io::Result<Reader> {
        let path = self.of(digest);
        let mut file = File::open(&path)?;
        let identity = Metadata::of(&file)?.identity;
        if identity.length != length || digest::of_reader(&mut file)? != digest {
            let what = format!("{path:?} is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Reader::Stored(Arc::new(StoredFile::new(
            Arc::new(file),
            identity,
        ))))
    }

    pub(super) fn remove(&self, digest: Digest) {
        // What cannot be removed now is swept by the next process.
        let _ = fs::remove_file(self.of(digest));
    }

    /// Removes what an interrupted process has left: all content but this.
    pub(super) fn sweep(&self, kept: &HashSet<Digest>) -> io::Result<()> {
        let entries = match fs::read_dir(self.0.path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            let digest = (name.len() == 32).then(|| Digest::from_str_radix(name, 16).ok());
            let is_content = digest.flatten().map(|digest| !kept.contains(&digest));
            if is_content.unwrap_or(name.starts_with(UNFINISHED)) {
                fs::remove_file(self.0.path().join(name))?;
            }
        }
        Ok(())
    }
}

fn name_of(digest: Digest) -> String {
    format!("{digest:032x}")
}
