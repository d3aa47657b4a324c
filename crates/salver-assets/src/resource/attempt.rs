//! One attempt of a load: locate the file, compare it with what is known, and read or open what is wanted.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use salver_semantics::ContentCoding;

use crate::cache::bounded::Cached;
use crate::config::Mount;
use crate::error::{LoadError, Stop, is_absence, too_many_files};
use crate::path::path_of_key;
use crate::resource::build::{HeadRules, Original, build};
use crate::resource::cached_content::CachedContent;
use crate::resource::entry::{CacheEntry, EntryRules, Resource};
use crate::resource::handles::{Handles, read};
use crate::resource::in_flight::LoadResult;
use crate::resource::listed_page::ListedPage;
use crate::resource::load::{Attempted, Load, PausedAttempt, RefusedAttempt};
use crate::resource::locate::Found;
use crate::resource::made_codings;
use crate::resource::rendered_page::{self, PageState};
use crate::resource::representation::{Representation, TagBasis};
use crate::resource::resolve::Looked;
use crate::resource::siblings::Siblings;
use crate::source::digest;
use crate::source::growth::Sample;
use crate::source::snapshot::{ReadContext, settle};
use crate::source::{Identity, Opened, Patience, Reader, View};
use crate::strategy::{Way, way};

impl Load {
    /// Makes one attempt. `looked` is set once it is known what is at the path.
    pub(super) fn attempt(
        &self,
        context: ReadContext<'_>,
        began: Duration,
        looked: &Cell<bool>,
    ) -> Result<Attempted, Stop> {
        if let Some(page) = &self.listed {
            looked.set(true);
            let page = self.listed_page(page, began, context.patience)?;
            return Ok(Attempted::now(page, began));
        }
        let paused = self.retry.paused.take();
        let paused = paused.filter(|paused| paused.is_still());
        let goes_on = paused.is_some();
        let (mut look, opened) = match paused {
            Some(paused) => (paused.looked, paused.opened),
            None => {
                let Some(mount) = self.shared.mounts.get(self.mount) else {
                    let given_up = LoadResult::Failed(LoadError::GivenUp);
                    return Ok(Attempted::now(given_up, began));
                };
                let refused = self.retry.refused.take();
                let view = match refused.map_or_else(
                    || mount.source.view(context.patience),
                    |refused| Ok(refused.view),
                ) {
                    // A tree that has gone holds nothing.
                    Err(error) if is_absence(&error) => {
                        let previous = self.previous.as_ref().map(|previous| &previous.entry);
                        let rules = previous.map(|entry| entry.rules.clone());
                        let missing = (Resource::Missing, rules.unwrap_or_default());
                        let missing = self.without_content(&Found::Missing, missing, began);
                        return Ok(Attempted::now(missing, began));
                    }
                    view => view?,
                };
                match self.look(mount, Arc::clone(&view), context, began) {
                    Ok(Some(look)) => (look, Vec::new()),
                    Ok(None) => return Ok(Attempted::now(LoadResult::Outdated, began)),
                    Err(stop) => return Err(self.refused(view, context, began, stop)),
                }
            }
        };
        let view = Arc::clone(&look.view);
        let files = Handles::with(&*view, opened);
        let mut is_whole = goes_on;
        let result = self.result_for(&mut look, &files, context, &mut is_whole);
        if is_whole {
            looked.set(true);
        }
        let rules_since = look.began;
        if let (Err(Stop::RetryAfter(_)), Some(_)) = (&result, look.found.file())
            && is_whole
        {
            let opened = files.into_opened();
            self.retry.paused.replace(Some(PausedAttempt {
                looked: look,
                began,
                opened,
            }));
        }
        let age = view.age();
        let result = match result.map_err(|stop| self.refused(view, context, began, stop))? {
            LoadResult::Ready { entry, opened } if age > self.shared.config.revalidate => {
                LoadResult::Stale { entry, opened }
            }
            result => result,
        };
        Ok(Attempted {
            result,
            // Whichever is longer ago: both are counted from now, so that they do not add up.
            known_since: rules_since.min(began.saturating_sub(age)),
            told: (!age.is_zero()).then_some(began),
        })
    }

    /// Keeps the view of an attempt that is stopped, if the next one goes on with it.
    fn refused(
        &self,
        view: Arc<dyn View>,
        context: ReadContext<'_>,
        began: Duration,
        stop: Stop,
    ) -> Stop {
        let must_not_wait = context.patience == Patience::MustNotWait;
        if matches!(stop, Stop::WouldWait)
            && must_not_wait
            && !self.retry.has_awaited.get()
            && let Some(awaited) = view.awaited()
        {
            self.retry.refused.replace(Some(RefusedAttempt {
                view,
                began,
                awaited: Some(awaited),
            }));
        }
        stop
    }

    /// The result for what was found. `is_whole` says whether siblings have been looked for.
    fn result_for(
        &self,
        look: &mut Looked,
        files: &Handles<'_>,
        context: ReadContext<'_>,
        is_whole: &mut bool,
    ) -> Result<LoadResult, Stop> {
        let shared = &*self.shared;
        let patience = context.patience;
        let cached = shared.is_cached(&self.key);
        let grown = match look.found.file() {
            Some(file) => {
                let mut growth = self.retry.growth.borrow_mut();
                // It may be longer still when it is opened.
                let growing = ReadContext {
                    grows: true,
                    ..context
                };
                growth.look(self.known_to_grow(), &file.identity, |length| {
                    let opened = files.open(&file.path, &file.identity, growing)?;
                    Ok::<_, Stop>(Sample::take(&opened.reader, length, patience)?)
                })?
            }
            None => None,
        };
        let context = ReadContext {
            grows: grown.is_some(),
            ..context
        };
        let (mount, began) = (look.mount, look.began);
        let view = Arc::clone(&look.view);
        let key = Some(&self.key).filter(|_| !self.again);
        let mut siblings = Siblings::new(&self.shared, &view, mount, context, key, cached);
        let mut original = None;
        let page = match look.found.file() {
            Some(file) => self.page_state(mount, files, file, context)?,
            None => PageState::Plain,
        };
        let may_have_alternatives = matches!(look.found, Found::File(_));
        if let Some(file) = look.found.file_mut()
            && !*is_whole
        {
            if may_have_alternatives && !file.is_alternative {
                siblings.look_for_alternatives(file)?;
            }
            // Those of a page would hold its placeholders.
            if matches!(page, PageState::Plain) {
                siblings.look(file)?;
            }
            // Beside the looks, if it has to be read.
            if siblings.are_awaited() && !self.knows(&file.identity) {
                original = Some(Original::read(shared, mount, files, file, cached, context)?);
            }
            siblings.await_lookups(file);
        }
        *is_whole = true;
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        let still = previous.filter(|entry| {
            look.is_by_rules_of(entry)
                && entry.resource.is_still(&look.found)
                && entry
                    .resource
                    .representations()
                    .is_none_or(|representations| {
                        (!representations.undecided || siblings.may_stay_undecided(representations))
                            && !made_codings::has_more(shared, representations)
                            && !representations
                                .dictionaries
                                .as_ref()
                                .is_some_and(|of| of.has_changed(shared, &*view, representations))
                    })
        });
        let Some(file) = look.found.file() else {
            let resource = (look.without_file(), look.rules.clone());
            return Ok(match still {
                Some(entry) => LoadResult::Ready {
                    entry: Arc::clone(entry),
                    opened: None,
                },
                None => self.ready(resource, began, None),
            });
        };
        let old = previous.and_then(|entry| entry.resource.representations());
        let (mut representations, mut changed) = match old {
            Some(representations) if still.is_some() => (representations.clone(), false),
            old => {
                let rules = HeadRules {
                    ruling: look.rules.ruling.as_deref(),
                    is_error: matches!(look.found, Found::Error { .. }),
                    nosniff: shared.config.nosniff,
                    path: path_of_key(&self.key).0,
                };
                let page = match page {
                    PageState::Plain => None,
                    PageState::Known => self.render(mount, files, file, context)?,
                    PageState::Rendered(page) => Some(page),
                };
                let built = match page {
                    Some(page) => {
                        let file = file.clone();
                        rendered_page::build(shared, mount, files, file, page, rules, context)
                    }
                    None => {
                        let original = match original {
                            Some(original) => original,
                            None => Original::read(shared, mount, files, file, cached, context)?,
                        };
                        let (file, old) = (file.clone(), (old, rules));
                        build(&mut siblings, files, file, original, old, context)?
                    }
                };
                (built.with_growth(grown), true)
            }
        };
        let mut opened = None;
        while let Some((number, representation)) = self.wanted.and_then(|choice| {
            let (number, representation) = representations.select(&choice)?;
            let at_hand = representation.content.is_some() || opened.is_some();
            (!at_hand).then(|| (number, Arc::clone(representation)))
        }) {
            let identity = &representation.identity;
            let content = match siblings.content(identity) {
                Some(content) => Ok(Ok(content)),
                None if representation.is_derived => {
                    let page = self.render(mount, files, file, context)?;
                    page.map(|page| Ok(page.content)).ok_or(Stop::Changed)
                }
                // The table has it no more; it may be asked for again.
                None if representation.is_made => Err(Stop::Changed),
                None => self.content(files, &representation, began, context),
            };
            match content {
                Ok(Ok(content)) => {
                    if let Some(slot) = representations.list.get_mut(number) {
                        *slot = Arc::new(representation.with_content(Some(content)));
                        changed = true;
                    }
                }
                // Window by window, which is the driver's part, or for this answer alone.
                Ok(Err(file)) => opened = Some(file),
                Err(Stop::WouldWait) if patience == Patience::MustNotWait => {
                    return Err(Stop::WouldWait);
                }
                // The original has what it has.
                Err(_) if representation.coding.plain() != ContentCoding::Identity => {
                    representations = representations.without(representation.coding.plain());
                    changed = true;
                }
                Err(stop) => return Err(stop),
            }
        }
        match still.filter(|_| !changed) {
            Some(entry) => Ok(LoadResult::Ready {
                entry: Arc::clone(entry),
                opened,
            }),
            None => {
                let resource = match look.found {
                    Found::Error {
                        status, is_absent, ..
                    } => Resource::Error {
                        status,
                        is_absent,
                        page: Some(representations),
                    },
                    _ => Resource::of_file(representations),
                };
                Ok(self.ready((resource, look.rules.clone()), began, opened))
            }
        }
    }

    /// True if this version of the file is the one that the cache has.
    fn knows(&self, identity: &Identity) -> bool {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        let representations = previous.and_then(|entry| entry.resource.representations());
        representations.is_some_and(|known| known.found.identity == *identity)
    }

    /// The content of a representation in memory, or the open file that it is to be sent from.
    fn content(
        &self,
        files: &Handles<'_>,
        representation: &Representation,
        began: Duration,
        context: ReadContext<'_>,
    ) -> Result<Result<CachedContent, Opened>, Stop> {
        let shared = &*self.shared;
        let cached = shared.is_cached(&self.key);
        let identity = &representation.identity;
        let context = ReadContext {
            // Of a sibling a part is worth nothing.
            grows: context.grows && representation.coding.plain() == ContentCoding::Identity,
            ..context
        };
        let open = || files.open(&representation.path, identity, context);
        if way(&shared.situation(identity, cached)) == Way::Read {
            let opened = open()?;
            let content = read(shared, &opened, context)?;
            // A blob that was damaged where it lies: nobody gets wrong bytes under a right tag.
            if let (Reader::Stored(_), TagBasis::Digest(digest)) =
                (&opened.reader, representation.tag_basis)
                && digest::of_bytes(&content.bytes) != digest
            {
                return Err(Stop::Io(damaged()));
            }
            return Ok(Ok(content));
        }
        let kept = shared.pool.open_files.get(identity, began);
        let file = match kept.filter(|_| cached) {
            Some((file, _)) => file,
            None => self.open_for_answer(open)?,
        };
        // Nobody has read it whole yet.
        if !matches!(representation.tag_basis, TagBasis::Digest(_)) {
            settle(&file, context)?;
        }
        Ok(match file.reader {
            Reader::Static(bytes) => Ok(CachedContent::embedded(bytes)),
            Reader::File(_) | Reader::Stored(_) | Reader::Memory(_) | Reader::Remote(_) => {
                Err(file)
            }
        })
    }

    /// Opens a file that an answer will hold open, if there may be one more.
    fn open_for_answer(&self, open: impl Fn() -> Result<Opened, Stop>) -> Result<Opened, Stop> {
        let files = &self.shared.pool.open_files;
        if !files.has_room() {
            return Err(Stop::Io(too_many_files()));
        }
        let opened = open()?;
        files.count(&opened);
        Ok(opened)
    }

    /// The result where there is no content: the old entry if it is still right.
    fn without_content(
        &self,
        found: &Found,
        resource: (Resource, EntryRules),
        began: Duration,
    ) -> LoadResult {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        match previous.filter(|entry| entry.resource.is_still(found)) {
            Some(entry) => LoadResult::Ready {
                entry: Arc::clone(entry),
                opened: None,
            },
            None => self.ready(resource, began, None),
        }
    }

    /// The page of a listing, which is made where others do not have to wait for it.
    fn listed_page(
        &self,
        page: &ListedPage,
        began: Duration,
        patience: Patience,
    ) -> Result<LoadResult, Stop> {
        let Some(listing) = self.shared.mounts.get(self.mount).and_then(Mount::listing) else {
            return Ok(LoadResult::Failed(LoadError::GivenUp));
        };
        if patience == Patience::MustNotWait {
            return Err(Stop::WouldWait);
        }
        let resource = Resource::File(page.render(listing, &self.shared)?);
        Ok(self.ready((resource, page.rules().clone()), began, None))
    }

    fn ready(
        &self,
        (resource, rules): (Resource, EntryRules),
        began: Duration,
        opened: Option<Opened>,
    ) -> LoadResult {
        let uses = self
            .previous
            .as_ref()
            .map_or(0, |previous| previous.entry.uses().get());
        let entry = CacheEntry::new(self.key.clone(), resource, began, uses).by(rules);
        LoadResult::Ready {
            entry: Arc::new(entry),
            opened,
        }
    }
}

/// The error of a stored file whose content is not what its source knows of it.
fn damaged() -> io::Error {
    let what = "its content is not what the store says: it is damaged, `salver fsck` names it";
    io::Error::new(io::ErrorKind::InvalidData, what)
}
