//! Where files come from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
pub use salver_os::{Identity, Kind, Metadata, Patience, Timestamp};

/// A tree of files.
///
/// Lookups that belong to one answer go through one [`View`], so that a tree that is replaced
/// whole (a root that is a symbolic link) never gives half of the old and half of the new.
pub trait Source: Send + Sync + std::fmt::Debug + 'static {
    /// The tree as it is now.
    ///
    /// # Errors
    /// Of kind `WouldBlock` if finding out would wait and must not; else why there is no tree.
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>>;
}

/// One state of a [`Source`]'s tree. Paths are relative, decoded, without dot segments, without
/// leading or trailing slash; empty names the root.
///
/// Every method fails with kind `WouldBlock` if it would wait and must not, with `NotFound` or
/// `NotADirectory` if there is nothing (or nothing that may be seen) at the path, and with
/// `PermissionDenied` if the system refuses.
pub trait View: Send + Sync {
    /// What is at `path`. Must not have side effects on FIFOs and devices.
    ///
    /// # Errors
    /// See [`View`].
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata>;

    /// Opens the regular file at `path`; the metadata is of the opened file.
    ///
    /// # Errors
    /// See [`View`]; `InvalidInput` if it is no regular file.
    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened>;

    /// The names in the directory at `path`, in any order. May wait.
    ///
    /// # Errors
    /// See [`View`].
    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>>;
}

/// An opened file and what it was when it was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Which version this is.
    pub metadata: Metadata,
    /// Its bytes.
    pub reader: Reader,
    /// Whether what the page cache holds of it can be read without waiting, as on local file
    /// systems; over a network or FUSE somebody else may have to be asked first.
    pub local: bool,
}

/// The bytes of an opened file.
#[derive(Clone, Debug)]
pub enum Reader {
    /// A file of the operating system: can be sent without passing through memory.
    File(Arc<File>),
    /// In memory.
    Memory(Bytes),
}

impl Reader {
    /// Reads at most `buffer.len()` bytes from `offset`; 0 is the end of the file.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not; else the file's error.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize> {
        match self {
            Reader::File(file) => match patience {
                Patience::MayWait => file.read_at(buffer, offset),
                Patience::MustNotWait => salver_os::read_resident(file, buffer, offset),
            },
            Reader::Memory(bytes) => {
                let rest = usize::try_from(offset)
                    .ok()
                    .and_then(|offset| bytes.get(offset..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(buffer.len());
                if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
                    to.copy_from_slice(from);
                }
                Ok(count)
            }
        }
    }

    /// What the open file is now, if it can change under its handle.
    ///
    /// # Errors
    /// What `fstat(2)` gives.
    pub fn metadata(&self) -> io::Result<Option<Metadata>> {
        match self {
            Reader::File(file) => Metadata::of(file).map(Some),
            Reader::Memory(_) => Ok(None),
        }
    }
}

/// What every [`Source`] must hold to; call it from a test of the implementation.
pub mod conformance {
    use super::{Kind, Patience, Source};

    /// The files that `source` must hold for [`check`]: relative path and content.
    pub const FILES: [(&str, &[u8]); 4] = [
        ("a.txt", b"alpha"),
        ("empty", b""),
        ("sub/b.txt", b"beta"),
        ("sub/deep/caf\u{e9}", b"gamma"),
    ];

    /// Checks a source that holds exactly [`FILES`].
    ///
    /// # Errors
    /// The first rule that does not hold, in words.
    pub fn check(source: &dyn Source) -> Result<(), String> {
        let wait = Patience::MayWait;
        let view = source
            .view(wait)
            .map_err(|error| format!("no view: {error}"))?;
        for (path, content) in FILES {
            let path_bytes = path.as_bytes();
            let seen = view
                .stat(path_bytes, wait)
                .map_err(|e| format!("stat {path}: {e}"))?;
            let opened = view
                .open(path_bytes, wait)
                .map_err(|e| format!("open {path}: {e}"))?;
            if seen != opened.metadata || seen.kind != Kind::File {
                return Err(format!("{path}: stat and open disagree, or it is no file"));
            }
            if u64::try_from(content.len()) != Ok(seen.identity.length) {
                return Err(format!("{path}: wrong length {}", seen.identity.length));
            }
            for start in 0..=content.len() {
                let mut buffer = vec![0; content.len() + 1];
                let mut have = 0;
                loop {
                    let rest = buffer.get_mut(have..).unwrap_or_default();
                    let offset = u64::try_from(start + have).map_err(|e| e.to_string())?;
                    let read = opened.reader.read_at(rest, offset, wait);
                    match read.map_err(|e| format!("read {path}: {e}"))? {
                        0 => break,
                        count => have += count,
                    }
                }
                if buffer.get(..have) != content.get(start..) {
                    return Err(format!("{path}: wrong bytes from {start}"));
                }
            }
            match view.open(path_bytes, Patience::MustNotWait) {
                Ok(again) if again.metadata == seen => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                other => return Err(format!("{path}: open without waiting gave {other:?}")),
            }
        }
        for path in ["", "sub", "sub/deep"] {
            match view.stat(path.as_bytes(), wait) {
                Ok(metadata) if metadata.kind == Kind::Directory => {}
                other => return Err(format!("{path:?} should be a directory: {other:?}")),
            }
            if view.open(path.as_bytes(), wait).is_ok() {
                return Err(format!("{path:?}: a directory was opened as a file"));
            }
        }
        for path in ["nothing", "sub/nothing", "a.txt/b", "nothing/at/all"] {
            use std::io::ErrorKind::{NotADirectory, NotFound};
            match view.stat(path.as_bytes(), wait) {
                Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {}
                other => return Err(format!("{path} should not be there: {other:?}")),
            }
        }
        let mut names = view.list(b"sub").map_err(|e| format!("list sub: {e}"))?;
        names.sort();
        if names != [&b"b.txt"[..], b"deep"] {
            return Err(format!("list sub: {names:?}"));
        }
        Ok(())
    }
}
