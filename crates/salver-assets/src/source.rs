//! Sources of files: the interface between the engine and any storage.

pub(crate) mod asynchronous;
pub(crate) mod bridge;
pub mod conformance;
#[cfg_attr(not(feature = "coding"), path = "source/decoders/absent.rs")]
mod decoders;
pub(crate) mod digest;
pub(crate) mod directory;
mod directory_log;
pub(crate) mod embedded;
pub(crate) mod growth;
pub(crate) mod identity;
pub(crate) mod in_memory;
pub(crate) mod memory;
pub(crate) mod previous;
pub(crate) mod snapshot;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::error::is_absence;

pub use asynchronous::{AsyncBytes, AsyncContent, AsyncReader, AsyncSource, AsyncView};
pub use bridge::{SyncBridge, Task};
pub use digest::KnownDigests;
pub use salver_os::{Identity, Kind, Metadata, Patience, Timestamp};
pub use salver_semantics::VersionedName;

/// A tree of files.
///
/// Lookups that belong to one answer go through one [`View`], so that a tree that is replaced
/// whole (a root that is a symbolic link) never gives half of the old and half of the new.
///
/// An [`Identity`] stands for one version of one file among all sources of an engine: two files
/// have never the same, and a file that is replaced gets another. [`conformance`] checks that, and
/// the rest of what is promised here and at [`View`].
pub trait Source: Send + Sync + std::fmt::Debug + 'static {
    /// The tree as it is now.
    ///
    /// # Errors
    /// Of kind `WouldBlock` if finding out would wait and must not; else why there is no tree.
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>>;

    /// The time beyond [`Config::revalidate`](crate::Config::revalidate) for which the last answer is given while the
    /// source cannot be reached: `stale-if-error` of RFC 5861.
    ///
    /// Default: 10 seconds.
    fn stale_if_error(&self) -> Duration {
        STALE_IF_ERROR
    }

    /// Has what it knows of a path compared before it is told again, whatever is told at other times: somebody says that it
    /// has changed. Must not wait.
    ///
    /// Default: nothing, for a source that tells what it has just looked at.
    fn invalidate(&self, path: &[u8]) {
        let _ = path;
    }

    /// The same for all paths that begin with `prefix`.
    fn invalidate_prefix(&self, prefix: &[u8]) {
        let _ = prefix;
    }

    /// Has what it knows of all paths that begin with `prefix` compared when it is asked for next, as if its time had come: some of
    /// it has changed, most of it has not. Whatever is told meanwhile is as old as that. Must not wait.
    ///
    /// Default: nothing, as above.
    fn make_due(&self, prefix: &[u8]) {
        let _ = prefix;
    }
}

/// The time for which the last answer is given while a source fails, unless the source says otherwise.
pub(crate) const STALE_IF_ERROR: Duration = Duration::from_secs(10);

/// True if a source has no file at this path now, for messages: what cannot be told is said when the file is asked for.
/// May wait.
pub fn lacks(source: &dyn Source, path: &str) -> bool {
    let path = path.trim_start_matches('/').as_bytes();
    let view = source.view(Patience::MayWait);
    match view.and_then(|view| view.stat(path, Patience::MayWait)) {
        Ok(metadata) => metadata.kind != Kind::File,
        Err(error) => is_absence(&error),
    }
}

/// One state of a [`Source`]'s tree. Paths are relative, decoded, without dot segments, without
/// leading or trailing slash; empty names the root. There is nothing at any other path: see
/// [`is_clean`].
///
/// Every method fails with kind `WouldBlock` if it would wait and must not, with `NotFound` or
/// `NotADirectory` if there is nothing (or nothing that may be seen) at the path, and with
/// `PermissionDenied` if the system refuses.
pub trait View: Send + Sync {
    /// The metadata of the file or directory at `path`. Must not have side effects on FIFOs and devices.
    ///
    /// # Errors
    /// See [`View`].
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata>;

    /// Opens the regular file at `path`; the metadata is of the opened file.
    ///
    /// # Errors
    /// See [`View`]; `InvalidInput` if it is no regular file.
    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened>;

    /// The names in the directory at `path`, each once, in any order. May wait.
    ///
    /// # Errors
    /// See [`View`]; `NotADirectory` if it is a file.
    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>>;

    /// No more than `most` of the names that [`list`](Self::list) gives, whichever. May wait.
    ///
    /// Default: a part of all, which costs as much as all of them.
    ///
    /// # Errors
    /// As of [`list`](Self::list).
    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = self.list(path)?;
        names.truncate(most);
        Ok(names)
    }

    /// The digests of the file at `path`, if the source has them without reading it. The engine
    /// believes it: it becomes the entity tag, and a precompressed sibling whose `decoded` is the
    /// original's digest is sent in its place.
    ///
    /// Default: `None`, and the engine reads what it needs to know.
    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        let _ = path;
        None
    }

    /// The files that are other versions of the one at `path`: in its directory, with names that [`VersionedName`] has,
    /// and openable at their paths. The newest first, that at `path` among them or not. Clients that have one get the
    /// next as a difference. Asked for each file whose name has a fingerprint whenever that is compared: it must not
    /// wait, nor read what is in the files.
    ///
    /// Default: `None`, and the engine keeps in memory what it has sent.
    fn versions(&self, path: &[u8], name: VersionedName<'_>) -> Option<Vec<FileVersion>> {
        let _ = (path, name);
        None
    }

    /// The age of what this view has told so far, that is of the oldest of it: a source may tell at once what it knew, and
    /// find out meanwhile whether it still is so. The engine asks again in a moment then, and counts it as no younger.
    ///
    /// Default: nothing, for all is looked at when it is asked for.
    fn age(&self) -> Duration {
        Duration::ZERO
    }

    /// A future that ends once it is worth asking this same view again: what it failed to tell last, as it would have waited,
    /// has come then, or cannot be had. Whoever awaits it needs no thread for that.
    ///
    /// Default: `None`, for a source that has to be asked where one may wait.
    fn awaited(&self) -> Option<Awaited> {
        None
    }
}

/// The future of a [`View`] that is worth asking again.
pub type Awaited = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A file that is a version of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Its path in the tree.
    pub path: Vec<u8>,
    /// The SHA-256 of its content.
    pub sha256: [u8; 32],
    /// Its length in bytes.
    pub length: u64,
}

/// True if a [`View`] may have something at `path`: relative, without NUL and without empty or dot
/// segments. Empty is the root.
pub fn is_clean(path: &[u8]) -> bool {
    let mut segments = path.split(|&byte| byte == b'/');
    path.is_empty()
        || segments.all(|segment| !matches!(segment, b"" | b"." | b"..") && !segment.contains(&0))
}

/// A new device number that no device has: for the [`Identity`] of files that lie on none, so that
/// no two sources have the same.
pub fn new_device() -> u64 {
    // Those of the system are small.
    static NEXT: AtomicU64 = AtomicU64::new(EMBEDDED - 1);
    NEXT.fetch_sub(1, Ordering::Relaxed)
}

/// The device of all files that are part of the program, which are told apart by their address.
pub(crate) const EMBEDDED: u64 = u64::MAX;

/// An opened file, and its metadata at that moment.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The version that was opened.
    pub metadata: Metadata,
    /// Its bytes.
    pub reader: Reader,
    /// True if the part of it in the page cache can be read without waiting, as on local file
    /// systems; over a network or FUSE somebody else may have to be asked first.
    pub local: bool,
}

/// The bytes of an opened file.
#[derive(Clone, Debug)]
pub enum Reader {
    /// A file of the operating system: can be sent without passing through memory.
    File(Arc<File>),
    /// A file of the operating system that was complete before it got its name, and is never written to: a blob of a
    /// store. The source tells its versions by another identity than its own.
    Stored(Arc<StoredFile>),
    /// In memory. Shared, never copied; what the engine keeps of it counts in full, for it may be
    /// the last to hold it.
    Memory(Bytes),
    /// Part of the program. Shared, never copied, and keeping it costs nothing.
    Static(&'static [u8]),
    /// Somewhere else, too long to be had as a whole: each range comes when it is asked for.
    Remote(Arc<dyn RemoteContent>),
}

/// The content of one version of a file that lies elsewhere, read by ranges.
///
/// All bytes that it ever gives are of one version. Once that can be had no more, it fails with `NotFound`, whatever has
/// taken its place.
pub trait RemoteContent: Send + Sync + std::fmt::Debug {
    /// Reads at most `buffer.len()` bytes from `offset`; 0 is the end of the content.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not; else why they cannot be had.
    fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize>;

    /// True if all bytes of a range are in memory, so that reading them does not wait. Never waits.
    fn is_in_memory(&self, range: &Range<u64>) -> bool;
}

impl Reader {
    /// Reads at most `buffer.len()` bytes from `offset`; 0 is the end of the file.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not; else the file's error.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize> {
        let file = match self {
            Reader::File(file) => file,
            Reader::Stored(stored) => stored.file(),
            Reader::Memory(bytes) => return Ok(copy(bytes, offset, buffer)),
            Reader::Static(bytes) => return Ok(copy(bytes, offset, buffer)),
            Reader::Remote(content) => return content.read_at(buffer, offset, patience),
        };
        match patience {
            Patience::MayWait => salver_os::read_at(file, buffer, offset),
            Patience::MustNotWait => salver_os::read_resident(file, buffer, offset),
        }
    }

    /// The current metadata of the open file, if that can change under its handle.
    ///
    /// # Errors
    /// What `fstat(2)` gives; `InvalidData` if a [stored](Reader::Stored) file was written to all the same.
    pub fn metadata(&self) -> io::Result<Option<Metadata>> {
        match self {
            Reader::File(file) => Metadata::of(file).map(Some),
            Reader::Stored(file) => match file.is_unchanged()? {
                true => Ok(None),
                false => Err(io::ErrorKind::InvalidData.into()),
            },
            Reader::Memory(_) | Reader::Static(_) | Reader::Remote(_) => Ok(None),
        }
    }
}

/// A file that is never written to, and what it was when it was opened.
#[derive(Clone, Debug)]
pub struct StoredFile {
    file: Arc<File>,
    identity: Identity,
}

impl StoredFile {
    /// A file that was opened a moment ago, when it had this identity.
    pub fn new(file: Arc<File>, identity: Identity) -> Self {
        StoredFile { file, identity }
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The identity of the file itself.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// True if nobody has written to it since. That it lost its name is no change.
    pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
        let (now, attributes) = Metadata::with_attributes(&*self.file, Patience::MayWait)?;
        let now = now.identity;
        Ok(identity::same_content(&self.identity, &now)
            && (self.identity.changed == now.changed || attributes.links == 0))
    }
}

/// Copies the bytes from `offset` on, as far as `buffer` has room; returns their number.
fn copy(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let offset = usize::try_from(offset).ok();
    let rest = offset.and_then(|offset| bytes.get(offset..));
    let rest = rest.unwrap_or_default();
    let count = rest.len().min(buffer.len());
    if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
        to.copy_from_slice(from);
    }
    count
}
