//! A store in a directory of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::directory_changes::DirectoryChanges;
use super::{Changes, DigestFile, OpenFile, Place};
use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::durable::{make_directory, read_text, rename, sync_directory, write};
use crate::files::layout::{DIRECTORIES, FORMAT, Layout, MOST_FORMAT_BYTES, digest_of};

/// A directory with a store, or one that the first deploy is going to make.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryPlace {
    pub(super) layout: Layout,
}

impl DirectoryPlace {
    /// The place at a path.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(path).map_err(Error::at(path))?;
        Ok(DirectoryPlace {
            layout: Layout { root },
        })
    }

    /// What it says of the form of its store; `None` if there is none.
    pub(crate) fn format(&self) -> Result<Option<String>, Error> {
        read_text(&self.layout.format(), MOST_FORMAT_BYTES)
    }

    /// True if a store can be made here.
    pub(crate) fn is_vacant(&self) -> Result<bool, Error> {
        self.layout.is_vacant()
    }

    /// Makes a store.
    pub(crate) fn create(&self) -> Result<(), Error> {
        let layout = &self.layout;
        fs::create_dir_all(&layout.root).map_err(Error::at(&layout.root))?;
        if !layout.is_vacant()? {
            return Err(Error::Misused(format!(
                "{:?} is neither empty nor a store: give another directory, which need not exist",
                layout.root
            )));
        }
        for name in DIRECTORIES {
            make_directory(&layout.root.join(name))?;
        }
        let new = layout.unfinished().join(FORMAT.0);
        write(&new, FORMAT.1.as_bytes())?;
        // Last: what has it has all else.
        rename(&new, &layout.format())?;
        sync_directory(&layout.root)?;
        match layout.root.parent() {
            Some(parent) => sync_directory(parent),
            None => Ok(()),
        }
    }
}

impl Place for DirectoryPlace {
    fn root(&self) -> &Path {
        &self.layout.root
    }

    fn layout(&self) -> Option<&Layout> {
        Some(&self.layout)
    }

    fn text(&self, name: &str, most: u64) -> Result<Option<String>, Error> {
        read_text(&self.layout.path(name), most)
    }

    fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        self.layout.read_current()
    }

    fn has(&self, name: &str) -> Result<bool, Error> {
        Ok(self.layout.path(name).exists())
    }

    fn names(&self, directory: &str) -> Result<Vec<String>, Error> {
        let path = self.layout.path(directory);
        let mut names = Vec::new();
        for entry in entries(&path)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn digest_files(&self, directory: &str) -> Result<Vec<DigestFile>, Error> {
        let mut found = Vec::new();
        let mut add = |within: String, path: &Path| match fs::symlink_metadata(path) {
            Ok(metadata) => {
                found.push(DigestFile {
                    name: format!("{directory}/{within}"),
                    digest: digest_of(&within),
                    length: metadata.len(),
                    modified: metadata.modified().unwrap_or(UNIX_EPOCH),
                });
                Ok(())
            }
            // It was pruned meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::at(path)(error)),
        };
        for entry in entries(&self.layout.path(directory))? {
            let entry = entry?;
            let (path, start) = (entry.path(), entry.file_name());
            let start = start.to_string_lossy();
            if !path.is_dir() {
                add(start.into_owned(), &path)?;
                continue;
            }
            for entry in entries(&path)? {
                let entry = entry?;
                let name = entry.file_name();
                add(format!("{start}/{}", name.to_string_lossy()), &entry.path())?;
            }
        }
        Ok(found)
    }

    fn lengths(&self, blobs: &BTreeSet<BlobDigest>) -> Result<BTreeMap<BlobDigest, u64>, Error> {
        let mut lengths = BTreeMap::new();
        for blob in blobs {
            let path = self.layout.blob(blob);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_file() => {
                    lengths.insert(*blob, metadata.len());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::at(&path)(error)),
            }
        }
        Ok(lengths)
    }

    fn open(&self, name: &str) -> io::Result<OpenFile> {
        let path = self.layout.path(name);
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        Ok(OpenFile {
            length: metadata.len(),
            content: Box::new(File::open(&path)?),
        })
    }

    fn change(&self, what: &str) -> Result<Box<dyn Changes>, Error> {
        let changes = DirectoryChanges::lock(&self.layout, what)?;
        Ok(Box::new(changes))
    }
}

/// The entries of a directory; none if it is not there.
fn entries(path: &Path) -> Result<impl Iterator<Item = Result<fs::DirEntry, Error>>, Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::at(path)(error)),
    };
    let path = path.to_owned();
    let entries = entries.into_iter().flatten();
    Ok(entries.map(move |entry| entry.map_err(Error::at(&path))))
}
