//! A store in a bucket: the same names as in a directory, and the same formats.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use salver_assets::Patience;
use salver_assets::source::Reader;

use super::bucket_changes::BucketChanges;
use super::objects::BucketObjects;
use super::{Changes, DigestFile, OpenFile, Place};
use crate::bucket::{Bucket, ListedObject, PutCondition, PutOutcome};
use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::layout::{
    BLOBS, DIRECTORIES, FORMAT, HASHES, Layout, MOST_FORMAT_BYTES, digest_of,
};

/// The objects that are looked at to know whether a bucket holds something else.
const LOOKED_AT: usize = 100;

/// A bucket with a store, or one that the first deploy is going to make.
#[derive(Clone, Debug)]
pub(crate) struct BucketPlace {
    pub(super) objects: BucketObjects,
}

impl BucketPlace {
    pub(crate) fn new(bucket: Arc<dyn Bucket>) -> Self {
        BucketPlace {
            objects: BucketObjects::new(bucket),
        }
    }

    /// What it says of the form of its store; `None` if there is none.
    pub(crate) fn format(&self) -> Result<Option<String>, Error> {
        self.text(FORMAT.0, MOST_FORMAT_BYTES)
    }

    /// Makes a store.
    pub(crate) fn create(&self) -> Result<(), Error> {
        let objects = self.objects.bucket().list("", LOOKED_AT);
        let objects = objects.map_err(Error::at(self.root()))?;
        let is_ours = |object: &ListedObject| {
            let first = object.key.split('/').next().unwrap_or_default();
            DIRECTORIES.contains(&first) || first == HASHES || object.key == FORMAT.0
        };
        // Somebody else may have made a store, and have deployed to it, since that was looked for.
        if !objects.iter().all(is_ours) && self.format()?.is_none() {
            return Err(Error::Misused(format!(
                "{:?} holds other objects, and no store: give another prefix",
                self.root()
            )));
        }
        self.try_conditions()?;
        let format = FORMAT.1.as_bytes().to_vec();
        // Somebody else may have made it meanwhile.
        let made = self
            .objects
            .bucket()
            .put(FORMAT.0, format, &PutCondition::Absent);
        made.map(drop).map_err(Error::at(&self.within(FORMAT.0)))
    }

    /// Makes sure that the bucket puts nothing whose condition does not hold: there are some that know no conditions, and
    /// then of two deploys at once both would believe to have won.
    fn try_conditions(&self) -> Result<(), Error> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanoseconds = since.unwrap_or_default().as_nanos();
        let key = format!("new/{}-{nanoseconds}", std::process::id());
        let put = |content: &str, condition: &PutCondition| {
            let content = content.as_bytes().to_vec();
            self.objects.bucket().put(&key, content, condition)
        };
        let are_kept = || -> io::Result<bool> {
            let PutOutcome::Put(first) = put("1", &PutCondition::Absent)? else {
                return Ok(false);
            };
            let first = PutCondition::Same(first);
            Ok(put("2", &PutCondition::Absent)? == PutOutcome::Refused
                && put("3", &first)? != PutOutcome::Refused
                && put("4", &first)? == PutOutcome::Refused)
        };
        let are_kept = are_kept();
        let removed = self.objects.bucket().remove(&key);
        let at = self.within(&key);
        match are_kept.map_err(Error::at(&at))? {
            true => removed.map_err(Error::at(&at)),
            false => Err(Error::Misused(format!(
                "{:?} does not keep to If-Match and If-None-Match when it is written to, so that two deploys at once could undo \
                 each other: take a bucket that has conditional writes",
                self.root()
            ))),
        }
    }
}

impl Place for BucketPlace {
    fn root(&self) -> &Path {
        self.objects.root()
    }

    fn layout(&self) -> Option<&Layout> {
        None
    }

    fn text(&self, name: &str, most: u64) -> Result<Option<String>, Error> {
        Ok(self.objects.read(name, most)?.map(|(text, _)| text))
    }

    fn current(&self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.objects.current()?.map(|(content, _)| content))
    }

    fn has(&self, name: &str) -> Result<bool, Error> {
        let length = self.objects.bucket().length(name);
        Ok(length.map_err(Error::at(&self.within(name)))?.is_some())
    }

    fn names(&self, directory: &str) -> Result<Vec<String>, Error> {
        let objects = self.objects.list(directory)?.into_iter();
        let names = objects.filter_map(|object| {
            let name = object.key.strip_prefix(directory)?.strip_prefix('/')?;
            (!name.contains('/')).then(|| name.to_owned())
        });
        Ok(names.collect())
    }

    fn digest_files(&self, directory: &str) -> Result<Vec<DigestFile>, Error> {
        let objects = self.objects.list(directory)?.into_iter();
        let files = objects.map(|object| {
            let within = object.key.strip_prefix(directory);
            let within = within.and_then(|rest| rest.strip_prefix('/'));
            DigestFile {
                digest: within.and_then(digest_of),
                length: object.length,
                modified: object.modified,
                name: object.key,
            }
        });
        Ok(files.collect())
    }

    fn lengths(&self, blobs: &BTreeSet<BlobDigest>) -> Result<BTreeMap<BlobDigest, u64>, Error> {
        // A page of the list tells of a thousand.
        let files = self.digest_files(BLOBS)?.into_iter();
        let of_wanted = files.filter_map(|file| {
            let digest = file.digest.filter(|digest| blobs.contains(digest))?;
            Some((digest, file.length))
        });
        Ok(of_wanted.collect())
    }

    fn open(&self, name: &str) -> io::Result<OpenFile> {
        let (length, reader) = self.objects.bucket().open(name, Patience::MayWait)?;
        let content = Box::new(Sequential { reader, offset: 0 });
        Ok(OpenFile { length, content })
    }

    fn change(&self, _: &str) -> Result<Box<dyn Changes>, Error> {
        Ok(Box::new(BucketChanges::new(self.objects.clone())))
    }
}

/// The bytes of an object, one after the other.
struct Sequential {
    reader: Reader,
    offset: u64,
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self
            .reader
            .read_at(buffer, self.offset, Patience::MayWait)?;
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}
