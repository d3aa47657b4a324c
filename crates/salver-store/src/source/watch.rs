//! The watch of a store in a bucket: a thread that asks for `current` once in a while, and at once if it is wanted.

use std::io;
use std::mem;
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
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The shortest time between two looks, however many want one.
const SHORTEST: Duration = Duration::from_millis(100);

/// The shortest time between two looks, however often somebody says that there is something new.
const TOLD_SHORTEST: Duration = Duration::from_millis(20);

/// The time after a switch for which what the new release has goes before what else there is in the store.
const REST_AFTER: Duration = Duration::from_millis(200);

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
    rest: Rest,
    /// True if a look at the rest was put off already, for somebody had said that there is something new.
    has_put_off: bool,
    /// The number of looks that have begun, and of those that have ended.
    begun: u64,
    ended: u64,
    is_wanted: bool,
    /// True if somebody has said that `current` has changed, and no look has begun since.
    is_told: bool,
    /// Why the last look has found nothing, if it has not.
    failure: Option<Arc<io::Error>>,
    has_thread: bool,
    is_over: bool,
}

/// What a look has seen.
struct Seen {
    view: Arc<ReleaseView>,
    version: ObjectVersion,
    rest: Rest,
}

/// What is known of a store besides the current release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rest {
    /// It was looked at together with the pointer, perhaps in the midst of a change: who clears up after somebody says so first.
    #[default]
    Seen,
    /// Something else may have changed since it was looked at, and it is looked at again from this moment on.
    Owed(Instant),
    /// It was looked at some time after a switch, and nothing but switches has come since.
    Settled,
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

    /// Has a look made at once, or [a moment](TOLD_SHORTEST) after the last one: `current` has changed, as somebody says.
    pub(super) fn look_now(&self) {
        self.0.state().is_told = true;
        self.0.changed.notify_all();
    }
}

impl WatchState {
    /// The time from the beginning of the last look to that of the next one, which is made after each `period`; if that is
    /// zero, when one is wanted.
    fn pause(&self, period: Duration) -> Duration {
        let pause = match (self.is_wanted, period.is_zero()) {
            (true, _) => SHORTEST.min(period),
            (false, true) => Duration::MAX,
            (false, false) if matches!(self.rest, Rest::Owed(_)) => REST_AFTER.min(period),
            (false, false) => period,
        };
        match self.is_told {
            true => TOLD_SHORTEST.min(pause),
            false => pause,
        }
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
                state.is_told = false;
                (state.version.clone(), mem::take(&mut state.is_wanted))
            };
            let looked = self.look(version.as_ref(), is_wanted, now);
            let mut state = self.state();
            state.ended = state.begun;
            self.note(&mut state, looked);
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
            let period = state.pause(self.period);
            let since = begun.map_or(Duration::MAX, |begun: Instant| begun.elapsed());
            if since >= period {
                return true;
            }
            let waited = self.changed.wait_timeout(state, period - since);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// One look, which begins now: the view that is there, and its version; nothing if it is that of the version which is known.
    fn look(
        self: &Arc<Self>,
        known: Option<&ObjectVersion>,
        is_wanted: bool,
        now: Instant,
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
        self.bring(bundle, &current.release);
        let (before, rest) = {
            let state = self.state();
            (state.latest.clone(), state.rest)
        };
        let before = before.filter(|before| before.store().current.release != current.release);
        let is_switch = known.is_none() || before.is_some();
        // Where each view has a look of its own, there is none later.
        let before = before.filter(|_| !self.period.is_zero());
        let rest = match &before {
            None => Rest::Seen,
            // The switch is all that has changed, as the number of changes says.
            Some(before)
                if rest == Rest::Settled && current.is_next_after(&before.store().current) =>
            {
                Rest::Settled
            }
            Some(_) => Rest::Owed(now + REST_AFTER.min(self.period)),
        };
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
            rest,
        }))
    }

    /// The view and the version that are known, with all that there is in the store, if that has not been looked at yet and is due
    /// or wanted: a look that an event brings may come a moment after the switch that it tells of.
    fn look_at_rest(self: &Arc<Self>, is_wanted: bool) -> io::Result<Option<Seen>> {
        let owed = {
            let state = self.state();
            let known = state.latest.clone().zip(state.version.clone());
            known.filter(|_| match state.rest {
                Rest::Owed(from) => is_wanted || Instant::now() >= from,
                Rest::Seen | Rest::Settled => false,
            })
        };
        let Some((latest, version)) = owed else {
            return Ok(None);
        };
        let goes_before = || {
            let mut state = self.state();
            let is_told = state.is_told && !state.has_put_off;
            state.has_put_off |= is_told;
            is_told
        };
        let from = (&self.store, &*self.manifests);
        let view = latest.with_rest(from, self.blobs_now(), goes_before);
        Ok(view.map_err(into_io)?.map(|view| Seen {
            view: Arc::new(view),
            version,
            rest: Rest::Settled,
        }))
    }

    /// Takes what comes with the pointer. All of it is in the store, too, for who gets none or a damaged one.
    fn bring(&self, bundle: &[u8], release: &ReleaseId) {
        if bundle.is_empty() {
            return;
        }
        match Bundle::parse(bundle, release) {
            Some(Bundle { manifest, contents }) => {
                self.manifests.bring(release, manifest);
                self.blobs.bring(contents);
            }
            None => {
                let path = self.store.place.within(CURRENT);
                tracing::warn!(
                    "{path:?}: what follows the name of {release} is damaged, and is asked for"
                );
            }
        }
    }

    fn blobs_now(self: &Arc<Self>) -> Box<BucketBlobs> {
        let watch = Arc::downgrade(self);
        Box::new(self.blobs.of(watch))
    }

    /// Notes what a look has brought. Where it has failed, what is held stays.
    fn note(&self, state: &mut WatchState, looked: io::Result<Option<Seen>>) {
        let place = self.store.path();
        match looked {
            Ok(seen) => {
                if state.failure.take().is_some() && state.latest.is_some() {
                    tracing::info!("{place:?}: it says again which release is current");
                }
                if let Some(seen) = seen {
                    (state.latest, state.version) = (Some(seen.view), Some(seen.version));
                    state.rest = seen.rest;
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
        let millis = Duration::from_millis;
        let check = |is_wanted, is_told, period, expected| {
            let state = WatchState {
                is_wanted,
                is_told,
                ..WatchState::default()
            };
            let pause = state.pause(period);
            assert_eq!(pause, expected, "{is_wanted} {is_told} {period:?}");
        };
        check(false, false, millis(875), millis(875));
        check(true, false, millis(875), SHORTEST);
        check(false, true, millis(875), TOLD_SHORTEST);
        check(true, true, millis(875), TOLD_SHORTEST);
        check(true, false, millis(50), millis(50));
        check(false, true, millis(5), millis(5));
        // Each view has a look of its own, and who is told makes no more of them.
        check(false, false, Duration::ZERO, Duration::MAX);
        check(true, false, Duration::ZERO, Duration::ZERO);
        check(false, true, Duration::ZERO, TOLD_SHORTEST);
        // What is owed is looked at before long.
        let state = WatchState {
            rest: Rest::Owed(Instant::now()),
            ..WatchState::default()
        };
        assert_eq!(state.pause(millis(875)), REST_AFTER);
        assert_eq!(state.pause(millis(50)), millis(50));
    }
}
