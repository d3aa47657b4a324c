//! Lookups of paths: each path is asked for once however many want it, and what was found serves for a moment.

mod ahead;
mod by_page;
mod recall;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use object_store::path::Path;
use salver_assets::source::new_device;
use salver_assets::{ContentCoding, Patience};

use crate::bounded_cache::BoundedCache;
use crate::bucket::{self, Bucket, Looked};
use crate::bucket_tier::BucketTier;
use crate::circuit::FAILS_FOR;
use crate::clock::Clock;
use crate::failure::{Failure, is_for_a_while};
use crate::floors::Floors;
use crate::freshness::{Freshness, Times};
use crate::key::Prefix;
use crate::object::Object;
use crate::outage::Outage;
use crate::pages::Pages;
use crate::runtime::{Flight, Flights, LazyRuntime};
use crate::settings::{Settings, WHOLE_UP_TO};
use crate::slices::Slices;
use crate::tier::Absent;

/// The bytes that a known path takes besides its own.
const OVERHEAD: usize = 512;

/// The time for which somebody waits for the bucket where something older is at hand, if it does not answer.
const SOON: Duration = Duration::from_secs(2);

/// The time after a failure at which the next comparison in the background is due.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(1);

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
    /// The moment at which it could last not be compared, if that failed since.
    failed: Option<Instant>,
    /// True if somebody has said that it has changed, so that it is only good for being compared.
    is_invalid: bool,
}

impl Known {
    /// Notes that it was the same when it was asked for then; false if it has to be looked at by itself.
    fn confirm(&mut self, asked: Instant) -> bool {
        if !self.is_invalid {
            self.asked = self.asked.max(asked);
            self.failed = None;
        }
        !self.is_invalid
    }
}

/// What is told of a path, and how long ago that was found: nothing if just now.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) found: Found,
    pub(crate) age: Duration,
}

/// The answer to a question what is at a path.
pub(crate) enum Answer {
    Told(Told),
    /// It would be waited for. The flight is that of the look that was begun for who asks, if one was.
    UnderWay(Option<Flight<Found>>),
}

type LookupResult = Result<Found, Failure>;

/// The lookups of a source.
#[derive(Debug)]
pub(crate) struct Lookups {
    bucket: Arc<Bucket>,
    runtime: Arc<LazyRuntime>,
    /// The runtime that pages are read on: it takes milliseconds, for which no look is to wait.
    page_runtime: LazyRuntime,
    slices: Arc<Slices>,
    tier: BucketTier,
    prefix: Prefix,
    device: u64,
    times: Times,
    is_immutable: bool,
    clock: Clock,
    outage: Outage,
    known: Mutex<BoundedCache<Arc<[u8]>, Known>>,
    floors: Mutex<Floors<Instant>>,
    /// The same of what is told for a while yet, as if its time had come.
    due: Mutex<Floors<Instant>>,
    flights: Flights<Arc<[u8]>, Found>,
    pages: Mutex<Pages>,
}

impl Lookups {
    pub(crate) fn new(
        bucket: Arc<Bucket>,
        runtime: Arc<LazyRuntime>,
        (slices, tier): (Arc<Slices>, BucketTier),
        (prefix, place): (Prefix, &str),
        settings: &Settings,
    ) -> Self {
        // Somebody would wait for it, or nothing is ever compared.
        let is_alone = settings.stale_while_revalidate.is_zero() || settings.is_immutable;
        let pages = Pages::new(settings.revalidate, bucket.has_pages() && !is_alone);
        Lookups {
            bucket,
            runtime,
            page_runtime: LazyRuntime::apart(),
            slices,
            tier,
            prefix,
            device: new_device(),
            times: Times {
                reuse: settings.reuse(),
                revalidate: settings.revalidate,
                stale_while_revalidate: settings.stale_while_revalidate,
                stale_if_error: settings.stale_if_error,
            },
            is_immutable: settings.is_immutable,
            clock: settings.clock.clone(),
            outage: Outage::new(place),
            known: Mutex::new(BoundedCache::new(settings.lookup_memory)),
            floors: Mutex::new(Floors::within(0)),
            due: Mutex::new(Floors::within(0)),
            flights: Flights::new(Err(Failure::given_up())),
            pages: Mutex::new(pages),
        }
    }

    /// The device number of all files of the source.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// What is at a path now, or was a while ago: it is compared in the background where that does for the moment.
    ///
    /// # Errors
    /// Why the bucket does not say.
    pub(crate) fn find(self: &Arc<Self>, path: &[u8], patience: Patience) -> io::Result<Answer> {
        let now = |found| {
            Ok(Answer::Told(Told {
                found,
                age: Duration::ZERO,
            }))
        };
        if path.is_empty() {
            return now(Found::Directory);
        }
        let Some(key) = self.prefix.key(path) else {
            return now(Found::Nothing);
        };
        let mut known = self.known().get(path);
        if known.is_none() {
            known = self.recall(path, patience);
        }
        if let Some(found) = known.as_ref().and_then(|known| self.never_changes(known)) {
            return now(found);
        }
        let told = known.as_ref().map(|known| Told {
            found: known.found.clone(),
            age: self.age(path, known),
        });
        let freshness = known.as_ref().zip(told.as_ref());
        let freshness = freshness.map_or(Freshness::Expired, |(known, told)| {
            if known.is_invalid || !self.floors().permit(path, known.asked) {
                return Freshness::Expired;
            }
            // What is not there yet may come at any time, and is needed then.
            if self.is_immutable && told.age >= self.times.reuse {
                return Freshness::Expired;
            }
            let failed = known.failed.map(|failed| self.clock.since(failed));
            let fails = failed.is_some_and(|since| since < FAILS_FOR) || !self.bucket.is_well();
            self.times.freshness(told.age, fails)
        });
        let look = |flight| {
            let (lookups, path) = (Arc::clone(self), Arc::<[u8]>::from(path));
            async move { lookups.look_unless_known(path, None, &flight).await }
        };
        if matches!(freshness, Freshness::Fresh | Freshness::Stale) {
            self.want(&key, path);
        }
        match (freshness, told) {
            (Freshness::Fresh, Some(told)) => {
                self.outage.say_if_over(|| self.bucket.is_well());
                Ok(Answer::Told(told))
            }
            (Freshness::Stale, Some(told)) => {
                if !self.times.is_little(told.age) {
                    self.outage.say(self.clock.now());
                }
                // Nobody waits for it: who asks next sees what became of it.
                if let Some(known) = known.filter(|known| self.is_due(known)) {
                    self.compare_in_background((&key, path), known.asked);
                }
                Ok(Answer::Told(told))
            }
            (freshness, _) if patience == Patience::MustNotWait => {
                // A loop starts it, whose priority its thread has: it holds locks that loops wait for.
                drop(self.runtime.handle());
                let flight = self.begin_look(&key, path);
                // Where something older is at hand, nobody waits for as long as that may take.
                let is_all = freshness == Freshness::Expired;
                Ok(Answer::UnderWay(flight.filter(|_| is_all)))
            }
            (Freshness::StaleIfError, Some(told)) => {
                match self.runtime.once_within(&self.flights, path, SOON, look) {
                    Ok(Some(found)) => now(found),
                    Ok(None) => {
                        // So that nobody else waits as long, for whatever else is held.
                        self.bucket.note_silence();
                        self.note_failure(path, &Failure::too_slow());
                        self.outage.say(self.clock.now());
                        Ok(Answer::Told(told))
                    }
                    Err(error) if is_for_a_while(error.kind()) => {
                        self.outage.say(self.clock.now());
                        Ok(Answer::Told(told))
                    }
                    Err(error) => Err(error),
                }
            }
            _ => now(self.runtime.once(&self.flights, path, look)?),
        }
    }

    /// The file that is known, if it stays as it is for as long as it is there.
    fn never_changes(&self, known: &Known) -> Option<Found> {
        let is_file = matches!(known.found, Found::File(_));
        (self.is_immutable && is_file).then(|| known.found.clone())
    }

    /// Lets go of what is known of a path: it has proved to be no longer so.
    pub(crate) fn forget(&self, path: &[u8]) {
        self.known().forget(path);
        if let Some(key) = self.prefix.key(path) {
            self.pages().forget(key.as_ref());
            self.tier.forget(path, &key);
        }
    }

    /// Has a path compared before anything is told of it again.
    pub(crate) fn invalidate(&self, path: &[u8]) {
        // One floor for each would soon be one for all.
        self.flights.forget(|flight| **flight == *path);
        // Before what is known is marked: what is recalled of it meanwhile is compared with the tier once it is known.
        if let Some(key) = self.prefix.key(path) {
            self.tier.invalidate(path, &key);
        }
        if let Some(known) = self.known().get_mut(path) {
            known.is_invalid = true;
        }
    }

    /// The same for all paths that begin so.
    pub(crate) fn invalidate_prefix(&self, prefix: &[u8]) {
        self.flights.forget(|flight| flight.starts_with(prefix));
        let now = self.clock.now();
        let told_for = self.times.longest();
        let mut floors = self.floors();
        if let Some(long_ago) = now.checked_sub(told_for) {
            floors.forget(b"", long_ago);
        }
        floors.raise(prefix, now);
        drop(floors);
        self.tier.invalidate_prefix(prefix, told_for);
    }

    /// How long ago what is known of a path was asked for: where it is due, longer than it may be without being stale.
    fn age(&self, path: &[u8], known: &Known) -> Duration {
        let age = self.clock.since(known.asked);
        match hold(&self.due).permit(path, known.asked) {
            true => age,
            false => age.max(
                self.times
                    .revalidate
                    .saturating_add(Duration::from_nanos(1)),
            ),
        }
    }

    fn floors(&self) -> MutexGuard<'_, Floors<Instant>> {
        hold(&self.floors)
    }

    /// True unless a comparison has just failed.
    fn is_due(&self, known: &Known) -> bool {
        let failed = known.failed.map(|failed| self.clock.since(failed));
        failed.is_none_or(|since| since >= TRIED_AGAIN_AFTER)
    }

    /// Notes that what is known of a path could not be compared.
    fn note_failure(&self, path: &[u8], failure: &Failure) {
        self.outage.failed(failure);
        if let Some(known) = self.known().get_mut(path) {
            known.failed = Some(self.clock.now());
        }
    }

    /// Looks at a path, unless somebody has just done so: between this one's look and its start.
    async fn look_unless_known(
        &self,
        path: Arc<[u8]>,
        ahead: Option<bucket::Turn>,
        flight: &Flight<Found>,
    ) -> LookupResult {
        let known = self.known().get(&*path);
        if let Some(found) = known.as_ref().and_then(|known| self.never_changes(known)) {
            return Ok(found);
        }
        let lately = known.filter(|known| {
            let is_valid = !known.is_invalid && self.floors().permit(&path, known.asked);
            is_valid && self.age(&path, known) < self.times.reuse
        });
        if let Some(known) = lately {
            if let Some(turn) = ahead {
                self.bucket.give_back(turn);
            }
            return Ok(known.found);
        }
        let found = self.look(Arc::clone(&path), ahead, flight).await;
        match &found {
            Err(failure) if failure.is_for_a_while() => self.note_failure(&path, failure),
            // What may not be seen any more is not told either. All else is wrong with the store, perhaps for a minute.
            Err(failure) if failure.kind == io::ErrorKind::PermissionDenied => self.forget(&path),
            Err(_) | Ok(_) => {}
        }
        found
    }

    async fn look(
        &self,
        path: Arc<[u8]>,
        ahead: Option<bucket::Turn>,
        flight: &Flight<Found>,
    ) -> LookupResult {
        let Some(key) = self.prefix.key(&path) else {
            return Ok(Found::Nothing);
        };
        let (asked, at) = (self.clock.now(), self.clock.system_now());
        let known = match self.known().get(&*path) {
            Some(Known {
                found: Found::File(object),
                ..
            }) => Some(object),
            _ => None,
        };
        let looked = self
            .bucket
            .look(&key, known.as_deref(), self.device, ahead)
            .await?;
        let found = match (looked, known) {
            (Looked::Same, Some(object)) => {
                if !self.tier.confirm(&object, at) {
                    let content = self.slices.whole(&object);
                    // Without its content a short one would be of no use.
                    if content.is_some() || object.length() > WHOLE_UP_TO {
                        self.tier.keep_object(&path, &object, content, at);
                    }
                }
                Found::File(object)
            }
            (Looked::Object(object, content), _) => {
                let object = Arc::new(object);
                self.tier.keep_object(&path, &object, content.clone(), at);
                if let Some(content) = content {
                    self.slices.keep_whole(&object, content);
                }
                Found::File(object)
            }
            (Looked::Nothing | Looked::Same, _) => {
                let may_be_directory = !self.is_beside_its_original(&path);
                let (found, absent) =
                    match may_be_directory && self.bucket.has_beneath(&key).await? {
                        true => (Found::Directory, Absent::Directory),
                        false => (Found::Nothing, Absent::Nothing),
                    };
                self.tier.note_absent(&path, &key, absent, at);
                found
            }
        };
        let known = Known {
            found: found.clone(),
            asked,
            failed: None,
            is_invalid: false,
        };
        self.keep((&key, Arc::clone(&path)), known, Some(flight));
        if flight.is_outdated() {
            // What was handed over to it has the time of before.
            self.tier.invalidate(&path, &key);
        }
        Ok(found)
    }

    /// Keeps what is known of a path by a look of this flight, unless what is known was asked for later; gives what is known then.
    /// If the path was invalidated since the flight began, that may have been answered before.
    fn keep(
        &self,
        (key, path): (&Path, Arc<[u8]>),
        mut known: Known,
        flight: Option<&Flight<Found>>,
    ) -> Known {
        let of_object = match &known.found {
            Found::File(object) => object.weight(),
            Found::Directory | Found::Nothing => 0,
        };
        let weight = path
            .len()
            .saturating_add(of_object)
            .saturating_add(OVERHEAD);
        // Before it is kept: what goes at once goes from there, too.
        self.note_held(key, &path);
        let gone = {
            let mut all = self.known();
            if let Some(newer) = all.get(&*path).filter(|newer| newer.asked > known.asked) {
                return newer;
            }
            // Under the lock by which what is known is marked once its flights are forgotten.
            known.is_invalid |= flight.is_some_and(Flight::is_outdated);
            all.insert(path, known.clone(), weight)
        };
        for key in gone.iter().filter_map(|path| self.prefix.key(path)) {
            self.pages().forget(key.as_ref());
        }
        known
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
        hold(&self.known)
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
