//! Listings of directories: one request for a page, however many want it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object_store::path::Path;

use crate::bounded_cache::BoundedCache;
use crate::bucket::{Bucket, Entry, PAGE};
use crate::clock::Clock;
use crate::failure::{Failure, is_for_a_while};
use crate::key::{Prefix, file_name};
use crate::lookup::Found;
use crate::object::Object;
use crate::runtime::{Flight, Flights, LazyRuntime};
use crate::settings::Settings;
use crate::wait::wait;

/// The most names of a directory that are ever listed: more than the engine shows.
const MOST: usize = 100_001;

/// The bytes that pages which are kept may take.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// The bytes that a name takes in a page besides its own.
const OVERHEAD: usize = 400;

/// The names in a directory, and what each is.
pub(crate) type Listing = BTreeMap<Vec<u8>, Found>;

/// The first pages of directories, and when each was asked for.
type KeptPages = BoundedCache<Arc<[u8]>, (Instant, Arc<Listing>)>;

type ListingResult = Result<Arc<Listing>, Failure>;

/// The listings of a source.
#[derive(Debug)]
pub(crate) struct Listings {
    bucket: Arc<Bucket>,
    runtime: Arc<LazyRuntime>,
    prefix: Prefix,
    device: u64,
    keep_for: Duration,
    stale_if_error: Duration,
    clock: Clock,
    /// They tell how files are named there.
    pages: Mutex<KeptPages>,
    /// The moment before which pages were asked for that have to be looked at again.
    due: Mutex<Option<Instant>>,
    flights: Flights<Arc<[u8]>, Arc<Listing>>,
}

impl Listings {
    pub(crate) fn new(
        bucket: Arc<Bucket>,
        runtime: Arc<LazyRuntime>,
        prefix: Prefix,
        device: u64,
        settings: &Settings,
    ) -> Self {
        Listings {
            bucket,
            runtime,
            prefix,
            device,
            keep_for: settings.revalidate,
            stale_if_error: settings.stale_if_error,
            clock: settings.clock.clone(),
            pages: Mutex::new(BoundedCache::new(KEPT_BYTES)),
            due: Mutex::new(None),
            flights: Flights::new(Err(Failure::given_up())),
        }
    }

    /// The listing of a directory as it is now: at least `most` names, if it has as many.
    ///
    /// # Errors
    /// Why the bucket does not say, `OutOfMemory` if all are wanted and there are more than are ever listed.
    pub(crate) fn all(self: &Arc<Self>, path: &[u8], most: usize) -> io::Result<Listing> {
        let Some(directory) = self.prefix.directory(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let listings = Arc::clone(self);
        let (are_all, most) = (most > MOST, most.min(MOST + 1));
        let list = async move { listings.list(&directory, most).await };
        let listed = wait(self.runtime.handle()?.spawn(list));
        let listing = listed.unwrap_or_else(|_| Err(Failure::given_up()))?;
        match are_all && listing.len() > MOST {
            true => Err(io::ErrorKind::OutOfMemory.into()),
            false => Ok(listing),
        }
    }

    /// The first page of the listing of a directory, as it is or was within the time after which it is looked at again;
    /// where the bucket cannot be asked, an older one.
    ///
    /// # Errors
    /// Why the bucket does not say.
    pub(crate) fn page(self: &Arc<Self>, path: &[u8]) -> io::Result<Arc<Listing>> {
        if let Some(page) = self.fresh_page(path) {
            return Ok(page);
        }
        let Some(directory) = self.prefix.directory(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let page = self.runtime.once(&self.flights, path, |flight| {
            let (listings, path) = (Arc::clone(self), Arc::<[u8]>::from(path));
            let directory = directory.clone();
            async move {
                match listings.fresh_page(&path) {
                    Some(page) => Ok(page),
                    None => listings.load_page(path, &directory, &flight).await,
                }
            }
        });
        page.or_else(|error| {
            let most = self.keep_for.saturating_add(self.stale_if_error);
            let is_passing = is_for_a_while(error.kind());
            let kept = is_passing.then(|| self.kept_page(path, most));
            kept.flatten().ok_or(error)
        })
    }

    /// Lets go of all pages.
    pub(crate) fn clear(&self) {
        self.flights.forget(|_| true);
        *self.pages() = BoundedCache::new(KEPT_BYTES);
    }

    /// Lets go of the pages that may tell of a path: its own, and those of the directories that it is in.
    pub(crate) fn forget_above(&self, path: &[u8]) {
        let above = |directory: &[u8]| {
            let rest = path.strip_prefix(directory);
            directory.is_empty()
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.flights.forget(|directory| above(directory));
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut pages = self.pages();
        pages.forget(&b""[..]);
        pages.forget(path);
        for (end, _) in slashes {
            pages.forget(path.get(..end).unwrap_or_default());
        }
    }

    /// Has all pages looked at again when they are asked for next.
    pub(crate) fn make_due(&self) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        *due = Some(self.clock.now());
    }

    async fn load_page(
        &self,
        path: Arc<[u8]>,
        directory: &Path,
        flight: &Flight<Arc<Listing>>,
    ) -> ListingResult {
        let asked = self.clock.now();
        let page = Arc::new(self.list(directory, PAGE).await?);
        let names = page.keys().map(|name| name.len().saturating_add(OVERHEAD));
        let weight = names.sum::<usize>().saturating_add(OVERHEAD);
        let mut pages = self.pages();
        // Under the lock by which pages are let go of once their flights are forgotten.
        if !flight.is_outdated() {
            pages.insert(path, (asked, Arc::clone(&page)), weight);
        }
        Ok(page)
    }

    async fn list(&self, directory: &Path, most: usize) -> Result<Listing, Failure> {
        let entries = match self.bucket.list(directory, most).await {
            Err(failure) if failure.is_absence() => Vec::new(),
            entries => entries?,
        };
        let mut listing = Listing::new();
        for entry in entries {
            let (path, found) = match entry {
                Entry::Directory(path) => (path, Found::Directory),
                Entry::Object(meta) => {
                    let modified = self.bucket.modified(&meta);
                    let object = Object::new(self.device, &meta, modified)?;
                    (meta.location, Found::File(Arc::new(object)))
                }
            };
            let Some(name) = name_in(&path, directory) else {
                continue;
            };
            // Of a file and a directory with one name a path leads to the file.
            let is_file = matches!(found, Found::File(_));
            if is_file || !listing.contains_key(&name) {
                listing.insert(name, found);
            }
        }
        Ok(listing)
    }

    /// The page that need not be looked at again.
    fn fresh_page(&self, path: &[u8]) -> Option<Arc<Listing>> {
        let (asked, page) = self.pages().get(path)?;
        let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = self.clock.since(asked) < self.keep_for;
        (is_fresh && due.is_none_or(|due| asked >= due)).then_some(page)
    }

    /// The page that was asked for no longer ago than this.
    fn kept_page(&self, path: &[u8], most: Duration) -> Option<Arc<Listing>> {
        let (asked, page) = self.pages().get(path)?;
        (self.clock.since(asked) < most).then_some(page)
    }

    fn pages(&self) -> MutexGuard<'_, KeptPages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name that an entry has in a directory; `None` for one that stands for the directory itself.
fn name_in(path: &Path, directory: &Path) -> Option<Vec<u8>> {
    let name = match directory.as_ref() {
        "" => path.as_ref(),
        directory => path.as_ref().strip_prefix(directory)?.strip_prefix('/')?,
    };
    (!name.is_empty() && !name.contains('/')).then(|| file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_entries_beneath() {
        let check = |path: &str, directory: &str, expected: Option<&[u8]>| {
            let [path, directory] = [path, directory].map(|text| Path::parse(text).unwrap());
            assert_eq!(name_in(&path, &directory).as_deref(), expected, "{path}");
        };
        check("a", "", Some(b"a"));
        check("d/a%0A", "d", Some(b"a\n"));
        // A key that ends with a slash, as consoles make for a new folder.
        check("d", "d", None);
        check("da/b", "d", None);
        check("d/e/f", "d", None);
    }
}
