//! One attempt of a load: locate the file, compare it with what is known, and read or open what is wanted.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use salver_semantics::ContentCoding;

use crate::cache::bounded::Cached;
use crate::error::{LoadError, Stop, is_absence, too_many_files};
use crate::resource::build::{Original, build};
use crate::resource::cached_content::CachedContent;
use crate::resource::entry::{CacheEntry, Resource};
use crate::resource::handles::{Handles, read};
use crate::resource::in_flight::LoadResult;
use crate::resource::load::{Load, PausedAttempt};
use crate::resource::locate::{Found, locate};
use crate::resource::representation::{Representation, TagBasis};
use crate::resource::siblings::Siblings;
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
    ) -> Result<LoadResult, Stop> {
        let paused = self.retry.paused.take();
        let paused = paused.filter(|paused| paused.is_still());
        let goes_on = paused.is_some();
        let (view, mut found, opened) = match paused {
            Some(paused) => (paused.view, Found::File(paused.file), paused.opened),
            None => {
                let Some(mount) = self.shared.mounts.get(self.mount) else {
                    return Ok(LoadResult::Failed(LoadError::Failed));
                };
                let view = match mount.source.view(context.patience) {
                    // A tree that has gone holds nothing.
                    Err(error) if is_absence(&error) => {
                        return Ok(self.without_content(&Found::Missing, Resource::Missing, began));
                    }
                    view => view?,
                };
                let config = &self.shared.config;
                let found = locate(&*view, &self.relative, config, context.patience)?;
                (view, found, Vec::new())
            }
        };
        let files = Handles::with(&*view, opened);
        let mut is_whole = goes_on;
        let result = self.result_for(&view, &mut found, &files, context, began, &mut is_whole);
        if is_whole {
            looked.set(true);
        }
        if let (Err(Stop::RetryAfter(_)), Found::File(file)) = (&result, found)
            && is_whole
        {
            let opened = files.into_opened();
            self.retry.paused.replace(Some(PausedAttempt {
                began,
                view,
                file,
                opened,
            }));
        }
        result
    }

    /// The result for the file that was found. `is_whole` says whether siblings have been looked for.
    fn result_for(
        &self,
        view: &Arc<dyn View>,
        found: &mut Found,
        files: &Handles<'_>,
        context: ReadContext<'_>,
        began: Duration,
        is_whole: &mut bool,
    ) -> Result<LoadResult, Stop> {
        let shared = &*self.shared;
        let patience = context.patience;
        let cached = shared.is_cached(&self.key);
        let context = ReadContext {
            grows: match &*found {
                Found::File(file) => {
                    let mut growth = self.retry.growth.borrow_mut();
                    // It may be longer still when it is opened.
                    let growing = ReadContext {
                        grows: true,
                        ..context
                    };
                    growth.look(self.known_to_grow(), &file.identity, |length| {
                        let opened = files.open(&file.path, &file.identity, growing)?;
                        Ok::<_, Stop>(Sample::take(&opened, length, patience)?)
                    })?
                }
                Found::Directory | Found::Missing => false,
            },
            ..context
        };
        let key = Some(&self.key).filter(|_| !self.again);
        let mut siblings = Siblings::new(&self.shared, view, self.mount, context, key, cached);
        let mut original = None;
        if let Found::File(file) = found
            && !*is_whole
        {
            siblings.look(file)?;
            // Beside the looks, if it has to be read.
            if siblings.are_awaited() && !self.knows(&file.identity) {
                original = Some(Original::read(
                    shared, self.mount, files, file, cached, context,
                )?);
            }
            siblings.await_lookups(file);
        }
        *is_whole = true;
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        let still = previous.filter(|entry| match &entry.resource {
            still if !still.is_still(found) => false,
            Resource::File(representations) => {
                !representations.undecided || siblings.may_stay_undecided(representations)
            }
            Resource::Directory | Resource::Missing => true,
        });
        let file = match found {
            Found::Directory => {
                return Ok(self.without_content(found, Resource::Directory, began));
            }
            Found::Missing => return Ok(self.without_content(found, Resource::Missing, began)),
            Found::File(file) => file,
        };
        let old = previous.and_then(|entry| match &entry.resource {
            Resource::File(representations) => Some(representations),
            _ => None,
        });
        let (mut representations, mut changed) = match old {
            Some(representations) if still.is_some() => (representations.clone(), false),
            old => {
                let original = match original {
                    Some(original) => original,
                    None => Original::read(shared, self.mount, files, file, cached, context)?,
                };
                let mount = self.mount;
                let file = file.clone();
                let built = build(&mut siblings, mount, files, file, original, old, context)?;
                (built, true)
            }
        };
        let mut opened = None;
        while let Some((number, representation)) = self.wanted.and_then(|accept| {
            let (number, representation) = representations.select(&accept)?;
            let at_hand = representation.content.is_some() || opened.is_some();
            (!at_hand).then(|| (number, Arc::clone(representation)))
        }) {
            let identity = &representation.identity;
            let content = match siblings.content(identity) {
                Some(content) => Ok(Ok(content)),
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
                Err(_) if representation.coding != ContentCoding::Identity => {
                    representations = representations.without(representation.coding);
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
            None => Ok(self.ready(Resource::File(representations), began, opened)),
        }
    }

    /// True if this version of the file is the one that the cache has.
    fn knows(&self, identity: &Identity) -> bool {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        previous.is_some_and(|entry| match &entry.resource {
            Resource::File(representations) => representations.found.identity == *identity,
            Resource::Directory | Resource::Missing => false,
        })
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
            grows: context.grows && representation.coding == ContentCoding::Identity,
            ..context
        };
        let open = || files.open(&representation.path, identity, context);
        if way(&shared.situation(identity, cached)) == Way::Read {
            return read(shared, &open()?, context).map(Ok);
        }
        let kept = shared.open_files.get(identity, began);
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
            Reader::File(_) | Reader::Memory(_) => Err(file),
        })
    }

    /// Opens a file that an answer will hold open, if there may be one more.
    fn open_for_answer(&self, open: impl Fn() -> Result<Opened, Stop>) -> Result<Opened, Stop> {
        let files = &self.shared.open_files;
        if !files.has_room() {
            return Err(Stop::Io(too_many_files()));
        }
        let opened = open()?;
        files.count(&opened);
        Ok(opened)
    }

    /// The result where what was found has no content: the old entry if it is still right.
    fn without_content(&self, found: &Found, resource: Resource, began: Duration) -> LoadResult {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        match previous.filter(|entry| entry.resource.is_still(found)) {
            Some(entry) => LoadResult::Ready {
                entry: Arc::clone(entry),
                opened: None,
            },
            None => self.ready(resource, began, None),
        }
    }

    fn ready(&self, resource: Resource, began: Duration, opened: Option<Opened>) -> LoadResult {
        let uses = self
            .previous
            .as_ref()
            .map_or(0, |previous| previous.entry.uses().get());
        let entry = CacheEntry::new(Arc::clone(&self.key), resource, began, uses);
        LoadResult::Ready {
            entry: Arc::new(entry),
            opened,
        }
    }
}
