//! A bucket as a store of releases needs it. Whatever talks to one implements [`Bucket`].

use std::fmt;
use std::io;
use std::time::SystemTime;

use salver_assets::Patience;
use salver_assets::source::Reader;

/// A bucket, or what lies beneath a prefix of one: whole objects, which are replaced by whoever knows what is there.
///
/// Keys are relative to the prefix: `manifests/20261124-013510-3f9a1c2b`. Every method but [`open`](Self::open) waits, no
/// longer than a time limit of its own. Errors of kind `PermissionDenied`, `NotConnected` and `TimedOut` say who must act;
/// what is not there is no error.
///
/// What has been put is listed and read by everybody from then on, as S3, Google Cloud Storage and Azure promise.
pub trait Bucket: fmt::Debug + Send + Sync + 'static {
    /// The URL of it, for people: without credentials, and without a slash at its end.
    fn place(&self) -> &str;

    /// An object of at most so many bytes; `None` if there is none.
    ///
    /// # Errors
    /// It is longer, or the bucket does not say.
    fn get(&self, key: &str, most: u64) -> io::Result<Option<BucketObject>>;

    /// An object of at most so many bytes, unless it is still the one of this version: by one conditional request.
    ///
    /// # Errors
    /// As of [`get`](Self::get).
    fn get_if_changed(
        &self,
        key: &str,
        most: u64,
        known: &ObjectVersion,
    ) -> io::Result<ObjectChange>;

    /// The length of an object; `None` if there is none.
    ///
    /// # Errors
    /// The bucket does not say.
    fn length(&self, key: &str) -> io::Result<Option<u64>>;

    /// At most so many of the objects beneath a directory, however deep, in any order; none if there is no such directory.
    /// Empty is the directory above all.
    ///
    /// # Errors
    /// The bucket does not say.
    fn list(&self, directory: &str, most: usize) -> io::Result<Vec<ListedObject>>;

    /// Puts an object, if this holds for what is there: compared and put by the bucket, in one step.
    ///
    /// # Errors
    /// It was not put, or nobody knows.
    fn put(&self, key: &str, content: Vec<u8>, condition: &PutCondition) -> io::Result<PutOutcome>;

    /// Puts an object in parts, until there is none any more: it is there once all of it is. Each part but the last has
    /// the same length, 5 MiB at least.
    ///
    /// # Errors
    /// Those of `next`, or it was not put.
    fn put_parts(
        &self,
        key: &str,
        next: &mut dyn FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()>;

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// The bucket does not.
    fn remove(&self, key: &str) -> io::Result<()>;

    /// The length and the content of an object that is never replaced by another.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not, `NotFound` if there is none; else why it cannot be had.
    fn open(&self, key: &str, patience: Patience) -> io::Result<(u64, Reader)>;

    /// Lets go of what is known of such an object: it has proved to be wrong.
    fn forget(&self, key: &str);
}

/// What a bucket tells one version of an object from others by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The entity tag.
    pub e_tag: Option<String>,
    /// The version, where the bucket keeps all.
    pub version: Option<String>,
}

/// An object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketObject {
    /// Its content.
    pub content: Vec<u8>,
    /// Its version.
    pub version: ObjectVersion,
}

/// What has become of an object whose version is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// It is as it was.
    Same,
    /// It is another one now.
    Changed(BucketObject),
    /// It is gone.
    Gone,
}

/// An object of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key, beneath the prefix of the bucket.
    pub key: String,
    /// Its length in bytes.
    pub length: u64,
    /// The time at which it was put, by the clock of the bucket.
    pub modified: SystemTime,
}

/// What has to hold for an object to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutCondition {
    /// Nothing: it takes the place of what is there.
    Always,
    /// There is none (RFC 9110 section 13.1.2: `If-None-Match: *`).
    Absent,
    /// It is still this version (section 13.1.1: `If-Match`).
    Same(ObjectVersion),
}

/// What has become of an object that was to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is there, as this version.
    Put(ObjectVersion),
    /// The condition did not hold: nothing was changed.
    Refused,
}
