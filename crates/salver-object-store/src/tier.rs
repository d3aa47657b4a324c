//! The tier on a disk between memory and a store: objects and slices of them that outlive the process, within a budget.
//!
//! Loads read it where they may wait; one thread writes, removes, and makes the index of what is there. Nothing is believed
//! that is read: [`record`] has a hash over all of it. What is not there, is damaged, or is being written is asked of
//! the store.

mod absences;
mod decision;
mod folder;
mod name;
mod queue;
mod record;
mod subject;
mod writer;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use object_store::path::Path;

use crate::bounded_cache::BoundedCache;
use crate::object::Object;
use crate::tier::absences::Absences;
pub(crate) use crate::tier::absences::Absent;
use crate::tier::decision::Decision;
use crate::tier::folder::Folder;
use crate::tier::name::Name;
use crate::tier::queue::Queue;
use crate::tier::subject::{object_subject, of_object, of_slice, parse_object};
use crate::tier::writer::Job;

/// The longest content of a file: the longest slice.
const LONGEST: usize = 8 * 1024 * 1024;

/// The bytes that a job takes besides its content.
const OVERHEAD: usize = 1024;

/// The space that a file takes at least: a block.
const BLOCK: usize = 4096;

/// The most files, each of which takes about 150 bytes of memory.
const MOST_FILES: usize = 1_000_000;

/// The time after which the time of an object that was confirmed is written again.
const DATED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The time for which the first who ask wait for the folder, which may be as slow as it likes.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// The time after which it is said again that something is damaged.
const SAID_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// A folder that keeps what came from buckets for the next start, and beyond what memory holds.
///
/// Nothing in it can be asked for; it must not lie in a directory that is served. It is for one process at a time: another
/// one goes without, and takes it over once the first has ended. It can be removed at any time.
pub struct DiskTier {
    shared: Arc<Shared>,
    queue: Queue,
}

/// What loads and the thread that writes share.
#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// The folder, once it is this process's.
    folder: OnceLock<Folder>,
    /// The files that are there.
    index: Mutex<BoundedCache<Name, Indexed>>,
    /// True once all that is there is in the index.
    is_indexed: AtomicBool,
    absences: Absences,
    /// True once it is known whether the folder is this process's.
    is_decided: Decision,
    /// The bytes that wait to be written.
    queued: AtomicU64,
    said_damage: Mutex<Option<Instant>>,
    most: usize,
}

/// A file that is there.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    /// The time that it was last dated.
    dated: SystemTime,
    /// The number of the version of an object that it is of; nothing as long as nobody has read it.
    version: Option<u64>,
}

/// An object as it was when it was last compared.
#[derive(Debug)]
pub(crate) struct KeptObject {
    pub(crate) object: Object,
    /// All of its content, if it is short.
    pub(crate) content: Option<Bytes>,
    pub(crate) asked: SystemTime,
}

impl DiskTier {
    /// The tier in the folder at a path, whose files may take `most` bytes. Touches nothing before it is used.
    pub fn new(path: PathBuf, most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let shared = Arc::new(Shared {
            path,
            folder: OnceLock::new(),
            index: Mutex::new(BoundedCache::new(most)),
            is_indexed: AtomicBool::new(false),
            absences: Absences::default(),
            is_decided: Decision::default(),
            queued: AtomicU64::new(0),
            said_damage: Mutex::new(None),
            most,
        });
        DiskTier {
            queue: Queue::new(Arc::clone(&shared)),
            shared,
        }
    }

    /// Waits until all that was handed over is written, and gives whether the folder is this process's.
    pub fn settle(&self) -> bool {
        let (told, is_done) = channel();
        self.hand_over(Job::Settle(told));
        is_done.recv().unwrap_or(false)
    }

    /// The object with a key that is kept, of those at a place. Waits for the disk.
    pub(crate) fn object(&self, place: &str, key: &Path, device: u64) -> Option<KeptObject> {
        self.begin();
        let name = Name::of(&object_subject(place, key));
        let (subject, content, asked) = self.shared.read(name)?;
        let object = parse_object(&subject, place, key, device);
        let Some(object) = object else {
            self.shared.say_damage("it is of something else");
            return None;
        };
        if let Some(indexed) = self.shared.index().peek_mut(&name) {
            // One that is known was written meanwhile, perhaps.
            indexed.version.get_or_insert(object.number());
        }
        let length = u64::try_from(content.len()).ok();
        let is_whole = length == Some(object.length());
        Some(KeptObject {
            object,
            content: is_whole.then_some(content),
            asked,
        })
    }

    /// True if an object of a place is dated no earlier than this, or nobody knows yet.
    pub(crate) fn is_dated(&self, place: &str, key: &Path, asked: SystemTime) -> bool {
        let name = Name::of(&object_subject(place, key));
        match self.shared.index().peek_mut(&name) {
            Some(indexed) => indexed.dated >= asked,
            None => !self.shared.is_indexed.load(Ordering::Acquire),
        }
    }

    /// Keeps an object of a place, with its content if it is short, that was asked for then.
    pub(crate) fn keep_object(
        &self,
        place: &str,
        object: &Object,
        content: Option<Bytes>,
        asked: SystemTime,
    ) {
        self.queue.push(Job::Write {
            name: Name::of(&object_subject(place, object.key())),
            subject: of_object(place, object),
            content: content.unwrap_or_default(),
            time: asked,
            version: Some(object.number()),
        });
    }

    /// Notes that this version of an object of a place was confirmed then; false if it is not known to be kept.
    pub(crate) fn confirm(&self, place: &str, object: &Object, asked: SystemTime) -> bool {
        let name = Name::of(&object_subject(place, object.key()));
        let mut index = self.shared.index();
        let Some(indexed) = index.get_mut(&name) else {
            // It may be there, and is not known yet.
            return !self.shared.is_indexed.load(Ordering::Acquire);
        };
        // What is there may be an older one: then it must not seem to be as young.
        if indexed.version != Some(object.number()) {
            return false;
        }
        let since = asked.duration_since(indexed.dated).unwrap_or_default();
        if since < DATED_AGAIN_AFTER {
            return true;
        }
        indexed.dated = asked;
        drop(index);
        self.queue.push(Job::Date(name, asked));
        true
    }

    /// Lets go of an object of a place that has gone, if it is known to be kept.
    pub(crate) fn forget_if_there(&self, place: &str, key: &Path) {
        let name = Name::of(&object_subject(place, key));
        let is_there = self.shared.index().contains(&name);
        if is_there || !self.shared.is_indexed.load(Ordering::Acquire) {
            self.forget(place, key);
        }
    }

    /// Lets go of an object of a place.
    pub(crate) fn forget(&self, place: &str, key: &Path) {
        let name = Name::of(&object_subject(place, key));
        // At once: who asks next must not find it.
        self.shared.index().forget(&name);
        if !self.shared.is_indexed.load(Ordering::Acquire)
            && let Some(folder) = self.shared.folder.get()
        {
            folder.remove(name);
        }
        // What is on its way is written before.
        self.hand_over(Job::Remove(name));
    }

    /// True unless it is known that no object of a place with this key is kept. Never waits.
    pub(crate) fn may_have_object(&self, place: &str, key: &Path) -> bool {
        let name = Name::of(&object_subject(place, key));
        !self.shared.is_indexed.load(Ordering::Acquire) || self.shared.index().contains(&name)
    }

    /// A slice of a version of an object of a place, of slices of this size. Waits for the disk.
    pub(crate) fn slice(
        &self,
        place: &str,
        object: &Object,
        (size, number): (u64, u64),
    ) -> Option<Bytes> {
        self.begin();
        let expected = of_slice(place, object, (size, number));
        let (subject, content, _) = self.shared.read(Name::of(&expected))?;
        let start = size.saturating_mul(number);
        let length = object.length().saturating_sub(start).min(size);
        let is_it = *subject == *expected && u64::try_from(content.len()).ok() == Some(length);
        is_it.then_some(content)
    }

    /// Keeps a slice.
    pub(crate) fn keep_slice(
        &self,
        place: &str,
        object: &Object,
        (size, number): (u64, u64),
        content: Bytes,
    ) {
        let subject = of_slice(place, object, (size, number));
        self.queue.push(Job::Write {
            name: Name::of(&subject),
            subject,
            content,
            time: SystemTime::now(),
            version: None,
        });
    }

    /// What is known to be no file at a path of a place, and when it was asked for. May wait.
    pub(crate) fn absent(&self, place: &str, path: &[u8]) -> Option<(Absent, SystemTime)> {
        self.begin();
        self.shared.folder.get()?;
        let (absent, asked) = self.shared.absences.get(place, path)?;
        Some((absent, self.floored(place, path, asked)))
    }

    /// The time at which something was asked for at a path of a place: long ago if somebody has said since that it has changed.
    pub(crate) fn floored(&self, place: &str, path: &[u8], asked: SystemTime) -> SystemTime {
        match self.shared.absences.permits(place, path, asked) {
            true => asked,
            false => SystemTime::UNIX_EPOCH,
        }
    }

    /// Has what is kept of a path of a place, whose object has this key, compared before it is told.
    pub(crate) fn invalidate(&self, place: &str, path: &[u8], key: &Path) {
        let name = Name::of(&object_subject(place, key));
        self.shared.absences.invalidate(place, path);
        // At once; the thread that writes follows.
        if let Some(indexed) = self.shared.index().get_mut(&name) {
            indexed.dated = SystemTime::UNIX_EPOCH;
        }
        self.hand_over(Job::Date(name, SystemTime::UNIX_EPOCH));
    }

    /// The same for all paths of a place that begin so, of which nothing is told that was asked for longer ago than `told_for`.
    pub(crate) fn invalidate_prefix(
        &self,
        place: &str,
        prefix: &[u8],
        (now, told_for): (SystemTime, Duration),
    ) {
        let absences = &self.shared.absences;
        absences.raise_floor(place, prefix, (now, told_for));
        self.hand_over(Job::WriteAbsences);
    }

    /// Notes what was found at a path of a place then: no file, or one.
    pub(crate) fn note(&self, place: &str, path: &[u8], found: Option<Absent>, asked: SystemTime) {
        self.shared.absences.note(place, path, found, asked);
    }

    /// Tells the thread that writes of what is to be kept or was confirmed since: once nothing is to be done for which somebody waits.
    pub(crate) fn tell(&self) {
        self.queue.tell();
    }

    /// Has something done by the thread that writes, if there is room in its queue.
    fn hand_over(&self, job: Job) {
        self.queue.push(job);
        self.queue.tell();
    }

    /// Waits until it is known whether there is anything to be read: for the first who ask.
    fn begin(&self) {
        if !self.shared.is_decided.is_made() && self.queue.begin() {
            self.shared.is_decided.wait(DECIDED_WITHIN);
        }
    }
}

impl Shared {
    /// A file that is whole: what it is of, its content, and its time. One that is damaged is removed.
    fn read(&self, name: Name) -> Option<(Bytes, Bytes, SystemTime)> {
        let folder = self.folder.get()?;
        let indexed = self.index().get(&name);
        if indexed.is_none() && self.is_indexed.load(Ordering::Acquire) {
            return None;
        }
        let most = LONGEST + record::LONGEST_SUBJECT + record::OVERHEAD;
        let (bytes, time) = match folder.read(name, most) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.say_damage(&error.to_string());
                return None;
            }
        };
        let Some((subject, content)) = record::read(bytes) else {
            folder.remove(name);
            self.index().forget(&name);
            self.say_damage("it is not what was written");
            return None;
        };
        let time = indexed.map_or(time, |indexed| time.min(indexed.dated));
        Some((subject, content, time))
    }

    /// Says that a file cannot be used, unless that was said lately.
    fn say_damage(&self, why: &str) {
        let mut said = self
            .said_damage
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|said| said.elapsed() >= SAID_AGAIN_AFTER) {
            *said = Some(Instant::now());
            drop(said);
            tracing::warn!(
                "{:?}: a file there is of no use, {}; its content comes from the bucket",
                self.path,
                why.escape_debug()
            );
        }
    }

    /// The space that a file of this length takes of the budget.
    fn weight(&self, length: usize) -> usize {
        let blocks = length.div_ceil(BLOCK).max(1);
        blocks.saturating_mul(BLOCK).max(self.most / MOST_FILES)
    }

    fn index(&self) -> MutexGuard<'_, BoundedCache<Name, Indexed>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its path.
impl fmt::Debug for DiskTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DiskTier").field(&self.shared.path).finish()
    }
}

/// True if both are one.
impl PartialEq for DiskTier {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for DiskTier {}

#[cfg(test)]
mod tests {
    use object_store::ObjectMeta;
    use salver_assets::source::Timestamp;

    use super::*;

    #[test]
    fn nothing_older_is_left_of_what_finds_no_room_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let tier = DiskTier::new(folder.path().join("objects"), 1 << 20);
        let [one, two] = ["1", "2"].map(|tag| {
            let meta = ObjectMeta {
                location: Path::from("a"),
                last_modified: SystemTime::UNIX_EPOCH.into(),
                size: 3,
                e_tag: Some(tag.to_owned()),
                version: None,
            };
            Object::new(1, &meta, Timestamp::UNKNOWN).unwrap()
        });
        let now = SystemTime::now();
        tier.keep_object("p", &one, Some("one".into()), now);
        assert!(tier.settle());
        assert!(tier.object("p", one.key(), 1).is_some() && tier.confirm("p", &one, now));
        assert!(!tier.confirm("p", &two, now));
        let queued = &tier.shared.queued;
        queued.fetch_add(queue::MOST, Ordering::Relaxed);
        tier.keep_object("p", &two, Some("two".into()), now);
        assert!(tier.object("p", one.key(), 1).is_none());
        queued.fetch_sub(queue::MOST, Ordering::Relaxed);
        assert!(tier.settle());
        assert!(tier.shared.folder.get().unwrap().files().is_empty());
        tier.keep_object("p", &two, Some("two".into()), now);
        assert!(tier.settle());
        assert!(tier.confirm("p", &two, now) && !tier.confirm("p", &one, now));
    }
}
