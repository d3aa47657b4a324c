//! Blobs: files that are named by their content, and what can be wrong with one.

use std::io;

use crate::error::Error;
use crate::event::Listener;
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::layout::blob;
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
    /// Reads a blob, and says what is wrong with it.
    pub(crate) fn examine(
        &self,
        digest: &BlobDigest,
        length: u64,
        listener: &mut Listener<'_>,
    ) -> Result<BlobState, Error> {
        let name = blob(digest);
        let mut read = || -> io::Result<BlobState> {
            let opened = self.place.open(&name)?;
            if opened.length != length {
                return Ok(BlobState::Length(opened.length));
            }
            let hashes = Hashes::read(opened.content, listener)?;
            Ok(match (hashes.blob == *digest, hashes.length == length) {
                (true, true) => BlobState::Whole,
                (_, false) => BlobState::Length(hashes.length),
                (false, true) => BlobState::Content,
            })
        };
        match read() {
            Ok(state) => Ok(state),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BlobState::Missing),
            Err(error) => match Error::at(&self.place.within(&name))(error) {
                Error::Io(_, error) => Ok(BlobState::Unreadable(error.to_string())),
                stopped => Err(stopped),
            },
        }
    }
}
