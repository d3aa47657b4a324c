//! A bucket as a [`Source`].

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use object_store::ObjectStore;
use object_store::list::PaginatedListStore;
use salver_assets::source::{Awaited, Metadata, Opened, Reader};
use salver_assets::{Patience, Source, View};

use crate::bucket::{Bucket, Lists, PAGE};
use crate::bucket_tier::BucketTier;
use crate::listing::{Listing, Listings};
use crate::location::{Location, LocationError};
use crate::lookup::{Answer, Found, Lookups, Told};
use crate::object::{Object, directory};
use crate::remote_object::RemoteObject;
use crate::runtime::{Flight, LazyRuntime};
use crate::settings::{Settings, WHOLE_UP_TO};
use crate::slices::Slices;

/// A [`Source`] of the objects of a bucket, or of those beneath a prefix.
///
/// **Asked once.** However many look for a path or read an object at the same moment, the bucket gets one request; what it
/// answers serves further looks for a moment ([`Settings::revalidate`]). A look asks for the object itself, and if it is
/// known already, only whether it has changed: up to 1 MiB come with the answer. Longer ones come in slices, each by its
/// own request, and the next while one is read on.
///
/// **Of one version.** What is read of an object is what its metadata was told of: each request names the entity tag, and
/// each answer is compared with it. Slices are put together under a strong tag only. Once an object is replaced, what was opened before and has not come yet can be had no
/// more, unless the bucket keeps versions.
///
/// **Stale rather than late.** What was found is told at once for a while after it would have to be compared
/// ([`Settings::stale_while_revalidate`]), and for long if the bucket cannot be asked ([`Settings::stale_if_error`]); how old
/// it is, the view [says](View::age). It is compared in the background, once however many ask.
///
/// **Bounded.** Each request has a time limit with all its attempts, there are so many at once and no more, and what is
/// kept has a budget. A bucket that cannot be reached is an error of a kind that the engine answers with 503.
#[derive(Clone)]
pub struct ObjectStoreSource {
    lookups: Arc<Lookups>,
    slices: Arc<Slices>,
    listings: Arc<Listings>,
    store: Arc<dyn ObjectStore>,
    place: Arc<str>,
    stale_if_error: Duration,
}

impl ObjectStoreSource {
    /// The source of a URL: `s3://BUCKET/PREFIX`, `gs://…`, `az://CONTAINER/…` and its kin, `https://…` and `http://…`.
    /// Credentials and endpoints come from the environment. Asks the bucket nothing yet, and starts no thread.
    ///
    /// # Errors
    /// The URL or the environment cannot be used.
    pub fn open(url: &str, settings: Settings) -> Result<Self, LocationError> {
        let settings = settings.bounded();
        let location = Location::open(url, &settings)?;
        Ok(Self::of(location, settings))
    }

    /// The source of what lies in a store beneath a prefix; an empty one is all of it.
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

    /// The same of a store that lists its keys page by page: where many are asked for all the time, they are compared by pages.
    ///
    /// # Errors
    /// The prefix is none.
    pub fn of_pages<S: ObjectStore + PaginatedListStore>(
        store: Arc<S>,
        prefix: &str,
        settings: Settings,
    ) -> Result<Self, LocationError> {
        let pages = Lists::Pages(Arc::<S>::clone(&store));
        let location = Location::within(store, pages, prefix)?;
        Ok(Self::of(location, settings.bounded()))
    }

    pub(crate) fn of(location: Location, settings: Settings) -> Self {
        let Location {
            objects,
            lists,
            prefix,
            place,
            endpoint,
            never_blocks,
        } = location;
        let tier = BucketTier::new(&settings, &format!("{endpoint}{place}"));
        let store = Arc::clone(&objects);
        let bucket = Arc::new(Bucket::new(objects, lists, &settings));
        let runtime = Arc::new(LazyRuntime::new(settings.tier.clone(), never_blocks));
        let slices = Arc::new(Slices::new(
            Arc::clone(&bucket),
            Arc::clone(&runtime),
            tier.clone(),
            &settings,
        ));
        let lookups = Arc::new(Lookups::new(
            Arc::clone(&bucket),
            Arc::clone(&runtime),
            (Arc::clone(&slices), tier),
            (prefix.clone(), &place),
            &settings,
        ));
        let listings = Listings::new(bucket, runtime, prefix, lookups.device(), &settings);
        ObjectStoreSource {
            lookups,
            slices,
            listings: Arc::new(listings),
            store,
            place: place.into(),
            stale_if_error: settings.stale_if_error,
        }
    }

    /// The store, for who puts objects there: of its keys the prefix is a part.
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Lets go of what is known of a path: it has proved to be wrong.
    pub(crate) fn forget(&self, path: &[u8]) {
        self.lookups.forget(path);
    }

    /// Where the files lie, for people: without credentials.
    pub fn place(&self) -> &str {
        &self.place
    }
}

/// Its place: a store may print the credentials that it knows.
impl fmt::Debug for ObjectStoreSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectStoreSource")
            .field(&self.place)
            .finish()
    }
}

impl Source for ObjectStoreSource {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(BucketView {
            source: self.clone(),
            seen: Mutex::default(),
        }))
    }

    fn stale_if_error(&self) -> Duration {
        self.stale_if_error
    }

    fn invalidate(&self, path: &[u8]) {
        self.lookups.invalidate(path);
        self.listings.forget_above(path);
    }

    fn invalidate_prefix(&self, prefix: &[u8]) {
        self.lookups.invalidate_prefix(prefix);
        self.listings.clear();
    }

    fn make_due(&self, prefix: &[u8]) {
        self.lookups.make_due(prefix);
        self.listings.make_due();
    }
}

/// The tree as one who asks sees it: what was found once stays so, and what a listing told of files is not asked again,
/// file by file.
struct BucketView {
    source: ObjectStoreSource,
    seen: Mutex<Seen>,
}

/// What a view has told.
#[derive(Default)]
struct Seen {
    found: HashMap<Vec<u8>, Found>,
    /// The age of the oldest of it.
    age: Duration,
    /// The look that was begun for who asked last, and its path.
    awaited: Option<(Vec<u8>, Flight<Found>)>,
}

impl Seen {
    /// What was told of a path, or has come since.
    ///
    /// # Errors
    /// Why the bucket does not say: once, of a look that was begun for who asked.
    fn of(&mut self, path: &[u8]) -> io::Result<Option<Found>> {
        if let Some(found) = self.found.get(path) {
            return Ok(Some(found.clone()));
        }
        let awaited = self.awaited.take_if(|(of, _)| of == path);
        let found = match awaited.and_then(|(_, flight)| flight.now_or_never()) {
            // The loop that it went on on has ended.
            Some(Err(failure)) if failure.is_given_up() => return Ok(None),
            Some(found) => found?,
            None => return Ok(None),
        };
        self.found.insert(path.to_vec(), found.clone());
        Ok(Some(found))
    }
}

impl BucketView {
    fn find(&self, path: &[u8], patience: Patience) -> io::Result<Found> {
        if let Some(found) = self.seen().of(path)? {
            return Ok(found);
        }
        let answer = self.source.lookups.find(path, patience)?;
        let mut seen = self.seen();
        let Told { found, age } = match answer {
            Answer::Told(told) => told,
            Answer::UnderWay(flight) => {
                seen.awaited = flight.map(|flight| (path.to_vec(), flight));
                return Err(io::ErrorKind::WouldBlock.into());
            }
        };
        seen.age = seen.age.max(age);
        seen.found.insert(path.to_vec(), found.clone());
        Ok(found)
    }

    /// Fails unless there is a directory at a path.
    fn expect_directory(&self, path: &[u8]) -> io::Result<()> {
        match self.find(path, Patience::MayWait)? {
            Found::Directory => Ok(()),
            Found::File(_) => Err(io::ErrorKind::NotADirectory.into()),
            Found::Nothing => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Notes what a listing told of the files of a directory.
    fn note(&self, path: &[u8], listing: &Listing) {
        let mut seen = self.seen();
        for (name, found) in listing {
            let path = match path {
                b"" => name.clone(),
                path => [path, b"/", name].concat(),
            };
            seen.found.insert(path, found.clone());
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self, object: &Arc<Object>, path: &[u8], patience: Patience) -> io::Result<Reader> {
        let (slices, lookups) = (&self.source.slices, &self.source.lookups);
        if object.length() > WHOLE_UP_TO {
            let remote = RemoteObject::new(Arc::clone(object), path, slices, lookups);
            return Ok(Reader::Remote(Arc::new(remote)));
        }
        match slices.slice(object, 0, patience) {
            Ok(content) => Ok(Reader::Memory(content)),
            Err(error) => {
                if error.kind() == io::ErrorKind::NotFound {
                    lookups.forget(path);
                }
                Err(error)
            }
        }
    }
}

impl View for BucketView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        match self.find(path, patience)? {
            Found::File(object) => Ok(object.metadata()),
            Found::Directory => Ok(directory(self.source.lookups.device())),
            Found::Nothing => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let object = match self.find(path, patience)? {
            Found::File(object) => object,
            Found::Directory => return Err(io::ErrorKind::InvalidInput.into()),
            Found::Nothing => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Opened {
            metadata: object.metadata(),
            reader: self.reader(&object, path, patience)?,
            // What is in memory is had at once, and the rest is known not to be.
            local: true,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path, usize::MAX)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        let names: Vec<_> = match most < PAGE {
            true => {
                let page = self.source.listings.page(path)?;
                page.keys().cloned().collect()
            }
            false => {
                let listing = self.source.listings.all(path, most)?;
                self.note(path, &listing);
                listing.into_keys().collect()
            }
        };
        // What has names in it is a directory, unless a file is known to stand before it.
        let is_file = matches!(self.seen().found.get(path), Some(Found::File(_)));
        if is_file || names.is_empty() {
            self.expect_directory(path)?;
        }
        Ok(names.into_iter().take(most).collect())
    }

    fn age(&self) -> Duration {
        self.seen().age
    }

    fn awaited(&self) -> Option<Awaited> {
        let (_, flight) = self.seen().awaited.clone()?;
        Some(Box::pin(flight.map(drop)))
    }
}
