//! A store, as it is read.

pub(crate) mod blobs;
pub(crate) mod diff;
pub(crate) mod fsck;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bucket::Bucket;
use crate::error::Error;
use crate::files::current::Current;
use crate::files::digest::BlobDigest;
use crate::files::journal::{self, Action, Journal, JournalEntry};
use crate::files::layout::{self, BLOBS, CURRENT, FORMAT, JOURNAL, Layout, MANIFESTS, PREVIEWS};
use crate::files::manifest::{self, Manifest};
use crate::files::preview::{self, Preview, PreviewName};
use crate::files::release_id::ReleaseId;
use crate::place::Place;
use crate::place::bucket::BucketPlace;
use crate::place::directory::DirectoryPlace;
use crate::place::side_by_side::for_each;
use crate::place::uploads::AT_ONCE;

/// The shortest part of a release's name by which it can be named.
const SHORTEST_PART: usize = 4;

/// A store of releases, in a directory or a bucket.
///
/// Reading takes no lock: whatever has its name in a store is whole.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) place: Arc<dyn Place>,
}

/// A release as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub id: ReleaseId,
    /// True if it is the one that is served.
    pub is_current: bool,
    /// The moment at which it was made, in seconds since 1970.
    pub created_unix_seconds: i64,
    /// The number of its files.
    pub files: usize,
    /// The bytes of all its files.
    pub bytes: u64,
    /// The bytes of what no other release has, which removing it would free.
    pub bytes_alone: u64,
    /// Who deployed it, if the journal says so.
    pub who: Option<String>,
}

impl Store {
    /// The store at a path.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let place = DirectoryPlace::new(path)?;
        Store::opened(place.format()?, place)
    }

    /// The store at a path, or the one that the first deploy is going to make there: of nothing, or of an empty directory.
    ///
    /// # Errors
    /// There is something else.
    pub(crate) fn open_or_awaited(path: &Path) -> Result<Self, Error> {
        let place = DirectoryPlace::new(path)?;
        match place.format()? {
            None if place.is_vacant()? => Ok(Store::of(place)),
            format => Store::opened(format, place),
        }
    }

    /// The store at a path, which is made if there is nothing, or an empty directory.
    ///
    /// # Errors
    /// There is something else, or it cannot be made.
    pub fn open_or_create(path: &Path) -> Result<Self, Error> {
        let place = DirectoryPlace::new(path)?;
        match place.format()? {
            None => place.create().map(|()| Store::of(place)),
            format => Store::opened(format, place),
        }
    }

    /// The store in a bucket.
    ///
    /// # Errors
    /// There is none, or the bucket does not say.
    pub fn open_bucket(bucket: Arc<dyn Bucket>) -> Result<Self, Error> {
        let place = BucketPlace::new(bucket);
        Store::opened(place.format()?, place)
    }

    /// The store in a bucket, which is made if there is none: beneath the prefix lies nothing else then.
    ///
    /// # Errors
    /// There is something else, it cannot be made, or the bucket does not compare what is there with what is to take its
    /// place.
    pub fn open_or_create_bucket(bucket: Arc<dyn Bucket>) -> Result<Self, Error> {
        let place = BucketPlace::new(bucket);
        match place.format()? {
            None => place.create().map(|()| Store::of(place)),
            format => Store::opened(format, place),
        }
    }

    /// The store that there is, or is going to be, in a bucket, which is asked nothing.
    pub(crate) fn awaited_in(bucket: Arc<dyn Bucket>) -> Self {
        Store::of(BucketPlace::new(bucket))
    }

    /// The store at a place that says this of its form.
    fn opened(format: Option<String>, place: impl Place + 'static) -> Result<Self, Error> {
        let path = place.root();
        match format.as_deref() {
            Some(text) if text == FORMAT.1 => Ok(Store::of(place)),
            Some(_) => Err(Error::Misused(format!(
                "{path:?} is a store of another version of Salver: use that one"
            ))),
            None => Err(Error::Misused(format!(
                "{path:?} is no store: `salver deploy DIR --to STORE` makes one"
            ))),
        }
    }

    fn of(place: impl Place + 'static) -> Self {
        Store {
            place: Arc::new(place),
        }
    }

    /// Its path, absolute, or the URL of its bucket.
    pub fn path(&self) -> &Path {
        self.place.root()
    }

    /// True if it lies in a bucket.
    pub(crate) fn is_in_bucket(&self) -> bool {
        self.place.layout().is_none()
    }

    /// The paths of it.
    ///
    /// # Errors
    /// It lies in a bucket.
    pub(crate) fn layout(&self) -> Result<&Layout, Error> {
        self.place.layout().ok_or_else(|| {
            Error::Misused(format!(
                "{:?} is a bucket, which takes deploys by itself: `salver deploy DIR --to` its URL",
                self.path()
            ))
        })
    }

    /// The current release; `None` before the first deploy.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn current(&self) -> Result<Option<ReleaseId>, Error> {
        Ok(self.read_current()?.map(|current| current.release))
    }

    pub(crate) fn read_current(&self) -> Result<Option<Current>, Error> {
        let content = self.place.current()?;
        let parsed = content
            .as_deref()
            .map(|content| self.parse_current(content));
        Ok(parsed.transpose()?.map(|(current, _)| current))
    }

    /// What `current` says, and the bytes that follow.
    pub(crate) fn parse_current<'a>(
        &self,
        content: &'a [u8],
    ) -> Result<(Current, &'a [u8]), Error> {
        Current::parse(content).ok_or_else(|| {
            Error::Damaged(format!(
                "{:?} names no release: `salver rollback STORE ID` names one anew",
                self.place.within(CURRENT)
            ))
        })
    }

    /// The names of all releases, oldest first.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn ids(&self) -> Result<Vec<ReleaseId>, Error> {
        let names = self.place.names(MANIFESTS)?;
        let mut ids: Vec<_> = names
            .iter()
            .filter_map(|name| ReleaseId::parse(name))
            .collect();
        ids.sort();
        Ok(ids)
    }

    /// True if there is a release of this name.
    pub(crate) fn has(&self, id: &ReleaseId) -> Result<bool, Error> {
        self.place.has(&layout::manifest(id))
    }

    /// The previews, by name, those included that have expired and are not pruned yet.
    ///
    /// # Errors
    /// One of them is damaged, or cannot be read.
    pub fn previews(&self) -> Result<Vec<Preview>, Error> {
        self.each_preview()?.into_iter().collect()
    }

    /// Each preview, or what is wrong with it.
    pub(crate) fn each_preview(&self) -> Result<Vec<Result<Preview, Error>>, Error> {
        let names = self.place.names(PREVIEWS)?;
        let mut names: Vec<_> = names
            .iter()
            .filter_map(|name| PreviewName::parse(name))
            .collect();
        names.sort();
        Ok(names
            .into_iter()
            .filter_map(|name| self.preview(name).transpose())
            .collect())
    }

    /// The preview of this name; `None` if there is none.
    fn preview(&self, name: PreviewName) -> Result<Option<Preview>, Error> {
        let file = layout::preview(&name);
        let Some(text) = self.place.text(&file, preview::MOST_BYTES)? else {
            return Ok(None);
        };
        match Preview::parse(name, &text) {
            Some(preview) => Ok(Some(preview)),
            None => Err(Error::Damaged(format!(
                "{:?} names no release: `salver deploy DIR --to STORE --preview NAME` writes it anew, or remove it",
                self.place.within(&file)
            ))),
        }
    }

    /// The release of which this is the name, the name of a preview, or a part of four characters at least with which no
    /// other's begins or ends.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn find(&self, text: &str) -> Result<ReleaseId, Error> {
        if let Some(name) = PreviewName::parse(text)
            && let Some(preview) = self.preview(name)?
        {
            return Ok(preview.release);
        }
        let ids = self.ids()?;
        let is_named =
            |id: &&ReleaseId| id.as_str().starts_with(text) || id.as_str().ends_with(text);
        let mut found = ids.iter().filter(is_named);
        let text = text.escape_debug();
        match (found.next(), found.next()) {
            (Some(only), None) if text.clone().count() >= SHORTEST_PART => Ok(only.clone()),
            (Some(_), Some(_)) => Err(Error::Misused(format!(
                "{text} is the name of several releases: give more of it"
            ))),
            _ => Err(Error::Misused(format!(
                "there is no release {text}: `salver releases STORE` lists them"
            ))),
        }
    }

    /// The manifest of a release.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn manifest(&self, id: &ReleaseId) -> Result<Manifest, Error> {
        let name = layout::manifest(id);
        let Some(text) = self.place.text(&name, manifest::MOST_BYTES)? else {
            return Err(Error::Misused(format!(
                "there is no release {id}: `salver releases STORE` lists them"
            )));
        };
        let damaged = |what: String| {
            Error::Damaged(format!(
                "{:?}: {what}: go to another release by `salver rollback STORE ID`, or deploy anew",
                self.place.within(&name)
            ))
        };
        let manifest = Manifest::parse(&text).map_err(|error| damaged(error.to_string()))?;
        match manifest.is_named(id) {
            true => Ok(manifest),
            false => Err(damaged("it is of another release".to_owned())),
        }
    }

    /// All releases, oldest first.
    ///
    /// # Errors
    /// One of them is damaged, or cannot be read.
    pub fn releases(&self) -> Result<Vec<Release>, Error> {
        let current = self.current()?;
        let journal = self.read_journal()?;
        let manifests = Mutex::new(BTreeMap::new());
        self.each_manifest(&self.ids()?, &|id, manifest| {
            let mut manifests = manifests.lock().unwrap_or_else(PoisonError::into_inner);
            manifests.insert(id.clone(), manifest);
        })?;
        let manifests = manifests.into_inner();
        let manifests = manifests.unwrap_or_else(PoisonError::into_inner);
        // For each blob the number of the only release that has it.
        let mut owners: HashMap<BlobDigest, (Option<usize>, u64)> = HashMap::new();
        for (number, (_, manifest)) in manifests.iter().enumerate() {
            for file in manifest.files() {
                let owner = owners
                    .entry(file.blob)
                    .or_insert((Some(number), file.length));
                if owner.0 != Some(number) {
                    owner.0 = None;
                }
            }
        }
        let mut alone = vec![0_u64; manifests.len()];
        for (owner, length) in owners.into_values() {
            if let Some(sum) = owner.and_then(|number| alone.get_mut(number)) {
                *sum = sum.saturating_add(length);
            }
        }
        let who = |id: &ReleaseId| {
            let mut entries = journal.entries.iter().rev();
            let entry = entries.find(|entry| {
                matches!(entry.action, Action::Deploy | Action::Preview) && entry.release == *id
            });
            entry.map(|entry| entry.who.clone())
        };
        let list = manifests
            .iter()
            .zip(alone)
            .map(|((id, manifest), alone)| Release {
                id: id.clone(),
                is_current: current.as_ref() == Some(id),
                created_unix_seconds: manifest.created_unix_seconds(),
                files: manifest.files().len(),
                bytes: manifest.bytes(),
                bytes_alone: alone,
                who: who(id),
            });
        Ok(list.collect())
    }

    /// What was done with the store, oldest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn journal(&self) -> Result<Vec<JournalEntry>, Error> {
        Ok(self.read_journal()?.entries)
    }

    pub(crate) fn read_journal(&self) -> Result<Journal, Error> {
        let text = self.place.text(JOURNAL, journal::MOST_BYTES)?;
        Ok(Journal::parse(&text.unwrap_or_default()))
    }

    /// The blobs that these releases have.
    pub(crate) fn named_blobs(&self, ids: &[ReleaseId]) -> Result<HashSet<BlobDigest>, Error> {
        let named = Mutex::new(HashSet::new());
        self.each_manifest(ids, &|_, manifest| {
            let mut named = named.lock().unwrap_or_else(PoisonError::into_inner);
            named.extend(manifest.files().iter().map(|file| file.blob));
        })?;
        Ok(named.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the manifests of these releases, several at a time: from a bucket each is a way there and back.
    fn each_manifest(
        &self,
        ids: &[ReleaseId],
        take: &(dyn Fn(&ReleaseId, Manifest) + Sync),
    ) -> Result<(), Error> {
        let work = |id: &ReleaseId, _: &AtomicBool| {
            take(id, self.manifest(id)?);
            Ok(0)
        };
        for_each((ids, AT_ONCE), work, &mut |_| true)
    }

    /// The bytes of all blobs, which releases share.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn blob_bytes(&self) -> Result<u64, Error> {
        let blobs = self.place.digest_files(BLOBS)?;
        let lengths = blobs.iter().map(|file| file.length);
        Ok(lengths.fold(0, u64::saturating_add))
    }
}
