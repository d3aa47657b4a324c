//! Comparisons of many paths at once, by a page of the list of the bucket: it tells tags, as answers do.
//!
//! What it confirms is as if each had been asked for by itself when the page was. What it does not confirm, since it has changed or
//! is told otherwise there, is compared by itself.

use std::sync::{Arc, MutexGuard};
use std::time::{Instant, SystemTime};

use object_store::ObjectMeta;
use object_store::path::Path;
use salver_assets::ContentCoding;
use tokio::task::yield_now;

use super::{Found, Lookups, hold};
use crate::bucket::Turn;
use crate::object::Object;
use crate::pages::{Pages, Span, Told};
use crate::tier::Absent;

/// The most objects that are compared before others have their turn.
const AT_ONCE: usize = 32;

/// The times at which a page was asked for.
#[derive(Clone, Copy)]
struct Asked {
    moment: Instant,
    time: SystemTime,
}

/// The objects of a page, in the order of their keys.
struct Page<'a> {
    objects: &'a [ObjectMeta],
    span: &'a Span,
}

impl Page<'_> {
    /// True if objects lie beneath a key, or none do; nothing if the page does not tell.
    fn has_beneath(&self, key: &str) -> Option<bool> {
        let beneath = format!("{key}/");
        let place = self
            .objects
            .partition_point(|meta| meta.location.as_ref() < beneath.as_str());
        let next = self.objects.get(place);
        if next.is_some_and(|meta| meta.location.as_ref().starts_with(&beneath)) {
            return Some(true);
        }
        // What follows all that could lie there.
        let tells = next.is_some() || self.span.to.is_none();
        tells.then_some(false)
    }
}

/// The place of a key among objects in the order of theirs.
fn place_of(objects: &[ObjectMeta], key: &str) -> Option<usize> {
    let place = objects.binary_search_by(|meta| meta.location.as_ref().cmp(key));
    place.ok()
}

/// A page that is on its way: nobody waits for it any more once this is dropped, however that comes.
pub(super) struct PageUnderWay {
    lookups: Arc<Lookups>,
    span: Span,
    told: Option<Told>,
}

impl PageUnderWay {
    /// The page of which somebody has got the turn.
    pub(super) fn new(lookups: &Arc<Lookups>, span: Span) -> Self {
        let lookups = Arc::clone(lookups);
        PageUnderWay {
            lookups,
            span,
            told: None,
        }
    }

    /// Asks for it, and notes what it confirms. Gives the moment at which it was asked for.
    pub(super) async fn compare(mut self, ahead: Turn) -> Instant {
        let lookups = &self.lookups;
        let asked = Asked {
            moment: lookups.clock.now(),
            time: lookups.clock.system_now(),
        };
        if let Some((objects, is_last)) = self.read(ahead).await {
            let objects = without_markers(&self.span.after, objects);
            let told = lookups.take_page(&self.span, &objects, is_last, asked);
            self.told = told.await;
        }
        asked.moment
    }

    /// Its objects, and whether it is the last. They are read on a thread that gives way to others: it takes milliseconds, and
    /// nothing is locked meanwhile that those need.
    async fn read(&self, ahead: Turn) -> Option<(Vec<ObjectMeta>, bool)> {
        let bucket = Arc::clone(&self.lookups.bucket);
        let Ok(runtime) = self.lookups.page_runtime.handle() else {
            bucket.give_back(ahead);
            return None;
        };
        let (root, after) = (self.lookups.prefix.root(), self.span.after.clone());
        let page = async move { bucket.page(&root, &after, Some(ahead)).await };
        runtime.spawn(page).await.ok()?.ok()
    }
}

impl Drop for PageUnderWay {
    fn drop(&mut self) {
        let (now, told) = (self.lookups.clock.now(), self.told.take());
        self.lookups.pages().end(&self.span, told, now);
    }
}

impl Lookups {
    /// Notes that a path which is held was asked for, whose object has this key.
    pub(super) fn want(&self, key: &Path, path: &[u8]) {
        self.pages().want(key.as_ref(), path, self.clock.now());
    }

    /// Notes that a path is held, whose object has this key.
    pub(super) fn note_held(&self, key: &Path, path: &[u8]) {
        self.pages().note_held(key.as_ref(), path);
    }

    /// Has all paths that begin so compared when they are asked for next, as if their time had come.
    pub(crate) fn make_due(&self, prefix: &[u8]) {
        hold(&self.due).raise(prefix, self.clock.now());
        self.pages().make_due();
    }

    /// Notes what a page confirms, and lets what else is under way go on meanwhile.
    async fn take_page(
        &self,
        asked_for: &Span,
        objects: &[ObjectMeta],
        is_last: bool,
        asked: Asked,
    ) -> Option<Told> {
        if !is_ordered(&asked_for.after, objects) {
            self.pages().give_up();
            return None;
        }
        let last = objects.last().map(|meta| meta.location.as_ref().into());
        let span = Span {
            after: asked_for.after.clone(),
            to: match is_last {
                true => None,
                false => Some(last?),
            },
        };
        let page = Page {
            objects,
            span: &span,
        };
        let (mut wanted, mut confirmed) = (0, 0);
        let (mut parts, mut after) = (objects.chunks(AT_ONCE).peekable(), span.after.clone());
        loop {
            let some = parts.next().unwrap_or_default();
            let next_after = parts.peek().and(some.last());
            let next_after = next_after.map(|meta| meta.location.as_ref().into());
            let part = Span {
                after,
                to: next_after.clone().or_else(|| span.to.clone()),
            };
            let (of_part, same) = self.take_part(&page, &part, some, asked);
            wanted += of_part;
            confirmed += same;
            let_others_go_on().await;
            match next_after {
                Some(next) => after = next,
                None => break,
            }
        }
        Some(Told {
            asked: asked.moment,
            wanted,
            confirmed,
            span,
        })
    }

    /// Notes what a part of a page confirms. Gives how many of its paths were asked for lately, and how many of those are as before.
    fn take_part(
        &self,
        page: &Page<'_>,
        part: &Span,
        objects: &[ObjectMeta],
        asked: Asked,
    ) -> (usize, usize) {
        // What nobody has asked for lately is as well off, as far as it is in memory.
        let same: Vec<_> = objects
            .iter()
            .map(|meta| {
                let path = self.prefix.path(&meta.location)?;
                let object = self.confirm_object(&path, meta, asked)?;
                self.confirm_siblings(page, meta, &path, asked);
                Some(object)
            })
            .collect();
        let wanted = self.pages().wanted_in(part, self.clock.now());
        let is_same = |(key, path): &&(Box<str>, Arc<[u8]>)| match place_of(objects, key) {
            // One that is not kept is, once it is looked at by itself.
            Some(place) => match same.get(place) {
                Some(Some(object)) => {
                    self.tier.confirm(object, asked.time);
                    true
                }
                _ => false,
            },
            None => self.confirm_absence(page, key, path, asked),
        };
        (wanted.len(), wanted.iter().filter(is_same).count())
    }

    /// Notes that an object was what a page tells, and gives it, if it was.
    fn confirm_object(&self, path: &[u8], meta: &ObjectMeta, asked: Asked) -> Option<Arc<Object>> {
        let mut known = self.known();
        let known = known.peek_mut(path)?;
        let object = match &known.found {
            Found::File(object) if *object.key() == meta.location && object.is(meta) => {
                Arc::clone(object)
            }
            Found::File(_) | Found::Directory | Found::Nothing => return None,
        };
        known.confirm(asked.moment).then_some(object)
    }

    /// Notes that an object has as few siblings as before, if a page tells so.
    fn confirm_siblings(&self, page: &Page<'_>, meta: &ObjectMeta, path: &[u8], asked: Asked) {
        let mut sibling = path.to_vec();
        for end in ContentCoding::CODED
            .map(ContentCoding::extension)
            .into_iter()
            .flatten()
        {
            sibling.truncate(path.len());
            sibling.extend_from_slice(end.as_bytes());
            if !self.known().contains(&*sibling) {
                continue;
            }
            let key = format!("{}{end}", meta.location);
            if page.span.contains(&key) && place_of(page.objects, &key).is_none() {
                self.confirm_absence(page, &key, &sibling, asked);
            }
        }
    }

    /// Notes that no object was at a path, and beneath it what was before, if a page tells so.
    fn confirm_absence(&self, page: &Page<'_>, key: &str, path: &[u8], asked: Asked) -> bool {
        let Some(has_beneath) = page.has_beneath(key) else {
            return false;
        };
        let absent = match has_beneath {
            true => Absent::Directory,
            false => Absent::Nothing,
        };
        let mut known = self.known();
        let is_same = known.peek_mut(path).is_some_and(|known| {
            let is_same = match known.found {
                Found::Directory => absent == Absent::Directory,
                Found::Nothing => absent == Absent::Nothing,
                Found::File(_) => false,
            };
            is_same && known.confirm(asked.moment)
        });
        drop(known);
        if is_same && let Some(key) = self.prefix.key(path) {
            self.tier.note_absent(path, &key, absent, asked.time);
        }
        is_same
    }

    pub(super) fn pages(&self) -> MutexGuard<'_, Pages> {
        hold(&self.pages)
    }
}

/// Lets other work of this thread go on, and other threads: loops do not wait until the system ends its turn.
async fn let_others_go_on() {
    std::thread::yield_now();
    yield_now().await;
}

/// Leaves out the markers of folders that consoles make, as far as they are not in the order of the others: of `docs/` the client
/// tells as `docs`, and it stands behind `docs-x`.
fn without_markers(after: &str, mut objects: Vec<ObjectMeta>) -> Vec<ObjectMeta> {
    let mut last = after.to_owned();
    objects.retain(|meta| {
        let is_behind = meta.location.as_ref() > last.as_str();
        if is_behind {
            meta.location.as_ref().clone_into(&mut last);
        }
        is_behind || meta.size > 0
    });
    objects
}

/// True if the objects of a page are in the order of their keys, behind the one that they were asked for behind. Some stores
/// have no order, and some do not look at where a list is to begin.
fn is_ordered(after: &str, objects: &[ObjectMeta]) -> bool {
    let keys = objects.iter().map(|meta| meta.location.as_ref());
    let mut last = after;
    for key in keys {
        if key <= last {
            return false;
        }
        last = key;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(keys: &[&str]) -> Vec<ObjectMeta> {
        let meta = |key: &&str| ObjectMeta {
            location: Path::from(*key),
            last_modified: SystemTime::UNIX_EPOCH.into(),
            size: 1,
            e_tag: None,
            version: None,
        };
        keys.iter().map(meta).collect()
    }

    #[test]
    fn a_page_tells_what_is_beneath_as_far_as_it_reaches() {
        let listed = objects(&["a", "b/c", "b0", "d-e"]);
        let check = |to: Option<&str>, key: &str, expected: Option<bool>| {
            let span = Span {
                after: "".into(),
                to: to.map(Into::into),
            };
            let page = Page {
                objects: &listed,
                span: &span,
            };
            assert_eq!(page.has_beneath(key), expected, "{key}");
        };
        for to in [None, Some("d-e")] {
            check(to, "a", Some(false));
            check(to, "b", Some(true));
            check(to, "c", Some(false));
        }
        check(Some("d-e"), "d", None);
        check(None, "d", Some(false));
    }

    #[test]
    fn markers_of_folders_are_out_of_order() {
        let mut listed = objects(&["a", "docs-x", "docs", "docs/a"]);
        listed[2].size = 0;
        assert!(!is_ordered("", &listed));
        let kept = without_markers("", listed);
        assert!(is_ordered("", &kept) && kept.len() == 3);
        // A page may begin with one.
        let mut listed = objects(&["docs", "docs/a"]);
        listed[0].size = 0;
        assert_eq!(without_markers("docs-x", listed), objects(&["docs/a"]));
        let others = objects(&["b", "a"]);
        assert_eq!(without_markers("", others).len(), 2);
    }

    #[test]
    fn pages_are_in_order_or_of_no_use() {
        assert!(is_ordered("", &objects(&["a", "b"])));
        assert!(is_ordered("a", &objects(&["b"])));
        assert!(is_ordered("a", &[]));
        assert!(!is_ordered("a", &objects(&["a", "b"])));
        assert!(!is_ordered("", &objects(&["b", "a"])));
    }
}
