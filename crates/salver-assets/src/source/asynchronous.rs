//! Sources whose calls are futures: files of a database or of another service, asked by an asynchronous client.

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::source::{KnownDigests, Metadata};

/// A tree of files that is asked by futures: a [`Source`](super::Source) by way of [`SyncBridge`](super::SyncBridge), which
/// has an executor drive them.
///
/// What is promised is what [`Source`](super::Source) and [`View`](super::View) promise, and
/// [`conformance`](super::conformance) checks it of the bridge. A future that is no longer waited for is dropped.
pub trait AsyncSource: Send + Sync + Debug + 'static {
    /// One state of the tree.
    type View: AsyncView;

    /// The tree as it is now.
    ///
    /// # Errors
    /// Why there is no tree.
    fn view(&self) -> impl Future<Output = io::Result<Self::View>> + Send;
}

/// One state of the tree of an [`AsyncSource`]: a [`View`](super::View) whose calls are futures. Paths are clean already:
/// at any other there is nothing, and nobody is asked.
pub trait AsyncView: Send + Sync + 'static {
    /// The metadata of the file or directory at `path`.
    ///
    /// # Errors
    /// As of [`View::stat`](super::View::stat).
    fn stat(&self, path: &[u8]) -> impl Future<Output = io::Result<Metadata>> + Send;

    /// The regular file at `path`: the metadata of one version, and its content.
    ///
    /// # Errors
    /// As of [`View::open`](super::View::open).
    fn open(&self, path: &[u8])
    -> impl Future<Output = io::Result<(Metadata, AsyncReader)>> + Send;

    /// No more than `most` of the names in the directory at `path`, each once, in any order.
    ///
    /// # Errors
    /// As of [`View::list`](super::View::list).
    fn names(
        &self,
        path: &[u8],
        most: usize,
    ) -> impl Future<Output = io::Result<Vec<Vec<u8>>>> + Send;

    /// The digests of the file at `path`, if they are known without asking: as [`View::known`](super::View::known).
    ///
    /// Default: `None`, and the engine reads what it needs to know.
    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        let _ = path;
        None
    }
}

/// The content of a file of an [`AsyncSource`].
#[derive(Clone, Debug)]
pub enum AsyncReader {
    /// All of it, for files that are had in one piece.
    Whole(Bytes),
    /// Too long for that: each range comes when it is asked for.
    Ranges(Arc<dyn AsyncContent>),
}

/// What [`AsyncContent::read`] returns: bytes to come.
pub type AsyncBytes<'a> = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send + 'a>>;

/// The content of one version of a file, read by ranges. All bytes that it ever gives are of one version; once that can
/// be had no more, it fails with `NotFound`.
pub trait AsyncContent: Send + Sync + Debug + 'static {
    /// The bytes of `range`, or the first of them; none is the end of the content. What is longer than the range is cut.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn read(&self, range: Range<u64>) -> AsyncBytes<'_>;
}
