//! What is made while a deploy waits for it, on several threads: codings, and notes on them.

use std::io;

use super::Place as _;
use super::bucket::BucketPlace;
use super::directory::DirectoryPlace;
use super::incoming::{self, Received};
use super::uploads::put_hashes;
use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::durable::{make_directory, rename, write};
use crate::files::layout;
use crate::files::piece_hashes::PieceHashes;
use crate::files::pieces::Piece;

/// The place of a store that takes what was made for it.
pub(crate) trait Makes {
    /// Makes bytes a blob.
    fn put_blob(&self, blob: &BlobDigest, bytes: &[u8]) -> Result<(), Error>;

    /// Puts a file that can be made again.
    fn put_note(&self, name: &str, text: &str) -> Result<(), Error>;
}

impl Makes for DirectoryPlace {
    fn put_blob(&self, blob: &BlobDigest, bytes: &[u8]) -> Result<(), Error> {
        let layout = &self.layout;
        make_directory(&layout.incoming())?;
        let piece = Piece {
            blob: *blob,
            length: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            offset: 0,
            bytes,
        };
        match incoming::receive(layout, &piece)? {
            Received::Whole(whole) => whole.finish(layout, blob).map(drop),
            // A whole piece is all of it.
            Received::Growing => Ok(()),
        }
    }

    fn put_note(&self, name: &str, text: &str) -> Result<(), Error> {
        let (layout, path) = (&self.layout, self.within(name));
        if let Some(directory) = path.parent() {
            if let Some(above) = directory.parent() {
                make_directory(above)?;
            }
            make_directory(directory)?;
        }
        make_directory(&layout.incoming())?;
        // What two write at once has a wrong sum, and is made anew.
        let new = layout.incoming().join(name.replace('/', "-"));
        write(&new, text.as_bytes())?;
        match rename(&new, &path) {
            // The other one was quicker.
            Err(Error::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }
}

impl Makes for BucketPlace {
    fn put_blob(&self, blob: &BlobDigest, bytes: &[u8]) -> Result<(), Error> {
        let mut hashes = PieceHashes::new();
        hashes.add(bytes);
        self.objects.put(&layout::blob(blob), bytes)?;
        put_hashes(&self.objects, blob, &hashes)
    }

    fn put_note(&self, name: &str, text: &str) -> Result<(), Error> {
        self.objects.put(name, text.as_bytes())
    }
}
