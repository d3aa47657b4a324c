//! The place where a store lies: a directory, or a bucket. What both can is said here, and the rules of releases
//! go by that alone.

pub(crate) mod bucket;
mod bucket_changes;
pub(crate) mod directory;
mod directory_changes;
pub(crate) mod incoming;
#[cfg_attr(not(feature = "compress"), path = "place/makes/absent.rs")]
mod makes;
mod objects;
pub(crate) mod side_by_side;
pub(crate) mod uploads;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::event::Listener;
use crate::files::bundle::Bundle;
use crate::files::current::Current;
use crate::files::digest::BlobDigest;
use crate::files::journal::JournalEntry;
use crate::files::layout::Layout;
pub(crate) use makes::Makes;

/// The place of a store, as it is read. Names are relative to it: `manifests/ID`.
///
/// Reading takes no lock: whatever has its name is whole.
pub(crate) trait Place: Makes + fmt::Debug + Send + Sync {
    /// The path or URL of it.
    fn root(&self) -> &Path;

    /// The path or URL of what has this name.
    fn within(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The paths of it, if it is a directory.
    fn layout(&self) -> Option<&Layout>;

    /// The text of a file of at most so many bytes; `None` if there is none.
    fn text(&self, name: &str, most: u64) -> Result<Option<String>, Error>;

    /// The content of `current`; `None` if there is none.
    fn current(&self) -> Result<Option<Vec<u8>>, Error>;

    /// True if there is such a file.
    fn has(&self, name: &str) -> Result<bool, Error>;

    /// The names of the files in a directory; none if there is no directory.
    fn names(&self, directory: &str) -> Result<Vec<String>, Error>;

    /// The files beneath a directory whose files are named by digests; none if there is no directory.
    fn digest_files(&self, directory: &str) -> Result<Vec<DigestFile>, Error>;

    /// The lengths of those of these blobs that are there, none of which is read.
    fn lengths(&self, blobs: &BTreeSet<BlobDigest>) -> Result<BTreeMap<BlobDigest, u64>, Error>;

    /// The content of a file, and its length.
    fn open(&self, name: &str) -> io::Result<OpenFile>;

    /// What changes the store for what this word says.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody else does, where that can be known.
    fn change(&self, what: &str) -> Result<Box<dyn Changes>, Error>;
}

/// A file that is named by a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DigestFile {
    /// Its name within the store.
    pub(crate) name: String,
    /// What its name says; `None` if that is no digest.
    pub(crate) digest: Option<BlobDigest>,
    /// Its length in bytes.
    pub(crate) length: u64,
    /// The time at which it was put there.
    pub(crate) modified: SystemTime,
}

/// A file that is read.
pub(crate) struct OpenFile {
    pub(crate) length: u64,
    pub(crate) content: Box<dyn Read>,
}

/// The change of a store: what is written, step by step. `current` is replaced last.
pub(crate) trait Changes: fmt::Debug + Send {
    /// True if nobody else changes the store meanwhile; else each step that takes the place of something fails by
    /// [`Error::Overtaken`] once somebody has.
    fn is_alone(&self) -> bool;

    /// Reads what the next steps go by.
    fn state(&mut self) -> Result<StoreState, Error>;

    /// Adds blobs, all of which are whole and stay when this has come to its end.
    fn add_blobs(
        &mut self,
        blobs: &[(BlobDigest, u64)],
        contents: &dyn Contents,
        listener: &mut Listener<'_>,
    ) -> Result<(), Error>;

    /// Makes sure that the names of these blobs stay.
    fn settle(&mut self, blobs: &BTreeSet<BlobDigest>) -> Result<(), Error>;

    /// Adds lines to the journal.
    fn append(&mut self, entries: &[JournalEntry]) -> Result<(), Error>;

    /// Puts a file, whole, in the place of what has the name.
    fn put(&mut self, name: &str, text: &str) -> Result<(), Error>;

    /// Removes files, if they are there, so that they stay away.
    fn remove(&mut self, names: &[String]) -> Result<(), Error>;

    /// Makes a release the current one: the switch. What is new with it comes along where that is of use.
    fn switch(&mut self, current: &Current, new: Option<&Bundle>) -> Result<(), Error>;
}

/// What a store says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreState {
    /// The content of `current`; `None` if there is none.
    pub(crate) current: Option<Vec<u8>>,
    /// That of the journal.
    pub(crate) journal: String,
}

/// The contents that blobs are made of.
pub(crate) trait Contents: Sync {
    /// Has the content of a blob read, which is compared with its name: it may have changed.
    fn read(
        &self,
        blob: &BlobDigest,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> Result<(), Error>;

    /// The error of what has another content by now.
    fn changed(&self, blob: &BlobDigest) -> Error;
}
