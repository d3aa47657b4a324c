//! The check of one precompressed sibling by a thread of its own, so that its original waits for it a moment
//! at most.
//!
//! ```text
//!                begin            a thread performs it, or it is dropped
//! (no check) ───────────► waits ───────► looked ───────► ended: a verdict among the digests, or none
//!                           │              │                │
//!                           └──────────────┴─ a load that does not wait any longer leaves its path:
//!                                             what is kept there is loaded again if the sibling fits
//! ```
//!
//! A file system may take as long as it likes for a sibling, or for ever: see the
//! [table](super::check_table).

use std::sync::{Arc, Weak};

use salver_semantics::coding::ContentCoding;

use crate::error::Stop;
use crate::resource::check_table::{OngoingCheck, SiblingCheck};
use crate::resource::engine_state::EngineState;
use crate::resource::handles::Handles;
use crate::resource::sibling_decode::{WhileWanted, decode, is_worth_it, say};
use crate::source::digest::{Decoded, Hashed, of_reader};
use crate::source::identity::{changed_within, may_change_unseen};
use crate::source::snapshot::{FirstSeen, ReadContext, steady};
use crate::source::{Identity, Kind, Metadata, Patience, View};
use crate::strategy::{Way, way};

/// The sibling that is checked, and the original that it is compared with.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) mount: usize,
    /// The path of the sibling.
    pub(super) path: Vec<u8>,
    pub(super) coding: ContentCoding,
    /// The path and the identity of the original.
    pub(super) original: (Vec<u8>, Identity),
    /// True if its content may be kept.
    pub(super) cached: bool,
    /// True if all that is wanted is whether it is there: it is an alternative, of which nothing is decoded.
    pub(super) looks_only: bool,
}

/// The check of `subject`: the one that is under way already, or a new one; `None` if there are too many.
pub(super) fn begin(
    shared: &Arc<EngineState>,
    view: &Arc<dyn View>,
    subject: Subject,
) -> Option<Arc<OngoingCheck>> {
    let mount = shared.number_in_pool(subject.mount);
    let path = subject.path.clone();
    shared.pool.checks.begin(mount, &path, |check| {
        let examination = Examination {
            shared: Arc::downgrade(shared),
            view: Arc::clone(view),
            subject,
            check,
        };
        SiblingCheck::new(mount, path.clone(), move || examination.perform())
    })
}

/// The work of a check. Dropping it ends the check without a verdict.
struct Examination {
    /// Weak, so that a check keeps no engine alive that has no other user.
    shared: Weak<EngineState>,
    view: Arc<dyn View>,
    subject: Subject,
    check: Arc<OngoingCheck>,
}

impl Examination {
    fn perform(self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let hashed = match self.examine(&shared) {
            Ok(hashed) => hashed,
            Err(stop) => {
                if let Stop::Io(error) = stop {
                    let Subject { path, coding, .. } = &self.subject;
                    let why = error.to_string();
                    say(&shared, path, *coding, &why.escape_debug().to_string());
                }
                None
            }
        };
        let mount = shared.number_in_pool(self.subject.mount);
        // Nothing has been sent for want of this verdict if it says no.
        let fits = hashed.is_some_and(|hashed| self.may_fit(&shared, &hashed))
            || self.subject.looks_only && self.check.has_found();
        shared
            .pool
            .checks
            .remove(mount, &self.subject.path, &self.check);
        for key in self.check.end().into_iter().filter(|_| fits) {
            (shared.reload)(&shared, key);
        }
    }

    /// The digests of the sibling; `None` if they are not to be found out now.
    fn examine(&self, shared: &Arc<EngineState>) -> Result<Option<Hashed>, Stop> {
        let Subject {
            mount,
            path,
            coding,
            original: (original, of),
            ..
        } = &self.subject;
        let is_file = |metadata: &Metadata| metadata.kind == Kind::File;
        let found = self.view.stat(path, Patience::MayWait).ok();
        let found = found.filter(is_file).map(|found| found.identity);
        self.check.advance(|state| state.looked = Some(found));
        if self.subject.looks_only {
            return Ok(None);
        }
        let Some(identity) = found.filter(|found| is_worth_it(found, of)) else {
            return Ok(None);
        };
        // Of what may change unseen nothing is remembered.
        if may_change_unseen(&identity) || may_change_unseen(of) {
            return Ok(None);
        }
        let large = of.length > shared.config.hash_up_to;
        if let Some(hashed) = shared.pool.digests.get(&identity, *coding)
            && hashed.is_of(of.length)
            && (!large || self.of_original(shared).is_some())
        {
            return Ok(Some(hashed));
        }
        let is_unsettled = |identity| changed_within(identity, shared.config.settle_time);
        // Who compresses it may take a while yet, and it would be read in vain each time.
        if large && (is_unsettled(&identity) || is_unsettled(of)) {
            return Ok(None);
        }
        let turn = large.then(|| {
            shared
                .pool
                .checks
                .begin_large(shared.number_in_pool(*mount))
        });
        if matches!(turn, Some(None)) {
            return Ok(None);
        }
        let files = Handles::new(&*self.view);
        let first_seen = FirstSeen::default();
        let context = ReadContext::patient(&first_seen);
        let opened = files.open(path, &identity, context)?;
        let keeps = way(&shared.situation(&identity, self.subject.cached)) == Way::Read;
        let goes_on = || {
            if let Some(Some(turn)) = &turn {
                turn.progress();
            }
            self.shared.strong_count() > 1
        };
        let decode = || {
            decode(
                shared, &opened, *coding, of.length, keeps, context, &goes_on,
            )
        };
        let (hashed, content) = match decode() {
            // One that was written a moment ago is worth a moment; what is still being written is not.
            Err(Stop::RetryAfter(after)) => {
                std::thread::sleep(after);
                decode()?
            }
            decoded => decoded?,
        };
        shared.pool.digests.remember(&identity, *coding, hashed);
        if let Some(content) = content {
            let content = Some((identity, content));
            self.check.advance(|state| state.content = content);
        }
        if large && matches!(hashed.decoded, Decoded::To(_)) && self.of_original(shared).is_none() {
            let opened = files.open(original, of, context)?;
            let digest = steady(&opened, context, |cursor| {
                of_reader(&mut WhileWanted(cursor, &goes_on))
            })?;
            shared.pool.counters.bytes_loaded.add(of.length);
            let hashed = Hashed::plain(digest);
            shared
                .pool
                .digests
                .remember(of, ContentCoding::Identity, hashed);
        }
        Ok(Some(hashed))
    }

    fn of_original(&self, shared: &EngineState) -> Option<Hashed> {
        let (_, of) = &self.subject.original;
        shared.pool.digests.get(of, ContentCoding::Identity)
    }

    /// True if `hashed` is the original's, as far as that is known by now.
    fn may_fit(&self, shared: &EngineState, hashed: &Hashed) -> bool {
        let (original, of) = &self.subject.original;
        let known = self.view.known(original).map(|known| known.digest);
        let known = known.or_else(|| self.of_original(shared).map(|known| known.digest));
        match known {
            Some(digest) => hashed.fits(digest, of.length) == Some(true),
            None => matches!(hashed.decoded, Decoded::To(_)),
        }
    }
}

impl Drop for Examination {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let Subject { mount, path, .. } = &self.subject;
            let mount = shared.number_in_pool(*mount);
            shared.pool.checks.remove(mount, path, &self.check);
        }
        self.check.end();
    }
}
