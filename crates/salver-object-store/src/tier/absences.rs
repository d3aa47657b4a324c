//! The paths at which no file is, as far as is known: they are as much a part of what can be served without the store as files
//! are. All of them are one file of the tier, which is written again from time to time, with what may not be told of any path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use crate::bounded_cache::BoundedCache;
use crate::floors::Floors;
use crate::tier::name::Name;
use crate::tier::record::{Fields, Reading};

/// The bytes that they may take.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The most that are put down while others wait for them: loops do.
const AT_ONCE: usize = 256;

/// The bytes that one takes besides its path.
const OVERHEAD: usize = 160;

/// The time after which one that was confirmed is worth writing again.
const WRITTEN_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// What is at a path where no file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Directory,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    absent: Absent,
    asked: SystemTime,
    /// What `asked` was when it was last worth writing.
    written: SystemTime,
}

/// The bytes of the hash of a place.
const PLACE: usize = 16;

/// A hash of a place, and a path of it.
type PathKey = Arc<[u8]>;

/// The absences of all places.
#[derive(Debug)]
pub(super) struct Absences {
    known: Mutex<BoundedCache<PathKey, Known>>,
    /// By the keys of what paths begin with.
    floors: Mutex<Floors<SystemTime>>,
    has_changed: AtomicBool,
}

impl Default for Absences {
    fn default() -> Self {
        Absences {
            known: Mutex::new(BoundedCache::new(MOST_BYTES)),
            floors: Mutex::new(Floors::within(PLACE)),
            has_changed: AtomicBool::new(false),
        }
    }
}

impl Absences {
    pub(super) fn get(&self, place: &str, path: &[u8]) -> Option<(Absent, SystemTime)> {
        let known = self.known().get(&*key(place, path))?;
        Some((known.absent, known.asked))
    }

    /// Notes what was found at a path then; `None` is a file.
    pub(super) fn note(&self, place: &str, path: &[u8], found: Option<Absent>, asked: SystemTime) {
        let key = key(place, path);
        let mut known = self.known();
        let before = known.get(&*key);
        let Some(absent) = found else {
            if before.is_some() {
                known.forget(&*key);
                self.has_changed.store(true, Ordering::Release);
            }
            return;
        };
        let same = before.filter(|before| before.absent == absent);
        let is_worth_it = same.is_none_or(|same| {
            let since = asked.duration_since(same.written).unwrap_or_default();
            since >= WRITTEN_AGAIN_AFTER
        });
        let written = match same {
            Some(same) if !is_worth_it => same.written,
            _ => asked,
        };
        let weight = key.len().saturating_add(OVERHEAD);
        let now = Known {
            absent,
            asked,
            written,
        };
        known.insert(key, now, weight);
        if is_worth_it {
            self.has_changed.store(true, Ordering::Release);
        }
    }

    /// Has a path compared before anything is told of it.
    pub(super) fn invalidate(&self, place: &str, path: &[u8]) {
        self.note(place, path, None, SystemTime::UNIX_EPOCH);
    }

    /// The same for all paths that begin so, of what was asked for before this time, where nothing is told for longer than that.
    pub(super) fn raise_floor(
        &self,
        place: &str,
        prefix: &[u8],
        (to, told_for): (SystemTime, Duration),
    ) {
        let mut floors = self.floors();
        if let Some(long_ago) = to.checked_sub(told_for) {
            floors.forget(&key(place, b""), long_ago);
        }
        floors.raise(&key(place, prefix), to);
        self.has_changed.store(true, Ordering::Release);
    }

    /// True if what was asked for then, at a path, may be told.
    pub(super) fn permits(&self, place: &str, path: &[u8], asked: SystemTime) -> bool {
        let floors = self.floors();
        floors.is_empty() || floors.permit(&key(place, path), asked)
    }

    /// All of them, to be written, if that is worth it.
    pub(super) fn to_write(&self) -> Option<Vec<u8>> {
        if !self.has_changed.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut all = self
            .floors()
            .iter()
            .fold(Fields::default(), |fields, (key, floor)| {
                // No later than it is: to compare once more is no harm.
                fields.text(key).number(FLOOR).number(seconds(floor) + 1)
            });
        let mut from = Some(0);
        while let Some(start) = from.take() {
            let known = self.known();
            // What is used meanwhile comes again, as its last.
            for (used, key, known) in known.used_from(start).take(AT_ONCE) {
                let kind = match known.absent {
                    Absent::Nothing => NOTHING,
                    Absent::Directory => DIRECTORY,
                };
                all = all.text(key).number(kind).number(seconds(known.asked));
                from = Some(used + 1);
            }
        }
        Some(all.0)
    }

    /// Takes over what was written, as far as nothing newer is known.
    pub(super) fn read(&self, written: &[u8]) {
        let mut reading = Reading(written);
        let mut known = self.known();
        while let Some((key, kind, asked)) = next(&mut reading) {
            let absent = match kind {
                NOTHING => Absent::Nothing,
                DIRECTORY => Absent::Directory,
                FLOOR => {
                    self.floors().raise(key, asked);
                    continue;
                }
                _ => return,
            };
            if known.contains(key) {
                continue;
            }
            let weight = key.len().saturating_add(OVERHEAD);
            let now = Known {
                absent,
                asked,
                written: asked,
            };
            known.insert(key.into(), now, weight);
        }
    }

    fn floors(&self) -> MutexGuard<'_, Floors<SystemTime>> {
        self.floors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, BoundedCache<PathKey, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subject of the file that they are.
pub(super) const SUBJECT: &[u8] = b"absences";

/// The name of the file that they are.
pub(super) fn name() -> Name {
    Name::of(SUBJECT)
}

/// The kinds of what is written, by their numbers.
const NOTHING: u64 = 0;
const DIRECTORY: u64 = 1;
const FLOOR: u64 = 2;

/// The next key of what was written, its kind and its time.
fn next<'a>(reading: &mut Reading<'a>) -> Option<(&'a [u8], u64, SystemTime)> {
    let (key, kind) = (reading.text()?, reading.number()?);
    let since = Duration::from_secs(reading.number()?);
    Some((key, kind, SystemTime::UNIX_EPOCH.checked_add(since)?))
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

fn key(place: &str, path: &[u8]) -> PathKey {
    let hash: [u8; 32] = Sha256::digest(place).into();
    let of_place: [u8; PLACE] = hash.first_chunk().copied().unwrap_or_default();
    [&of_place[..], path].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let absences = Absences::default();
        assert_eq!(absences.to_write(), None);
        absences.note("p", b"a", Some(Absent::Nothing), at(100));
        absences.note("p", b"d", Some(Absent::Directory), at(101));
        absences.note("q", b"f", Some(Absent::Nothing), at(102));
        absences.note("q", b"f", None, at(103));
        let written = absences.to_write().unwrap();
        let again = Absences::default();
        again.note("p", b"d", Some(Absent::Nothing), at(200));
        for length in 0..written.len() {
            Absences::default().read(&written[..length]);
        }
        again.read(&written);
        assert_eq!(again.get("p", b"a"), Some((Absent::Nothing, at(100))));
        assert_eq!(again.get("p", b"d"), Some((Absent::Nothing, at(200))));
        assert_eq!((again.get("q", b"f"), again.get("q", b"a")), (None, None));
    }

    #[test]
    fn all_are_written_however_many_they_are() {
        let absences = Absences::default();
        let path = |number: usize| number.to_string();
        for number in 0..3 * AT_ONCE {
            let found = Some(Absent::Nothing);
            absences.note("p", path(number).as_bytes(), found, SystemTime::now());
        }
        let again = Absences::default();
        again.read(&absences.to_write().unwrap());
        let is_known = |number: &usize| again.get("p", path(*number).as_bytes()).is_some();
        assert_eq!((0..4 * AT_ONCE).filter(is_known).count(), 3 * AT_ONCE);
    }

    #[test]
    fn only_what_is_worth_it_is_written() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let absences = Absences::default();
        let check = |found, seconds, expected: bool| {
            absences.note("p", b"a", found, at(seconds));
            assert_eq!(absences.to_write().is_some(), expected, "{seconds}");
        };
        check(None, 0, false);
        check(Some(Absent::Nothing), 10, true);
        check(Some(Absent::Nothing), 30, false);
        check(Some(Absent::Nothing), 40, true);
        check(Some(Absent::Nothing), 69, false);
        check(Some(Absent::Directory), 69, true);
        check(None, 70, true);
        check(None, 71, false);
    }
}
