//! A bucket with a store of releases: whole objects, put by comparing, and blobs that are sent.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutResult, UpdateVersion,
};
use salver_assets::source::Reader;
use salver_assets::{Patience, Source as _};
use salver_store::{
    Bucket, BucketObject, ListedObject, ObjectChange, ObjectVersion, PutCondition, PutOutcome,
};

use crate::bucket::Lists;
use crate::content::collect;
use crate::failure::Failure;
use crate::key::Prefix;
use crate::location::{Location, LocationError};
use crate::runtime::LazyRuntime;
use crate::settings::Settings;
use crate::source::ObjectStoreSource;
use crate::wait::wait;

/// A [`Bucket`] for a store of releases.
///
/// What is small and changes is asked for anew each time; blobs, which never change, are read as
/// [`ObjectStoreSource`] reads objects, within its bounds.
pub struct ReleaseBucket {
    blobs: ObjectStoreSource,
    objects: Arc<dyn ObjectStore>,
    prefix: Prefix,
    place: String,
    runtime: LazyRuntime,
    timeout: Duration,
}

impl ReleaseBucket {
    /// The bucket that a URL leads to, with credentials and endpoints of the environment. Asks the bucket nothing yet, and
    /// starts no thread.
    ///
    /// # Errors
    /// The URL or the environment cannot be used, or it leads to a server that only sends files.
    pub fn open(url: &str, settings: Settings) -> Result<Self, LocationError> {
        let settings = settings.bounded();
        let location = Location::open(url, &settings)?;
        if matches!(location.lists, Lists::Never) {
            return Err(LocationError::new(&format!(
                "{url:?} has no list of what it holds, which a store of releases needs: give s3://, gs:// or az://"
            )));
        }
        Ok(Self::of(location, settings))
    }

    /// What lies in a store beneath a prefix; an empty one is all of it.
    ///
    /// # Errors
    /// The prefix is none.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        settings: Settings,
    ) -> Result<Self, LocationError> {
        let location = Location::within(store, Lists::Whole, prefix)?;
        Ok(Self::of(location, settings.bounded()))
    }

    fn of(location: Location, settings: Settings) -> Self {
        let timeout = settings.timeout;
        ReleaseBucket {
            objects: Arc::clone(&location.objects),
            prefix: location.prefix.clone(),
            place: location.place.trim_end_matches('/').to_owned(),
            runtime: LazyRuntime::default(),
            timeout,
            blobs: ObjectStoreSource::of(
                location,
                Settings {
                    is_immutable: true,
                    ..settings
                },
            ),
        }
    }

    /// The key of an object beneath the prefix.
    fn key(&self, key: &str) -> io::Result<Path> {
        let key = self.prefix.directory(key.as_bytes());
        key.ok_or_else(|| io::ErrorKind::InvalidFilename.into())
    }

    /// What work gives, which is done within the time limit.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> io::Result<T> {
        let timeout = self.timeout;
        let done = self.runtime.handle()?.spawn(async move {
            let done = tokio::time::timeout(timeout, work).await;
            done.unwrap_or_else(|_| Err(Failure::too_slow()))
        });
        let done = wait(done).unwrap_or_else(|_| Err(Failure::given_up()));
        Ok(done?)
    }

    /// The answer to a question for an object of at most so many bytes.
    fn ask(&self, key: &str, most: u64, options: GetOptions) -> io::Result<ObjectChange> {
        let (objects, key) = (Arc::clone(&self.objects), self.key(key)?);
        self.run(async move {
            let result = match objects.get_opts(&key, options).await {
                Err(Error::NotModified { .. }) => return Ok(ObjectChange::Same),
                result => match result.map_err(Failure::from) {
                    Err(failure) if failure.is_absence() => return Ok(ObjectChange::Gone),
                    result => result?,
                },
            };
            let length = result.meta.size;
            if length > most {
                let text = format!("it has {length} bytes, and may have {most}");
                return Err(Failure::new(io::ErrorKind::InvalidData, &text));
            }
            let version = version(&result.meta);
            let content = collect(result, length).await?.to_vec();
            Ok(ObjectChange::Changed(BucketObject { content, version }))
        })
    }
}

/// Its place: a store may print the credentials that it knows.
impl fmt::Debug for ReleaseBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReleaseBucket").field(&self.place).finish()
    }
}

impl Bucket for ReleaseBucket {
    fn place(&self) -> &str {
        &self.place
    }

    fn get(&self, key: &str, most: u64) -> io::Result<Option<BucketObject>> {
        match self.ask(key, most, GetOptions::default())? {
            ObjectChange::Changed(object) => Ok(Some(object)),
            ObjectChange::Same | ObjectChange::Gone => Ok(None),
        }
    }

    fn get_if_changed(
        &self,
        key: &str,
        most: u64,
        known: &ObjectVersion,
    ) -> io::Result<ObjectChange> {
        let options = GetOptions {
            if_none_match: known.e_tag.clone(),
            ..GetOptions::default()
        };
        Ok(match self.ask(key, most, options)? {
            // Not all stores know the condition.
            ObjectChange::Changed(object) if object.version == *known => ObjectChange::Same,
            change => change,
        })
    }

    fn length(&self, key: &str) -> io::Result<Option<u64>> {
        let (objects, key) = (Arc::clone(&self.objects), self.key(key)?);
        self.run(async move {
            match objects.head(&key).await.map_err(Failure::from) {
                Ok(meta) => Ok(Some(meta.size)),
                Err(failure) if failure.is_absence() => Ok(None),
                Err(failure) => Err(failure),
            }
        })
    }

    fn list(&self, directory: &str, most: usize) -> io::Result<Vec<ListedObject>> {
        let (objects, timeout) = (Arc::clone(&self.objects), self.timeout);
        let (root, above) = (self.key("")?, self.key(directory)?);
        let list = async move {
            let beneath = Some(&above).filter(|above| !above.as_ref().is_empty());
            let mut listed = objects.list(beneath);
            let mut found = Vec::new();
            while found.len() < most {
                // Each page has its time.
                let next = tokio::time::timeout(timeout, listed.next()).await;
                let meta = match next.map_err(|_| Failure::too_slow())? {
                    None => break,
                    Some(meta) => meta.map_err(Failure::from),
                };
                match meta {
                    Err(failure) if failure.is_absence() => break,
                    meta => found.extend(listed_object(&meta?, &root)),
                }
            }
            Ok::<_, Failure>(found)
        };
        let listed = wait(self.runtime.handle()?.spawn(list));
        Ok(listed.unwrap_or_else(|_| Err(Failure::given_up()))?)
    }

    fn put(&self, key: &str, content: Vec<u8>, condition: &PutCondition) -> io::Result<PutOutcome> {
        let (objects, key) = (Arc::clone(&self.objects), self.key(key)?);
        let mode = match condition {
            PutCondition::Always => PutMode::Overwrite,
            PutCondition::Absent => PutMode::Create,
            PutCondition::Same(ObjectVersion { e_tag, version }) => {
                PutMode::Update(UpdateVersion {
                    e_tag: e_tag.clone(),
                    version: version.clone(),
                })
            }
        };
        self.run(async move {
            let put = objects.put_opts(&key, content.into(), PutOptions::from(mode));
            match put.await {
                Ok(PutResult { e_tag, version, .. }) => {
                    Ok(PutOutcome::Put(ObjectVersion { e_tag, version }))
                }
                Err(
                    Error::AlreadyExists { .. }
                    | Error::Precondition { .. }
                    | Error::NotModified { .. },
                ) => Ok(PutOutcome::Refused),
                Err(error) => Err(Failure::from(error)),
            }
        })
    }

    fn put_parts(
        &self,
        key: &str,
        next: &mut dyn FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        let (objects, key) = (Arc::clone(&self.objects), self.key(key)?);
        let mut upload =
            self.run(async move { objects.put_multipart(&key).await.map_err(Failure::from) })?;
        match self.send_parts(&mut upload, next) {
            Ok(()) => self.run(async move {
                let completed = upload.complete().await;
                completed.map(drop).map_err(Failure::from)
            }),
            Err(error) => {
                // So that nobody pays for what was sent. That it cannot be had is told by what has failed before.
                let _ = self.run(async move { upload.abort().await.map_err(Failure::from) });
                Err(error)
            }
        }
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let (objects, key) = (Arc::clone(&self.objects), self.key(key)?);
        self.run(async move {
            match objects.delete(&key).await.map_err(Failure::from) {
                Err(failure) if failure.is_absence() => Ok(()),
                removed => removed,
            }
        })
    }

    fn open(&self, key: &str, patience: Patience) -> io::Result<(u64, Reader)> {
        let opened = self.blobs.view(patience)?.open(key.as_bytes(), patience)?;
        Ok((opened.metadata.identity.length, opened.reader))
    }

    fn forget(&self, key: &str) {
        self.blobs.forget(key.as_bytes());
    }
}

impl ReleaseBucket {
    fn send_parts(
        &self,
        upload: &mut Box<dyn MultipartUpload>,
        next: &mut dyn FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        while let Some(part) = next()? {
            let sent = upload.put_part(part.into());
            self.run(async move { sent.await.map_err(Failure::from) })?;
        }
        Ok(())
    }
}

fn version(meta: &ObjectMeta) -> ObjectVersion {
    ObjectVersion {
        e_tag: meta.e_tag.clone(),
        version: meta.version.clone(),
    }
}

/// An object of a list, by its key beneath the prefix.
fn listed_object(meta: &ObjectMeta, root: &Path) -> Option<ListedObject> {
    let key = match root.as_ref() {
        "" => meta.location.as_ref(),
        root => meta
            .location
            .as_ref()
            .strip_prefix(root)?
            .strip_prefix('/')?,
    };
    Some(ListedObject {
        key: key.to_owned(),
        length: meta.size,
        modified: meta.last_modified.into(),
    })
}
