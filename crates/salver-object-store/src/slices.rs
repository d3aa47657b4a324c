//! Slices of objects: aligned ranges, each asked for once however many want it, and kept within a budget.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use salver_assets::Patience;
use salver_coalesce::Joined;

use crate::bounded_cache::BoundedCache;
use crate::bucket::Bucket;
use crate::bucket_tier::BucketTier;
use crate::failure::Failure;
use crate::object::Object;
use crate::runtime::{Flights, LazyRuntime, Place};
use crate::settings::Settings;

/// The bytes that a slice takes besides its own.
const OVERHEAD: usize = 128;

/// The key of a slice: the version of its object, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SliceKey {
    object: u64,
    number: u64,
}

impl From<&SliceKey> for SliceKey {
    fn from(key: &SliceKey) -> Self {
        *key
    }
}

type SliceResult = Result<Bytes, Failure>;

/// The slices of all objects of a source. Those of one version are of it alone: a key never gets other bytes.
#[derive(Debug)]
pub(crate) struct Slices {
    bucket: Arc<Bucket>,
    runtime: Arc<LazyRuntime>,
    tier: BucketTier,
    size: u64,
    kept: Mutex<BoundedCache<SliceKey, Bytes>>,
    flights: Flights<SliceKey, Bytes>,
}

impl Slices {
    pub(crate) fn new(
        bucket: Arc<Bucket>,
        runtime: Arc<LazyRuntime>,
        tier: BucketTier,
        settings: &Settings,
    ) -> Self {
        Slices {
            bucket,
            runtime,
            tier,
            size: settings.slice_size,
            kept: Mutex::new(BoundedCache::new(settings.slice_memory)),
            flights: Flights::new(Err(Failure::given_up())),
        }
    }

    /// The length of all slices but the last of an object, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Keeps the whole content of a short object, which is its only slice.
    pub(crate) fn keep_whole(&self, object: &Object, content: Bytes) {
        self.keep(key(object, 0), content);
    }

    /// The whole content of a short object, if it is in memory.
    pub(crate) fn whole(&self, object: &Object) -> Option<Bytes> {
        self.kept().get(&key(object, 0))
    }

    /// A slice of an object. Whoever may wait has it asked for, or waits with those who do.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not, `NotFound` if that version is there no more; else why it cannot be
    /// had.
    pub(crate) fn slice(
        self: &Arc<Self>,
        object: &Arc<Object>,
        number: u64,
        patience: Patience,
    ) -> io::Result<Bytes> {
        let key = key(object, number);
        if let Some(bytes) = self.kept().get(&key) {
            return Ok(bytes);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if let Some(bytes) = self.tier.slice(object, number) {
            self.keep(key, bytes.clone());
            return Ok(bytes);
        }
        let fetch = |_| Arc::clone(self).fetch(Arc::clone(object), number);
        self.runtime.once(&self.flights, &key, fetch)
    }

    /// Has a slice asked for that will be wanted soon, unless others need the turn.
    pub(crate) fn prefetch(self: &Arc<Self>, object: &Arc<Object>, number: u64) {
        let key = key(object, number);
        if self.kept().contains(&key) || !self.bucket.may_fetch_ahead() {
            return;
        }
        if let Joined::Leader(leader) = self.flights.join(&key) {
            // Whoever needs it finds out why it cannot be had.
            let ahead = Arc::clone(self).fetch_ahead(Arc::clone(object), number);
            let _ = self.runtime.lead(Place::Thread, leader, ahead);
        }
    }

    /// True if all slices that a range touches are kept.
    pub(crate) fn has(&self, object: &Object, range: &Range<u64>) -> bool {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            return true;
        };
        let kept = self.kept();
        let mut numbers = range.start / self.size..=last / self.size;
        numbers.all(|number| kept.contains(&key(object, number)))
    }

    /// Takes a slice from the tier, or asks for it, and keeps it.
    async fn fetch_ahead(self: Arc<Self>, object: Arc<Object>, number: u64) -> SliceResult {
        if self.tier.is_there() {
            let (tier, of) = (self.tier.clone(), Arc::clone(&object));
            let read = tokio::task::spawn_blocking(move || tier.slice(&of, number));
            if let Ok(Some(bytes)) = read.await {
                self.keep(key(&object, number), bytes.clone());
                return Ok(bytes);
            }
        }
        self.fetch(object, number).await
    }

    /// Asks for a slice, and keeps it.
    async fn fetch(self: Arc<Self>, object: Arc<Object>, number: u64) -> SliceResult {
        let key = key(&object, number);
        // It came between the look and the start.
        let known = self.kept().get(&key);
        let result = match known {
            Some(bytes) => Ok(bytes),
            None => {
                let start = number.saturating_mul(self.size);
                let end = object.length().min(start.saturating_add(self.size));
                let fetched = self.bucket.fetch(&object, start..end).await;
                if let Ok(bytes) = &fetched {
                    self.tier.keep_slice(&object, number, bytes.clone());
                }
                fetched
            }
        };
        if let Ok(bytes) = &result {
            self.keep(key, bytes.clone());
        }
        result
    }

    fn keep(&self, key: SliceKey, bytes: Bytes) {
        let weight = bytes.len().saturating_add(OVERHEAD);
        self.kept().insert(key, bytes, weight);
    }

    fn kept(&self) -> MutexGuard<'_, BoundedCache<SliceKey, Bytes>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(object: &Object, number: u64) -> SliceKey {
    SliceKey {
        object: object.number(),
        number,
    }
}
