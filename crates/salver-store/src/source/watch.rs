//! The watch of a store in a bucket: a thread that asks for `current` once in a while, and at once if it is wanted.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use salver_assets::Patience;
use salver_assets::source::new_device;

use super::blobs::{NewerRelease, ReleaseWatch};
use super::bucket_blobs::BucketBlobs;
use super::into_io;
use super::manifests::Manifests;
use super::view::ReleaseView;
use crate::bucket::{Bucket, BucketObject, ObjectChange, ObjectVersion};
use crate::files::bundle::Bundle;
use crate::files::current::{Current, MOST_BYTES};
use crate::files::layout::CURRENT;
use crate::store::Store;

/// The shortest time between two looks, however many want one.
const SHORTEST: Duration = Duration::from_millis(100);

/// The shortest time between two looks, however often somebody says that there is something new.
const TOLD_SHORTEST: Duration = Duration::from_millis(20);

/// The time from the moment at which somebody says so to the look: a store that tells one node is about to tell the others, and
/// does that more slowly if those which know of it ask for the news meanwhile.
const TOLD_AFTER: Duration = Duration::from_millis(20);

/// The time after a switch for which what the new release has goes before what else there is in the store, of the first of
/// several nodes and of the last: all of them see the switch in the same moment, and are not to ask for the rest in one.
const REST_AFTER: Range<Duration> = Duration::from_millis(200)..Duration::from_millis(800);

/// The most time that somebody waits for a look who has something to answer without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The watch, and the thread that looks as long as this is there.
#[derive(Debug)]
pub(super) struct Watch(Arc<Watched>);

/// What is watched, and what was seen.
#[derive(Debug)]
pub(super) struct Watched {
    store: Store,
    manifests: Arc<Manifests>,
    bucket: Arc<dyn Bucket>,
    blobs: BucketBlobs,
    device: u64,
    /// The time between two looks; zero if each view is to have one of its own.
    period: Duration,
    state: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WatchState {
    latest: Option<Arc<ReleaseView>>,
    /// The version of `current` that this is of.
    version: Option<ObjectVersion>,
    /// The moment of the last switch and the time after it from which on it is looked at what else there is in the store, if it
    /// has not been since.
    rest: Option<(Instant, Duration)>,
    /// True if that was put off already, for somebody had said that there is something new.
    has_put_off: bool,
    /// The number of looks that have begun, and of those that have ended.
    begun: u64,
    ended: u64,
    is_wanted: bool,
    /// The moment at which somebody has said first that `current` has changed, if no look has begun since.
    told_at: Option<Instant>,
    /// Why the last look has found nothing, if it has not.
    failure: Option<Arc<io::Error>>,
    has_thread: bool,
    is_over: bool,
}

/// What a look has seen.
struct Seen {
    view: Arc<ReleaseView>,
    version: ObjectVersion,
    /// True if it has seen all of the store.
    is_whole: bool,
}

impl Watch {
    pub(super) fn new(
        store: Store,
        manifests: Arc<Manifests>,
        bucket: Arc<dyn Bucket>,
        revalidate: Duration,
    ) -> Self {
        Watch(Arc::new(Watched {
            store,
            manifests,
            blobs: BucketBlobs::new(Arc::clone(&bucket)),
            bucket,
            device: new_device(),
            // So that what a look brings is there before the time is over.
            period: revalidate * 7 / 8,
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// A view of the current release, as far as it is known. Only the first one waits.
    pub(super) fn current_view(&self, patience: Patience) -> io::Result<Arc<ReleaseView>> {
        let watched = &self.0;
        let mut state = watched.state();
        if !state.has_thread {
            let watched = Arc::clone(watched);
            let thread = thread::Builder::new().name("salver-releases".to_owned());
            thread.spawn(move || watched.run())?;
            state.has_thread = true;
        }
        let is_known = state.ended > 0 && !watched.period.is_zero();
        if !is_known && patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if !is_known {
            state = watched.wait(state, Duration::MAX);
        }
        match (&state.latest, &state.failure) {
            (Some(latest), _) => Ok(Arc::clone(latest)),
            (None, Some(failure)) => Err(io::Error::new(failure.kind(), failure.to_string())),
            (None, None) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Has a look made [a moment](TOLD_AFTER) from now: `current` has changed, as somebody says.
    pub(super) fn look_now(&self) {
        self.0.state().told_at.get_or_insert_with(Instant::now);
        self.0.changed.notify_all();
    }
}

impl WatchState {
    /// The time until the next look, so long after the beginning of the last one and after somebody has said that there is
    /// something new. One is made after each `period`; if that is zero, when it is wanted.
    fn left(
        &self,
        period: Duration,
        since_look: Duration,
        since_told: Option<Duration>,
    ) -> Duration {
        let pause = match (self.is_wanted, period.is_zero()) {
            (true, _) => SHORTEST.min(period),
            (false, true) => Duration::MAX,
            (false, false) => self.rest.map_or(period, |(_, after)| after.min(period)),
        };
        let left = pause.saturating_sub(since_look);
        since_told.map_or(left, |since_told| {
            let until_told = TOLD_AFTER.saturating_sub(since_told);
            until_told
                .max(TOLD_SHORTEST.saturating_sub(since_look))
                .min(left)
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Watched {
    /// Looks until nobody wants it any more.
    fn run(self: Arc<Self>) {
        let mut begun = None;
        while self.is_due(begun) {
            let now = Instant::now();
            begun = Some(now);
            let (version, is_wanted) = {
                let mut state = self.state();
                state.begun += 1;
                state.told_at = None;
                (state.version.clone(), mem::take(&mut state.is_wanted))
            };
            let looked = self.look(version.as_ref(), is_wanted);
            let mut state = self.state();
            state.ended = state.begun;
            self.note(&mut state, looked, now);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits until the next look is due; false if none is any more.
    fn is_due(&self, begun: Option<Instant>) -> bool {
        let mut state = self.state();
        loop {
            if state.is_over {
                return false;
            }
            let since_look = begun.map_or(Duration::MAX, |begun: Instant| begun.elapsed());
            let since_told = state.told_at.map(|told| told.elapsed());
            let left = state.left(self.period, since_look, since_told);
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// One look: the view that is there now, and its version; nothing if it is that of the version which is known.
    fn look(
        self: &Arc<Self>,
        known: Option<&ObjectVersion>,
        is_wanted: bool,
    ) -> io::Result<Option<Seen>> {
        let change = match known {
            Some(known) => self.bucket.get_if_changed(CURRENT, MOST_BYTES, known)?,
            None => match self.bucket.get(CURRENT, MOST_BYTES)? {
                Some(object) => ObjectChange::Changed(object),
                None => ObjectChange::Gone,
            },
        };
        let BucketObject { content, version } = match change {
            ObjectChange::Same => return self.look_at_rest(is_wanted),
            ObjectChange::Changed(object) => object,
            ObjectChange::Gone => {
                let what = "there is no release: `salver deploy DIR --to STORE` makes one";
                return Err(io::Error::new(io::ErrorKind::NotFound, what));
            }
        };
        let (current, bundle) = self.store.parse_current(&content).map_err(into_io)?;
        if let Some(Bundle { manifest, contents }) = bundle {
            self.manifests.bring(&current.release, manifest);
            self.blobs.bring(contents);
        }
        let before = self.state().latest.clone();
        let before = before.filter(|before| before.store().current.release != current.release);
        let is_switch = known.is_none() || before.is_some();
        // Where each view has a look of its own, there is none later.
        let before = before.filter(|_| !self.period.is_zero());
        let is_whole = before.is_none();
        let (store, manifests, blobs) = (&self.store, &*self.manifests, self.blobs_now());
        let view = match before {
            // At once, or one request after the switch, rather than after all others, too.
            Some(before) => before.succeeded_by(current, (store, manifests), blobs),
            None => ReleaseView::read(store, manifests, current, blobs, self.device),
        };
        let view = Arc::new(view.map_err(into_io)?);
        if is_switch {
            view.is_announced(&self.store);
        }
        Ok(Some(Seen {
            view,
            version,
            is_whole,
        }))
    }

    /// The view and the version that are known, with all that there is in the store, if that has not been looked at yet and is due
    /// or wanted: a look that an event brings may come a moment after the switch that it tells of.
    fn look_at_rest(self: &Arc<Self>, is_wanted: bool) -> io::Result<Option<Seen>> {
        let owed = {
            let state = self.state();
            let known = state.latest.clone().zip(state.version.clone());
            let is_due =
                |(switched, after): (Instant, Duration)| is_wanted || switched.elapsed() >= after;
            known.filter(|_| state.rest.is_some_and(is_due))
        };
        let Some((latest, version)) = owed else {
            return Ok(None);
        };
        let goes_before = || {
            let mut state = self.state();
            let is_told = state.told_at.is_some() && !state.has_put_off;
            state.has_put_off |= is_told;
            is_told
        };
        let from = (&self.store, &*self.manifests);
        let view = latest.with_rest(from, self.blobs_now(), goes_before);
        Ok(view.map_err(into_io)?.map(|view| Seen {
            view: Arc::new(view),
            version,
            is_whole: true,
        }))
    }

    fn blobs_now(self: &Arc<Self>) -> Box<BucketBlobs> {
        let watch = Arc::downgrade(self);
        Box::new(self.blobs.of(watch))
    }

    /// Notes what a look that began then has brought. Where it has failed, what is held stays.
    fn note(&self, state: &mut WatchState, looked: io::Result<Option<Seen>>, begun: Instant) {
        let place = self.store.path();
        match looked {
            Ok(seen) => {
                if state.failure.take().is_some() && state.latest.is_some() {
                    tracing::info!("{place:?}: it says again which release is current");
                }
                if let Some(seen) = seen {
                    (state.latest, state.version) = (Some(seen.view), Some(seen.version));
                    let after = any_of(&REST_AFTER).min(self.period);
                    state.rest = (!seen.is_whole).then_some((begun, after));
                    state.has_put_off = false;
                }
            }
            Err(error) => {
                let is_new = state.failure.is_none();
                match &state.latest {
                    Some(latest) if is_new => {
                        let release = &latest.store().current.release;
                        tracing::warn!(
                            "{place:?} does not say which release is current: {error}: {release} is served on, as far as it \
                             is held"
                        );
                    }
                    None if is_new && error.kind() != io::ErrorKind::NotFound => {
                        tracing::warn!("{place:?} does not say which release is current: {error}");
                    }
                    Some(_) | None => {}
                }
                state.failure = Some(Arc::new(error));
            }
        }
    }

    /// Has a look made that begins from now on, and waits for its end, for so long.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, WatchState>,
        most: Duration,
    ) -> MutexGuard<'a, WatchState> {
        // The first one serves all who come before its end.
        let wanted = match state.ended {
            0 if !self.period.is_zero() => 1,
            _ => state.begun + 1,
        };
        if state.begun < wanted {
            state.is_wanted = true;
            self.changed.notify_all();
        }
        let is_missing = |state: &mut WatchState| state.ended < wanted && !state.is_over;
        match most {
            Duration::MAX => {
                let waited = self.changed.wait_while(state, is_missing);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
            most => {
                let waited = self.changed.wait_timeout_while(state, most, is_missing);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time of these, each time another one.
fn any_of(times: &Range<Duration>) -> Duration {
    // A number that nobody can know, and which no secret depends on.
    let number = RandomState::new().build_hasher().finish() % 1000;
    let span = times.end.saturating_sub(times.start);
    times.start + span * u32::try_from(number).unwrap_or(0) / 1000
}

impl ReleaseWatch for Watched {
    fn newer(&self, than: &Current) -> Option<Arc<dyn NewerRelease>> {
        let latest = self.state().latest.clone()?;
        (latest.store().current != *than).then_some(latest as Arc<dyn NewerRelease>)
    }

    fn look_for(&self, patience: Patience) -> io::Result<Option<Arc<dyn NewerRelease>>> {
        let state = self.state();
        // Where the last look has failed nobody waits for another: what is held is all there is.
        if state.failure.is_some() || state.is_over {
            return Ok(None);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let latest = self.wait(state, PATIENCE).latest.clone();
        Ok(latest.map(|latest| latest as Arc<dyn NewerRelease>))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_made_in_time_and_not_too_often() {
        let of = |millis: u64| Duration::from_millis(millis);
        let check = |is_wanted, period, since_look, since_told: Option<u64>, expected| {
            let state = WatchState {
                is_wanted,
                ..WatchState::default()
            };
            let left = state.left(of(period), of(since_look), since_told.map(of));
            let told = format!("{is_wanted} {period} {since_look} {since_told:?}");
            assert_eq!(left, of(expected), "{told}");
        };
        check(false, 875, 0, None, 875);
        check(false, 875, 800, None, 75);
        check(false, 875, 900, None, 0);
        check(true, 875, 30, None, 70);
        check(true, 50, 30, None, 20);
        // Who is told waits until the others are, too, and not for another look.
        check(false, 875, 800, Some(0), 20);
        check(false, 875, 800, Some(15), 5);
        check(false, 875, 800, Some(30), 0);
        check(false, 875, 5, Some(30), 15);
        check(false, 875, 870, Some(0), 5);
        check(true, 875, 30, Some(0), 20);
        check(false, 5, 0, Some(0), 5);
        // Each view has a look of its own, and who is told makes no more of them.
        check(true, 0, 0, None, 0);
        check(false, 0, 30, Some(20), 0);
        let state = WatchState::default();
        assert!(state.left(Duration::ZERO, of(1000), None) > of(1_000_000));
        // After a switch the rest of the store is looked at before long.
        let state = WatchState {
            rest: Some((Instant::now(), of(300))),
            ..WatchState::default()
        };
        assert_eq!(state.left(of(875), of(0), None), of(300));
        assert_eq!(state.left(of(50), of(0), None), of(50));
        for _ in 0..100 {
            assert!(REST_AFTER.contains(&any_of(&REST_AFTER)));
        }
    }
}
