//! The precompressed siblings of one file: those that exist, and those that decode to the file's content.
//!
//! A sibling is an offer to save bytes and never a reason to withhold its original: what cannot be looked at,
//! opened, read or decoded, does not rest, hangs, or saves nothing, counts as absent. What has to wait is
//! done by [checks](crate::resource::sibling_check) side by side, and beside the reading of the original,
//! which then waits for them a moment at most.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_semantics::coding::ContentCoding;

use crate::alternative::Alternative;
use crate::cache::key::CacheKey;
use crate::error::Stop;
use crate::resource::cached_content::CachedContent;
use crate::resource::check_table::OngoingCheck;
use crate::resource::engine_state::EngineState;
use crate::resource::handles::Handles;
use crate::resource::locate::FoundFile;
use crate::resource::representations::Representations;
use crate::resource::sibling_check::{self, Subject};
use crate::resource::sibling_decode::{decode, is_worth_it, say, say_undecoded};
use crate::source::digest::{self, Decoded, Digest, Hashed};
use crate::source::identity::may_change_unseen;
use crate::source::snapshot::{ReadContext, steady};
use crate::source::{Identity, Kind, Patience, View};

/// The time that a load waits for checks of its siblings, besides twice the time that it took itself: a disk
/// that is slow with everything is not slow with siblings.
const MOMENT: Duration = Duration::from_millis(100);

/// The longest that a load waits for checks once it has nothing else to do.
const LONGEST: Duration = Duration::from_secs(1);

/// The length up to which a sibling is decoded by the load itself; beyond, a check does it.
const DECODED_AT_ONCE: u64 = 1024 * 1024;

/// The siblings of a load's file, as far as the load has learned about them.
pub(crate) struct Siblings<'a> {
    shared: &'a Arc<EngineState>,
    view: &'a Arc<dyn View>,
    mount: usize,
    context: ReadContext<'a>,
    /// The path that is loaded again if a sibling fits that was not waited for.
    key: Option<&'a CacheKey>,
    /// True if content may be kept.
    cached: bool,
    /// The checks that were begun to look.
    lookups: Vec<(ContentCoding, Arc<OngoingCheck>)>,
    /// Those that look for alternatives.
    alternatives: Vec<(Alternative, Arc<OngoingCheck>)>,
    /// The content that checks have read.
    contents: Vec<(Identity, CachedContent)>,
}

/// The verdict on a sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiblingVerdict {
    /// It decodes to the original; its own digest, if it is short enough to have one.
    Fits(Option<Digest>),
    /// It does not decode to the original.
    Differs,
    /// Not known yet: the sibling is not offered, and the next look asks again.
    Unknown,
}

impl<'a> Siblings<'a> {
    pub(crate) fn new(
        shared: &'a Arc<EngineState>,
        view: &'a Arc<dyn View>,
        mount: usize,
        context: ReadContext<'a>,
        key: Option<&'a CacheKey>,
        cached: bool,
    ) -> Self {
        Siblings {
            shared,
            view,
            mount,
            // Of a sibling a part is worth nothing.
            context: ReadContext {
                grows: false,
                ..context
            },
            key,
            cached,
            lookups: Vec::new(),
            alternatives: Vec::new(),
            contents: Vec::new(),
        }
    }

    pub(crate) fn shared(&self) -> &'a EngineState {
        self.shared
    }

    /// The number of the mount.
    pub(crate) fn mount(&self) -> usize {
        self.mount
    }

    /// True if a look is under way.
    pub(crate) fn are_awaited(&self) -> bool {
        !self.lookups.is_empty() || !self.alternatives.is_empty()
    }

    /// The content of the sibling of this version, if a check has read it.
    pub(crate) fn content(&self, identity: &Identity) -> Option<CachedContent> {
        let mut contents = self.contents.iter();
        contents.find_map(|(of, content)| (of == identity).then(|| content.clone()))
    }

    /// The patience with which siblings are looked for.
    fn patience(&self) -> Patience {
        match self.shared.pool.checks.are_performed() {
            true => Patience::MustNotWait,
            false => self.context.patience,
        }
    }

    /// Looks for the alternatives of a file, as for its siblings. What has none of its own is not asked for any.
    pub(crate) fn look_for_alternatives(&mut self, file: &mut FoundFile) -> Result<(), Stop> {
        for &alternative in &self.shared.config.negotiate {
            let Some(path) = alternative.path_for(&file.path) else {
                continue;
            };
            match self.view.stat(&path, self.patience()) {
                Ok(metadata) if metadata.kind == Kind::File => file.alternatives.push(alternative),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if self.context.patience == Patience::MustNotWait {
                        return Err(Stop::WouldWait);
                    }
                    let check = self.begin(file, path, ContentCoding::Identity, true);
                    self.alternatives
                        .extend(check.map(|check| (alternative, check)));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Looks for the siblings. A look that would have to wait is begun, for
    /// [`await_lookups`](Self::await_lookups) to await.
    pub(crate) fn look(&mut self, file: &mut FoundFile) -> Result<(), Stop> {
        let patience = self.patience();
        for &coding in &self.shared.config.precompressed {
            let path = file.path_of(coding);
            if !self.is_verifiable(&path, coding) {
                self.tell_of_undecoded(&path, coding);
                continue;
            }
            match self.view.stat(&path, patience) {
                Ok(metadata) if metadata.kind == Kind::File => {
                    file.siblings.push((coding, metadata.identity));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if self.context.patience == Patience::MustNotWait {
                        return Err(Stop::WouldWait);
                    }
                    let check = self.begin(file, path, coding, false);
                    self.lookups.extend(check.map(|check| (coding, check)));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// True if it can be found out what a sibling decodes to: this build decodes its coding, or its source
    /// knows the result. Any other could never be sent.
    fn is_verifiable(&self, path: &[u8], coding: ContentCoding) -> bool {
        let is_known = || {
            self.view
                .known(path)
                .is_some_and(|known| known.decoded.is_some())
        };
        digest::DECODED.contains(&coding) || is_known()
    }

    /// Tells the operator of the first sibling in a coding that this build does not decode. All of them are passed by,
    /// and a site that is sent without them is merely slow.
    fn tell_of_undecoded(&self, path: &[u8], coding: ContentCoding) {
        let log = &self.shared.pool.log;
        let is_there = || {
            let metadata = self.view.stat(path, self.patience());
            metadata.is_ok_and(|metadata| metadata.kind == Kind::File)
        };
        if log.looks_for_undecoded(coding) && is_there() && log.first_undecoded(coding) {
            say_undecoded(self.shared, path, coding);
        }
    }

    /// Awaits the looks that were begun.
    pub(crate) fn await_lookups(&mut self, file: &mut FoundFile) {
        for (coding, check) in &self.lookups {
            let looked = check.wait(self.until(check), self.key, |state| state.looked);
            let found = looked.flatten().map(|identity| (*coding, identity));
            file.siblings.extend(found);
        }
        for (alternative, check) in &self.alternatives {
            let looked = check.wait(self.until(check), self.key, |state| state.looked);
            file.alternatives
                .extend(looked.flatten().map(|_| *alternative));
        }
        let wanted = &self.shared.config.negotiate;
        file.alternatives
            .sort_by_key(|found| wanted.iter().position(|a| a == found));
        let codings = &self.shared.config.precompressed;
        let place = |coding: &ContentCoding| codings.iter().position(|c| c == coding);
        file.siblings.sort_by_key(|(coding, _)| place(coding));
    }

    /// The verdict on each sibling of `file`, whose digest is `original` if it has one.
    pub(crate) fn judge(
        &mut self,
        files: &Handles<'_>,
        file: &FoundFile,
        original: Option<Digest>,
    ) -> Result<Vec<SiblingVerdict>, Stop> {
        let mut verdicts = Vec::with_capacity(file.siblings.len());
        let mut checks = Vec::new();
        for (place, (coding, identity)) in file.siblings.iter().enumerate() {
            let verdict = match self.known(file, original, *coding, identity) {
                SiblingVerdict::Unknown if self.context.patience == Patience::MustNotWait => {
                    // Decoding takes longer than a loop has.
                    return Err(Stop::WouldWait);
                }
                SiblingVerdict::Unknown => match self.decode_now(files, file, *coding, identity) {
                    Ok(hashed) => self.verdict(file, original, *coding, identity, hashed),
                    Err(Stop::WouldWait) => {
                        let check = self.begin(file, file.path_of(*coding), *coding, false);
                        checks.extend(check.map(|check| (place, check)));
                        SiblingVerdict::Unknown
                    }
                    // Nobody else decodes it: one that was written a moment ago is worth the wait.
                    Err(Stop::RetryAfter(after)) if self.context.since.elapsed() < MOMENT => {
                        return Err(Stop::RetryAfter(after));
                    }
                    Err(stop) => {
                        if let Stop::Io(error) = stop {
                            let why = error.to_string().escape_debug().to_string();
                            say(self.shared, &file.path_of(*coding), *coding, &why);
                        }
                        SiblingVerdict::Unknown
                    }
                },
                verdict => verdict,
            };
            verdicts.push(verdict);
        }
        for (place, check) in &checks {
            check.wait(self.until(check), self.key, |_| None::<()>);
            if let (Some(verdict), Some((coding, identity))) =
                (verdicts.get_mut(*place), file.siblings.get(*place))
            {
                *verdict = self.known(file, original, *coding, identity);
            }
        }
        let lookups = self.lookups.iter().map(|(_, check)| check);
        for check in lookups.chain(checks.iter().map(|(_, check)| check)) {
            self.contents.extend(check.content());
        }
        Ok(verdicts)
    }

    /// True if the representations can stay although the verdict on siblings is unknown. Their checks are
    /// begun, if they are not under way, and not waited for.
    pub(crate) fn may_stay_undecided(&self, representations: &Representations) -> bool {
        if !self.shared.pool.checks.are_performed() {
            return false;
        }
        let file = &representations.found;
        let original = self.view.known(&file.path).map(|known| known.digest);
        let offered = |coding: ContentCoding| {
            representations
                .list
                .iter()
                .any(|r| r.coding.plain() == coding)
        };
        for (coding, identity) in file.siblings.iter().filter(|(coding, _)| !offered(*coding)) {
            match self.known(file, original, *coding, identity) {
                SiblingVerdict::Fits(_) => return false,
                SiblingVerdict::Differs => {}
                SiblingVerdict::Unknown => {
                    let path = file.path_of(*coding);
                    if let Some(check) = self.begin(file, path, *coding, false) {
                        check.wait(check.began, self.key, |_| None::<()>);
                    }
                }
            }
        }
        true
    }

    /// The verdict on a sibling without reading it.
    fn known(
        &self,
        file: &FoundFile,
        original: Option<Digest>,
        coding: ContentCoding,
        identity: &Identity,
    ) -> SiblingVerdict {
        if !is_worth_it(identity, &file.identity) {
            return SiblingVerdict::Differs;
        }
        let hashed = match self.view.known(&file.path_of(coding)) {
            Some(digest::KnownDigests {
                digest,
                decoded: Some(decoded),
            }) => Hashed {
                digest,
                decoded: Decoded::To(decoded),
            },
            _ if may_change_unseen(identity) => return SiblingVerdict::Unknown,
            _ => match self.shared.pool.digests.get(identity, coding) {
                Some(hashed) => hashed,
                None => return SiblingVerdict::Unknown,
            },
        };
        self.verdict(file, original, coding, identity, hashed)
    }

    /// The original's digest, which those that are too long to be hashed at once have once a check has.
    fn digest_of(&self, file: &FoundFile, original: Option<Digest>) -> Option<Digest> {
        let digests = &self.shared.pool.digests;
        let remembered = || digests.get(&file.identity, ContentCoding::Identity);
        original.or_else(|| {
            let hashed = remembered().filter(|_| !may_change_unseen(&file.identity))?;
            Some(hashed.digest)
        })
    }

    fn verdict(
        &self,
        file: &FoundFile,
        original: Option<Digest>,
        coding: ContentCoding,
        identity: &Identity,
        hashed: Hashed,
    ) -> SiblingVerdict {
        let fits = match self.digest_of(file, original) {
            Some(original) => hashed.fits(original, file.identity.length),
            None => match hashed.decoded {
                Decoded::To(_) => None,
                // Whatever the original is, this is not it.
                Decoded::Beyond(_) | Decoded::Nothing => {
                    hashed.is_of(file.identity.length).then_some(false)
                }
            },
        };
        match fits {
            Some(true) => {
                let short = identity.length <= self.shared.config.hash_up_to;
                SiblingVerdict::Fits(short.then_some(hashed.digest))
            }
            Some(false) => {
                let why = "it does not decode to the original";
                say(self.shared, &file.path_of(coding), (coding, *identity), why);
                SiblingVerdict::Differs
            }
            None => SiblingVerdict::Unknown,
        }
    }

    /// Decodes a sibling here, if that takes a moment at most or nobody else would.
    fn decode_now(
        &self,
        files: &Handles<'_>,
        file: &FoundFile,
        coding: ContentCoding,
        identity: &Identity,
    ) -> Result<Hashed, Stop> {
        let shared = self.shared;
        let mut context = self.context;
        if shared.pool.checks.are_performed() {
            if file.identity.length > DECODED_AT_ONCE.min(shared.config.hash_up_to) {
                return Err(Stop::WouldWait);
            }
            context.patience = Patience::MustNotWait;
        }
        let opened = files.open(&file.path_of(coding), identity, context)?;
        let length = file.identity.length;
        let (hashed, _) = decode(shared, &opened, coding, length, false, context, &|| true)?;
        if !may_change_unseen(identity) {
            shared.pool.digests.remember(identity, coding, hashed);
        }
        if length > shared.config.hash_up_to && self.digest_of(file, None).is_none() {
            let opened = files.open(&file.path, &file.identity, context)?;
            let digest = steady(&opened, context, |cursor| digest::of_reader(cursor))?;
            shared.pool.counters.bytes_loaded.add(length);
            let hashed = Hashed::plain(digest);
            shared
                .pool
                .digests
                .remember(&file.identity, ContentCoding::Identity, hashed);
        }
        Ok(hashed)
    }

    fn begin(
        &self,
        file: &FoundFile,
        path: Vec<u8>,
        coding: ContentCoding,
        looks_only: bool,
    ) -> Option<Arc<OngoingCheck>> {
        let subject = Subject {
            mount: self.mount,
            path,
            coding,
            looks_only,
            original: (file.path.clone(), file.identity),
            cached: self.cached,
        };
        sibling_check::begin(self.shared, self.view, subject)
    }

    /// The moment until which a check is waited for. One that began long ago hangs, most likely, and is not.
    fn until(&self, check: &OngoingCheck) -> Instant {
        let own = self.context.since.elapsed();
        (check.began + MOMENT + 2 * own).min(Instant::now() + LONGEST)
    }
}
