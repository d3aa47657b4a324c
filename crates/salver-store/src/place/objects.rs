//! The objects of a bucket with a store, and what their faults are called.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bucket::{Bucket, ListedObject, ObjectVersion, PutCondition};
use crate::error::Error;
use crate::files::current;
use crate::files::layout::CURRENT;

/// A bucket, and its URL.
#[derive(Clone, Debug)]
pub(super) struct BucketObjects {
    bucket: Arc<dyn Bucket>,
    root: PathBuf,
}

impl BucketObjects {
    pub(super) fn new(bucket: Arc<dyn Bucket>) -> Self {
        let root = PathBuf::from(bucket.place());
        BucketObjects { bucket, root }
    }

    pub(super) fn bucket(&self) -> &dyn Bucket {
        &*self.bucket
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The URL of an object.
    pub(super) fn within(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The content of `current`, and its version.
    pub(super) fn current(&self) -> Result<Option<(Vec<u8>, ObjectVersion)>, Error> {
        let object = self.bucket.get(CURRENT, current::MOST_BYTES);
        let object = object.map_err(Error::at(&self.within(CURRENT)))?;
        Ok(object.map(|object| (object.content, object.version)))
    }

    /// An object of at most so many bytes as text, and its version.
    pub(super) fn read(
        &self,
        name: &str,
        most: u64,
    ) -> Result<Option<(String, ObjectVersion)>, Error> {
        let read = self.bucket.get(name, most).and_then(|object| {
            let Some(object) = object else {
                return Ok(None);
            };
            let text = String::from_utf8(object.content).map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidData, "it is no text of UTF-8")
            })?;
            Ok(Some((text, object.version)))
        });
        read.map_err(Error::at(&self.within(name)))
    }

    /// Puts an object in the place of what is there.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let put = self.bucket.put(name, bytes.to_vec(), &PutCondition::Always);
        put.map(drop).map_err(Error::at(&self.within(name)))
    }

    /// All objects beneath a directory.
    pub(super) fn list(&self, directory: &str) -> Result<Vec<ListedObject>, Error> {
        let listed = self.bucket.list(directory, usize::MAX);
        listed.map_err(Error::at(&self.within(directory)))
    }
}
