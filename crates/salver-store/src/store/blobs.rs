//! Blobs: files that are named by their content, and what can be wrong with one.

use std::fs::{self, File};
use std::io;

use crate::error::Error;
use crate::event::Listener;
use crate::files::digest::{BlobDigest, Hashes};
use crate::store::Store;

/// The state of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlobState {
    Whole,
    Missing,
    /// Another length than the manifest says.
    Length(u64),
    /// Another content than its name says.
    Content,
    /// It is no file, or the disk does not give it.
    Unreadable(String),
}

impl Store {
    /// The length of a blob without reading it; `None` if there is no such file.
    pub(crate) fn blob_length(&self, digest: &BlobDigest) -> Result<Option<u64>, Error> {
        let path = self.layout.blob(digest);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::at(&path)(error)),
        }
    }

    /// Reads a blob, and says what is wrong with it.
    pub(crate) fn examine(
        &self,
        digest: &BlobDigest,
        length: u64,
        listener: &mut Listener<'_>,
    ) -> Result<BlobState, Error> {
        let path = self.layout.blob(digest);
        let mut read = || -> io::Result<BlobState> {
            let metadata = fs::symlink_metadata(&path)?;
            if !metadata.is_file() {
                return Ok(BlobState::Unreadable("it is no file".to_owned()));
            }
            if metadata.len() != length {
                return Ok(BlobState::Length(metadata.len()));
            }
            let hashes = Hashes::read(File::open(&path)?, listener)?;
            Ok(match (hashes.blob == *digest, hashes.length == length) {
                (true, true) => BlobState::Whole,
                (_, false) => BlobState::Length(hashes.length),
                (false, true) => BlobState::Content,
            })
        };
        match read() {
            Ok(state) => Ok(state),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BlobState::Missing),
            Err(error) => match Error::at(&path)(error) {
                Error::Io(_, error) => Ok(BlobState::Unreadable(error.to_string())),
                stopped => Err(stopped),
            },
        }
    }
}
