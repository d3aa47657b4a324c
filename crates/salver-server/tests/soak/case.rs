//! A file that changes, and the judgement of what clients saw of it.

use std::collections::VecDeque;
use std::fs::{File, FileTimes};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How a file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Rename,
    InPlace,
    InPlaceTimePutBack,
    Truncated,
    Grown,
}

pub(crate) const WAYS: [Way; 5] = [
    Way::Rename,
    Way::InPlace,
    Way::InPlaceTimePutBack,
    Way::Truncated,
    Way::Grown,
];

/// Kept in memory, sent from an open file, sent window by window, and not hashed.
pub(crate) const LENGTHS: [usize; 4] = [3_000, 100_000, 600_000, 1_500_000];

/// Beyond this a file is not hashed.
pub(crate) const HASHED: u64 = 1_000_000;

/// A log is begun anew, by rename, after so many lines were appended to it.
pub(crate) const LINES: u64 = 2_000;

/// A writer that rests for longer within a version cannot be told from one that has finished: a second, as
/// docs/internals/files.md says, less what a look may be late.
const REST: Duration = Duration::from_millis(900);

/// A version that is written from its start for longer than this cannot be told from a log that grows: half a second,
/// as `growth.rs` says, less what a look may be late.
const GROWTH: Duration = Duration::from_millis(450);

/// Of each file so many of its last versions and tags are known.
pub(crate) const KNOWN: usize = 4_096;

/// Bytes in which each eight differ from those of another version; the first eight are the number of the version. They
/// are made at the speed of memory: what makes and judges them shares the cores with the server.
pub(crate) fn content(version: u64, length: usize) -> Vec<u8> {
    let key = version.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut bytes = vec![0; length.next_multiple_of(8)];
    let (words, _) = bytes.as_chunks_mut::<8>();
    for (place, word) in (0_u64..).zip(words) {
        let of_place = place.wrapping_mul(0xD1B5_4A32_D192_ED03);
        *word = (of_place ^ key).to_le_bytes();
    }
    if let Some(head) = bytes.first_chunk_mut() {
        *head = version.to_le_bytes();
    }
    bytes.truncate(length);
    bytes
}

/// The versions in a torn body, for people: from which byte on which one.
fn versions_in(body: &[u8]) -> String {
    let mut found = String::new();
    let head = body.first_chunk().map(|head| u64::from_le_bytes(*head));
    let (mut version, mut from) = (head, 0);
    while let Some(known) = version {
        let expected = content(known, body.len());
        let same = |(given, wanted): &(&u8, &u8)| given == wanted;
        let rest = body[from..].iter().zip(&expected[from..]);
        found += &format!("{known} from {from}, ");
        from += rest.take_while(same).count();
        // Where fewer are left, nothing can be told of them.
        let Some(next) = body[from..].get(..16) else {
            break;
        };
        let is_it = |version: &u64| content(*version, body.len())[from..].starts_with(next);
        version = (known.saturating_sub(50)..known + 50).find(is_it);
    }
    format!("{found}else from {from}, of {} bytes", body.len())
}

/// A line of a log: which log, and which line of it.
pub(crate) fn line(log: u64, number: u64) -> String {
    format!("{log:07} {number:07}\n")
}

/// One file and what is known of it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) way: Way,
    pub(crate) length: usize,
    /// Versions, and when each was complete.
    pub(crate) complete: Mutex<VecDeque<(u64, Instant)>>,
    pub(crate) pauses: Mutex<Pauses>,
    /// Strong tags, and the version that came under each.
    pub(crate) tags: Mutex<VecDeque<(String, u64)>>,
    pub(crate) whole: AtomicU64,
    pub(crate) parts: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) torn: AtomicU64,
    /// Those that are torn because their writer was slow.
    pub(crate) slow: AtomicU64,
    pub(crate) stale: AtomicU64,
}

/// The versions whose writers were slower than may be: they had no core.
#[derive(Default)]
pub(crate) struct Pauses {
    writing: Option<Writing>,
    found: Vec<u64>,
}

/// A version that is being written.
struct Writing {
    version: u64,
    /// True if it is written from an empty file on.
    grows: bool,
    began: Instant,
    /// When its last piece was begun: the kernel stamps no earlier.
    last: Instant,
}

impl Pauses {
    fn begin(&mut self, version: u64, grows: bool) {
        let now = Instant::now();
        self.writing = Some(Writing {
            version,
            grows,
            began: now,
            last: now,
        });
    }

    /// A piece was written that was begun then.
    fn wrote(&mut self, began: Instant) {
        if let Some(writing) = &mut self.writing {
            if writing.is_slow() {
                self.found.push(writing.version);
            }
            writing.last = began;
        }
    }

    /// True if this version was written too slowly, or is.
    fn is_in(&self, version: u64) -> bool {
        let is_now = |writing: &Writing| writing.version == version && writing.is_slow();
        self.found.contains(&version) || self.writing.as_ref().is_some_and(is_now)
    }
}

impl Writing {
    fn is_slow(&self) -> bool {
        self.last.elapsed() > REST || self.grows && self.began.elapsed() > GROWTH
    }
}

impl Case {
    pub(crate) fn completed(&self, version: u64) {
        let mut complete = self.complete.lock().unwrap();
        if complete.len() == KNOWN {
            complete.pop_front();
        }
        complete.push_back((version, Instant::now()));
    }

    /// Lengths of a file that is rewritten in place do not change.
    pub(crate) fn length_of(&self, version: u64) -> usize {
        match self.way {
            Way::Rename | Way::Truncated => {
                self.length + usize::try_from(version % 7).unwrap() * 500
            }
            Way::InPlace | Way::InPlaceTimePutBack | Way::Grown => self.length,
        }
    }

    pub(crate) fn write(&self, path: &Path, version: u64) {
        let content = content(version, self.length_of(version));
        let pieces = content.chunks(content.len().div_ceil(3));
        match self.way {
            Way::Rename => {
                let other = path.with_extension("new");
                std::fs::write(&other, &content).unwrap();
                // From before the rename on it may be seen.
                std::fs::rename(other, path).unwrap();
            }
            Way::Truncated => {
                self.pauses.lock().unwrap().begin(version, true);
                let mut file = File::create(path).unwrap();
                for piece in pieces {
                    let began = Instant::now();
                    file.write_all(piece).unwrap();
                    self.pauses.lock().unwrap().wrote(began);
                    std::thread::yield_now();
                }
            }
            Way::InPlace | Way::InPlaceTimePutBack => {
                self.pauses.lock().unwrap().begin(version, false);
                let file = File::options()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path);
                let file = file.unwrap();
                let modified = file.metadata().unwrap().modified().unwrap();
                let mut at = 0;
                for piece in pieces {
                    let began = Instant::now();
                    file.write_all_at(piece, at).unwrap();
                    at += u64::try_from(piece.len()).unwrap();
                    self.pauses.lock().unwrap().wrote(began);
                    std::thread::yield_now();
                }
                if self.way == Way::InPlaceTimePutBack && version > 1 {
                    file.set_times(FileTimes::new().set_modified(modified))
                        .unwrap();
                }
            }
            Way::Grown => {
                if version.is_multiple_of(LINES) {
                    let other = path.with_extension("new");
                    std::fs::write(&other, self.lines(version)).unwrap();
                    std::fs::rename(other, path).unwrap();
                } else {
                    let mut file = File::options().append(true).open(path).unwrap();
                    let last = self.base() + version % LINES;
                    file.write_all(line(version / LINES, last).as_bytes())
                        .unwrap();
                }
            }
        }
        self.completed(version);
    }

    /// How many lines a log has before its first version.
    pub(crate) fn base(&self) -> u64 {
        u64::try_from(self.length / 16).unwrap()
    }

    pub(crate) fn lines(&self, version: u64) -> Vec<u8> {
        let lines = 0..=self.base() + version % LINES;
        let lines: String = lines.map(|number| line(version / LINES, number)).collect();
        lines.into_bytes()
    }

    /// Which version a whole answer is; `None` if it is none.
    pub(crate) fn version(&self, body: &[u8]) -> Option<u64> {
        if self.way != Way::Grown {
            let version = u64::from_le_bytes(body.get(..8)?.try_into().unwrap());
            return (content(version, self.length_of(version)) == body).then_some(version);
        }
        let lines = u64::try_from(body.len()).unwrap() / 16;
        let log: u64 = std::str::from_utf8(body.get(..7)?).ok()?.parse().ok()?;
        let appended = lines.checked_sub(self.base() + 1)?;
        let version = log * LINES + appended;
        (appended < LINES && self.lines(version) == body).then_some(version)
    }

    /// True if the version that a torn body begins with was written too slowly.
    fn is_of_a_slow_writer(&self, body: &[u8]) -> bool {
        let version = body.first_chunk().map(|head| u64::from_le_bytes(*head));
        version.is_some_and(|version| self.pauses.lock().unwrap().is_in(version))
    }

    /// An answer to a request that was made at `asked`.
    pub(crate) fn judge(&self, asked: Instant, seen: Seen) {
        let Seen {
            status,
            tag,
            range,
            body,
        } = seen;
        match (status, body) {
            (200 | 206, None) => {
                self.cut.fetch_add(1, Ordering::Relaxed);
            }
            (200, Some(body)) => {
                self.whole.fetch_add(1, Ordering::Relaxed);
                let Some(version) = self.version(&body) else {
                    let (count, why) = match self.is_of_a_slow_writer(&body) {
                        true => (&self.slow, "its writer was slow"),
                        false => (&self.torn, "torn"),
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                    println!("{}: {why}: {} under {tag}", self.name, versions_in(&body));
                    return;
                };
                self.note_tag(tag, version);
                let complete = self.complete.lock().unwrap();
                let next = complete.iter().position(|&(known, _)| known > version);
                if let Some((_, since)) = next.map(|at| complete[at])
                    && let Some(age) = asked.checked_duration_since(since)
                {
                    let age = u64::try_from(age.as_micros()).unwrap();
                    self.stale.fetch_max(age, Ordering::Relaxed);
                }
            }
            (206, Some(body)) => {
                self.parts.fetch_add(1, Ordering::Relaxed);
                let tags = self.tags.lock().unwrap();
                let known = tags.iter().find(|(known, _)| *known == tag);
                if let Some(&(_, version)) = known {
                    drop(tags);
                    let whole = self.expected(version);
                    let range = range.start..range.end.min(whole.len());
                    let right = whole.get(range).is_some_and(|part| part == body);
                    if !right {
                        self.torn.fetch_add(1, Ordering::Relaxed);
                        println!("{}: a part that is not of {tag}", self.name);
                    }
                }
            }
            (503, _) => {
                self.unavailable.fetch_add(1, Ordering::Relaxed);
            }
            // A part of a file that has become shorter, or is not there yet.
            (416, _) => {}
            (status, _) => panic!("{}: {status}", self.name),
        }
    }

    pub(crate) fn expected(&self, version: u64) -> Vec<u8> {
        match self.way {
            Way::Grown => self.lines(version),
            _ => content(version, self.length_of(version)),
        }
    }

    /// One strong tag is of one version, for ever.
    pub(crate) fn note_tag(&self, tag: String, version: u64) {
        if tag.starts_with("W/") {
            return;
        }
        let mut tags = self.tags.lock().unwrap();
        match tags.iter().find(|(known, _)| *known == tag) {
            Some(&(_, known)) => {
                if known != version {
                    self.torn.fetch_add(1, Ordering::Relaxed);
                    println!("{}: {tag} is of {known} and of {version}", self.name);
                }
            }
            None => {
                if tags.len() == KNOWN / 16 {
                    tags.pop_front();
                }
                tags.push_back((tag, version));
            }
        }
    }
}

/// What a client saw; no body if the answer was cut.
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) tag: String,
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) body: Option<Vec<u8>>,
}
