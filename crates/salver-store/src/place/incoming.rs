//! Blobs that come piece by piece, before they are whole.
//!
//! A file in `incoming/` has the name of its blob, so that whoever sends the rest goes on where another has ended. It is
//! locked while it is written and while it gets its name as a blob: nobody writes to what has one.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::Error;
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::durable::{keep_from_writing, make_directory, remove, rename};
use crate::files::layout::Layout;
use crate::files::pieces::Piece;

/// The time after which what nobody goes on with is removed.
pub(crate) const AGE: Duration = Duration::from_hours(24);

/// The times that a file is opened anew because somebody has taken it away between opening and locking it.
const TRIES: usize = 8;

/// A blob of which a part is there; locked while this lives.
pub(crate) struct IncomingBlob {
    path: PathBuf,
    file: File,
    /// The bytes that are there.
    pub(crate) length: u64,
}

/// What has become of a blob by a piece of it.
pub(crate) enum Received {
    /// More of it is missing.
    Growing,
    /// It is whole, and not verified.
    Whole(IncomingBlob),
}

/// The bytes of a blob that are there.
pub(crate) fn length(layout: &Layout, blob: &BlobDigest) -> u64 {
    let metadata = fs::symlink_metadata(path(layout, blob));
    metadata.map_or(0, |metadata| metadata.len())
}

fn path(layout: &Layout, blob: &BlobDigest) -> PathBuf {
    layout.incoming().join(blob.to_string())
}

/// Makes the directory of such files, and removes those that nobody goes on with.
pub(crate) fn prepare(layout: &Layout, now: SystemTime) -> Result<(), Error> {
    make_directory(&layout.incoming())?;
    sweep(layout, now)
}

/// Removes files that nobody goes on with.
pub(crate) fn sweep(layout: &Layout, now: SystemTime) -> Result<(), Error> {
    let directory = layout.incoming();
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::at(&directory)(error)),
    };
    for entry in entries {
        let path = entry.map_err(Error::at(&directory))?.path();
        let modified = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|time| now.duration_since(time).ok());
        if age.is_some_and(|age| age > AGE) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Writes a piece of a blob.
///
/// # Errors
/// [`Error::Busy`] if it does not follow on what is there; those of the disk.
pub(crate) fn receive(layout: &Layout, piece: &Piece<'_>) -> Result<Received, Error> {
    let mut incoming = IncomingBlob::open(&path(layout, &piece.blob))?;
    if incoming.length > piece.length {
        // Of somebody who was wrong about its length.
        incoming.set_length(0)?;
    }
    if piece.offset > incoming.length {
        return Err(Error::Busy(format!(
            "of {} there are {} bytes, and the piece begins at {}: go on where it ends",
            piece.blob, incoming.length, piece.offset
        )));
    }
    incoming.write(piece.offset, piece.bytes)?;
    Ok(match incoming.length == piece.length {
        true => Received::Whole(incoming),
        false => Received::Growing,
    })
}

/// The content of what came as this blob, if it is whole.
pub(crate) fn take_text(
    layout: &Layout,
    blob: &BlobDigest,
    length: u64,
) -> Result<Option<Vec<u8>>, Error> {
    let path = path(layout, blob);
    let mut incoming = IncomingBlob::open(&path)?;
    if incoming.length != length {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = (&mut incoming.file).take(length).read_to_end(&mut bytes);
    read.map_err(Error::at(&path))?;
    remove(&path)?;
    Ok((BlobDigest::of(&bytes) == *blob).then_some(bytes))
}

impl IncomingBlob {
    fn open(path: &Path) -> Result<Self, Error> {
        for _ in 0..TRIES {
            let mut options = File::options();
            let options = options.read(true).write(true).create(true).truncate(false);
            let file = options.open(path).map_err(Error::at(path))?;
            file.lock().map_err(Error::at(path))?;
            let metadata = file.metadata().map_err(Error::at(path))?;
            if is_at(&metadata, path) {
                return Ok(IncomingBlob {
                    path: path.to_owned(),
                    length: metadata.len(),
                    file,
                });
            }
        }
        Err(Error::Busy(format!(
            "{path:?} is written by others again and again: run this again when those have ended"
        )))
    }

    fn set_length(&mut self, length: u64) -> Result<(), Error> {
        let set = self.file.set_len(length);
        set.map_err(Error::at(&self.path))?;
        self.length = length;
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = self
            .file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| self.file.write_all(bytes));
        if let Err(error) = written {
            match error.kind() {
                // It is what others have no room for.
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => remove(&self.path)?,
                // What stands behind a hole would be taken for content.
                _ => drop(self.file.set_len(offset.min(self.length))),
            }
            return Err(Error::at(&self.path)(error));
        }
        let end = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.length = self.length.max(end);
        Ok(())
    }

    /// Reads it back, syncs it and gives it its name; what has another content is removed.
    ///
    /// # Errors
    /// [`Error::Misused`] if its content is another than its name says; those of the disk.
    pub(crate) fn finish(mut self, layout: &Layout, blob: &BlobDigest) -> Result<Hashes, Error> {
        let read = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| Hashes::read(&self.file, &mut |_| true));
        let hashes = read.map_err(Error::at(&self.path))?;
        if hashes.blob != *blob || hashes.length != self.length {
            remove(&self.path)?;
            return Err(Error::Misused(format!(
                "what was sent as {blob} is {}: a file was changed while it was sent, deploy again when the build has ended",
                hashes.blob
            )));
        }
        self.file.sync_all().map_err(Error::at(&self.path))?;
        let to = layout.blob(blob);
        if let Some(directory) = to.parent() {
            make_directory(directory)?;
        }
        rename(&self.path, &to)?;
        // Last: who is interrupted before has to be able to go on writing.
        keep_from_writing(&self.file).map_err(Error::at(&to))?;
        Ok(hashes)
    }
}

/// True if the file of this metadata is the one at the path.
#[cfg(unix)]
fn is_at(metadata: &fs::Metadata, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    fs::symlink_metadata(path)
        .is_ok_and(|now| (now.dev(), now.ino()) == (metadata.dev(), metadata.ino()))
}

/// Elsewhere what is open cannot be taken away.
#[cfg(not(unix))]
fn is_at(_: &fs::Metadata, path: &Path) -> bool {
    path.exists()
}
