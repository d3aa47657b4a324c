//! The entries of a directory without an index, as a look found them.

use std::io::ErrorKind;

use salver_listing::{Entries, EntryKind};
use xxhash_rust::xxh3::Xxh3;

use crate::cache::content_memory::{ContentCharge, ContentMemory};
use crate::error::{Stop, is_absence};
use crate::source::digest::Digest;
use crate::source::{Kind, Patience, View};

/// The most entries of a directory that are listed.
const MOST_ENTRIES: usize = 100_000;

/// The most bytes of names that are listed.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The bytes that a name takes while a directory is read, besides its own.
const NAME_OVERHEAD: usize = 48;

/// The entries of a directory. Two are equal if all names, lengths and times are.
#[derive(Debug)]
pub(crate) struct DirectoryListing {
    entries: Entries,
    digest: Digest,
    #[expect(dead_code, reason = "counts while it lives")]
    charge: ContentCharge,
}

impl PartialEq for DirectoryListing {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for DirectoryListing {}

impl DirectoryListing {
    /// Reads the directory at `path`; `None` if there is none. Of its entries those are left out that no request
    /// would get: what is not shown, what is neither file nor directory, and links that may not be followed.
    pub(crate) fn read(
        view: &dyn View,
        path: &[u8],
        is_shown: impl Fn(&[u8]) -> bool,
        contents: &ContentMemory,
        patience: Patience,
    ) -> Result<Option<Self>, Stop> {
        match view.stat(path, patience) {
            Ok(metadata) if metadata.kind == Kind::Directory => {}
            Ok(_) => return Ok(None),
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        if patience == Patience::MustNotWait {
            return Err(Stop::WouldWait);
        }
        let mut names = view.names(path, MOST_ENTRIES + 1)?;
        let mut bytes = 0;
        let mut fits = |name: &Vec<u8>| {
            bytes += name.len();
            bytes <= MOST_BYTES
        };
        let most = names
            .iter()
            .take(MOST_ENTRIES)
            .take_while(|name| fits(name))
            .count();
        let is_truncated = names.len() > most;
        names.truncate(most);
        let reading = contents.charge(bytes + names.len() * NAME_OVERHEAD);
        let mut entries = Entries::builder();
        if is_truncated {
            entries.truncate();
        }
        let mut child = match path {
            b"" => Vec::new(),
            path => [path, b"/"].concat(),
        };
        let directory = child.len();
        for name in names {
            child.truncate(directory);
            child.extend_from_slice(&name);
            if !is_shown(&child) {
                continue;
            }
            let metadata = match view.stat(&child, patience) {
                Ok(metadata) => metadata,
                // It has gone, or is a link to where nobody may go.
                Err(error) if is_absence(&error) => continue,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error.into()),
            };
            let kind = match metadata.kind {
                Kind::Directory => EntryKind::Directory,
                Kind::File => EntryKind::File,
                Kind::Other => continue,
            };
            let size = match kind {
                EntryKind::Directory => 0,
                EntryKind::File => metadata.identity.length,
            };
            entries.add(&name, kind, size, metadata.identity.modified.seconds);
        }
        let entries = entries.build();
        drop(reading);
        Ok(Some(DirectoryListing {
            digest: digest_of(&entries),
            charge: contents.charge(entries.weight()),
            entries,
        }))
    }

    /// The entries.
    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// The digest of all that is known of them.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The bytes of memory that it takes, about.
    pub(crate) fn weight(&self) -> usize {
        std::mem::size_of::<Self>() + self.entries.weight()
    }
}

fn digest_of(entries: &Entries) -> Digest {
    let mut hasher = Xxh3::new();
    hasher.update(&[u8::from(entries.is_truncated())]);
    for entry in entries.iter() {
        let kind = match entry.kind {
            EntryKind::Directory => b'd',
            EntryKind::File => b'f',
        };
        // No name has a slash.
        hasher.update(entry.name);
        hasher.update(&[b'/', kind]);
        hasher.update(&entry.size.to_le_bytes());
        hasher.update(&entry.modified.to_le_bytes());
    }
    hasher.digest128()
}
