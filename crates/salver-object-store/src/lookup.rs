//! Lookups of paths: each path is asked for once however many want it, and what was found serves for a moment.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use salver_assets::source::new_device;
use salver_assets::{ContentCoding, Patience};
use salver_coalesce::SingleFlight;

use crate::bounded_cache::BoundedCache;
use crate::bucket::{Bucket, Looked};
use crate::failure::Failure;
use crate::key::Prefix;
use crate::object::Object;
use crate::runtime::LazyRuntime;
use crate::settings::Settings;
use crate::slices::Slices;

/// The bytes that what is known of paths may take.
const KNOWN_BYTES: usize = 16 * 1024 * 1024;

/// The bytes that a known path takes besides its own.
const OVERHEAD: usize = 512;

/// What is at a path.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    File(Arc<Object>),
    Directory,
    Nothing,
}

/// What was found at a path, and when it was asked for.
#[derive(Clone, Debug)]
struct Known {
    found: Found,
    asked: Instant,
}

type LookupResult = Result<Found, Failure>;

/// The lookups of a source.
#[derive(Debug)]
pub(crate) struct Lookups {
    bucket: Arc<Bucket>,
    runtime: Arc<LazyRuntime>,
    slices: Arc<Slices>,
    prefix: Prefix,
    device: u64,
    reuse: Duration,
    is_immutable: bool,
    known: Mutex<BoundedCache<Arc<[u8]>, Known>>,
    flights: SingleFlight<Arc<[u8]>, LookupResult>,
}

impl Lookups {
    pub(crate) fn new(
        bucket: Arc<Bucket>,
        runtime: Arc<LazyRuntime>,
        slices: Arc<Slices>,
        prefix: Prefix,
        settings: &Settings,
    ) -> Self {
        Lookups {
            bucket,
            runtime,
            slices,
            prefix,
            device: new_device(),
            reuse: settings.reuse(),
            is_immutable: settings.is_immutable,
            known: Mutex::new(BoundedCache::new(KNOWN_BYTES)),
            flights: SingleFlight::new(Err(Failure::given_up())),
        }
    }

    /// The device number of all files of the source.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// What is at a path now, or was a moment ago.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not; else why the bucket does not say.
    pub(crate) fn find(self: &Arc<Self>, path: &[u8], patience: Patience) -> io::Result<Found> {
        if path.is_empty() {
            return Ok(Found::Directory);
        }
        if self.prefix.key(path).is_none() {
            return Ok(Found::Nothing);
        }
        if let Some(found) = self.known_lately(path) {
            return Ok(found);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.runtime.once(&self.flights, path, || {
            let (lookups, path) = (Arc::clone(self), Arc::<[u8]>::from(path));
            async move {
                // It came between the look and the start.
                match lookups.known_lately(&path) {
                    Some(found) => Ok(found),
                    None => lookups.look(path).await,
                }
            }
        })
    }

    /// Lets go of what is known of a path: it has proved to be no longer so.
    pub(crate) fn forget(&self, path: &[u8]) {
        self.known().forget(path);
    }

    /// What was found at a path so lately that nobody is asked.
    fn known_lately(&self, path: &[u8]) -> Option<Found> {
        let known = self.known().get(path)?;
        let stays = self.is_immutable && matches!(known.found, Found::File(_));
        (stays || known.asked.elapsed() < self.reuse).then_some(known.found)
    }

    async fn look(&self, path: Arc<[u8]>) -> LookupResult {
        let Some(key) = self.prefix.key(&path) else {
            return Ok(Found::Nothing);
        };
        let asked = Instant::now();
        let known = match self.known().get(&*path) {
            Some(Known {
                found: Found::File(object),
                ..
            }) => Some(object),
            _ => None,
        };
        let looked = self
            .bucket
            .look(&key, known.as_deref(), self.device)
            .await?;
        let found = match (looked, known) {
            (Looked::Same, Some(object)) => Found::File(object),
            (Looked::Object(object, content), _) => {
                let object = Arc::new(object);
                if let Some(content) = content {
                    self.slices.keep_whole(&object, content);
                }
                Found::File(object)
            }
            (Looked::Nothing | Looked::Same, _) => {
                let may_be_directory = !self.is_beside_its_original(&path);
                match may_be_directory && self.bucket.has_beneath(&key).await? {
                    true => Found::Directory,
                    false => Found::Nothing,
                }
            }
        };
        let of_object = match &found {
            Found::File(object) => object.weight(),
            Found::Directory | Found::Nothing => 0,
        };
        let weight = path
            .len()
            .saturating_add(of_object)
            .saturating_add(OVERHEAD);
        let known = Known {
            found: found.clone(),
            asked,
        };
        self.known().insert(path, known, weight);
        Ok(found)
    }

    /// True for `app.js.br` where `app.js` is a file: it is asked for with each look at that, and is no directory. That
    /// spares a list for each coding.
    fn is_beside_its_original(&self, path: &[u8]) -> bool {
        let mut extensions = ContentCoding::CODED
            .into_iter()
            .filter_map(ContentCoding::extension);
        let original = extensions.find_map(|end| path.strip_suffix(end.as_bytes()));
        let known = original.and_then(|original| self.known().get(original));
        matches!(known.map(|known| known.found), Some(Found::File(_)))
    }

    fn known(&self) -> MutexGuard<'_, BoundedCache<Arc<[u8]>, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
