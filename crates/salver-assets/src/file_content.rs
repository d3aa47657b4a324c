//! Content that lies in an open file: what can be had of it without waiting, and what it takes to be
//! sure that it is still what the head says.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

use crate::source::{Identity, Metadata, Patience};
use crate::strategy::{Residency, Situation};

/// Bytes of an open file.
#[derive(Clone, Debug)]
pub struct FileContent {
    /// The file; others may read from the same handle, so read at offsets.
    pub file: Arc<File>,
    /// Which bytes; not empty.
    pub range: Range<u64>,
    /// What the file must still be while its bytes leave: if not, end the connection.
    pub identity: Identity,
    /// Whether what the page cache holds of the file can be had without waiting.
    pub local: bool,
    /// For [`way`](crate::strategy::way), with what is learned of each window.
    pub situation: Situation,
}

impl FileContent {
    /// Whether the file still has the content that the head promised. A file that was changed in
    /// place has not; one that lost its name has. Who must not wait gets what the kernel knows
    /// without asking a file server.
    ///
    /// # Errors
    /// What `statx(2)` gives.
    pub fn is_unchanged(&self, patience: Patience) -> std::io::Result<bool> {
        let now = match patience {
            Patience::MayWait => Metadata::of(&*self.file)?.identity,
            Patience::MustNotWait => Metadata::at_hand(&*self.file)?.identity,
        };
        Ok(crate::snapshot::same_content(&self.identity, &now))
    }

    /// What is known of a window without waiting.
    pub fn residency(&self, window: &Range<u64>) -> Residency {
        if !self.local {
            return Residency::Unknown;
        }
        match salver_os::residency(&self.file, window) {
            salver_os::Residency::Resident => Residency::Resident,
            salver_os::Residency::Cold => Residency::Cold,
        }
    }

    /// Reads a window from the page cache; `None` if some of it is not there, or no longer. Never
    /// waits for a disk.
    ///
    /// # Errors
    /// `InvalidData` if the file is no longer what the head said; else the file's error.
    pub fn read_resident(&self, window: &Range<u64>) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(window.end - window.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(length).is_err() {
            return Ok(None);
        }
        bytes.resize(length, 0);
        let mut have = 0;
        while have < length {
            let rest = bytes.get_mut(have..).unwrap_or_default();
            let offset = window.start + u64::try_from(have).unwrap_or(u64::MAX);
            match salver_os::read_resident(&self.file, rest, offset) {
                Ok(0) => return Err(io::ErrorKind::InvalidData.into()),
                Ok(count) => have += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.check(Patience::MustNotWait)?;
        Ok(Some(bytes.into()))
    }

    /// Reads a window, and waits for it.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file has become shorter, `InvalidData` if it has changed; else the
    /// file's.
    pub fn read(&self, window: &Range<u64>) -> io::Result<Bytes> {
        let length = usize::try_from(window.end - window.start)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, window.start)?;
        self.check(Patience::MayWait)?;
        Ok(bytes.into())
    }

    /// A file that was changed in place is no longer the one that the head describes.
    ///
    /// # Errors
    /// `InvalidData` if it was; else what `statx(2)` gives.
    pub fn check(&self, patience: Patience) -> io::Result<()> {
        if self.is_unchanged(patience)? {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}
