//! Limits on log lines: each thing is logged once, and few of a kind in a minute.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use salver_semantics::ContentCoding;

use crate::sync::Lock;

/// The things that are remembered as logged; beyond that all may be logged again.
const REMEMBERED: usize = 4096;

/// The lines of one kind in a minute that name paths: strangers choose those, and a log must not be
/// theirs to fill.
pub(crate) const PATHS: u64 = 4;

/// The lines of one kind in a minute that name files which exist: each only once, so that more may
/// be said.
const FILES: u64 = 64;

/// A limit on a kind of log line that can be due very often: a few in a minute. What would be a
/// line each time costs a look at the clock and an atomic read then.
#[derive(Debug)]
pub struct LogLimit {
    most: u64,
    /// The moment at which the present minute began, in milliseconds of the caller's clock and plus one,
    /// above the number of lines said in it; 0 is never.
    state: AtomicU64,
}

impl LogLimit {
    const PAUSE: u64 = 60_000;

    /// The bits that the number of lines has.
    const COUNT: u32 = 16;

    /// A limit of one line in a minute.
    pub const fn new() -> Self {
        LogLimit::at_most(1)
    }

    const fn at_most(most: u64) -> Self {
        LogLimit {
            most,
            state: AtomicU64::new(0),
        }
    }

    /// True if to say it now; `since_start` is the time on any clock that only goes forward.
    pub fn permits(&self, since_start: Duration) -> bool {
        let now = u64::try_from(since_start.as_millis()).unwrap_or(u64::MAX);
        let now = now.min(u64::MAX >> (Self::COUNT + 1)) + 1;
        let next = |state: u64| {
            let (began, said) = (state >> Self::COUNT, state & ((1 << Self::COUNT) - 1));
            if state == 0 || now.saturating_sub(began) >= Self::PAUSE {
                Some(now << Self::COUNT | 1)
            } else {
                (said < self.most).then_some(state + 1)
            }
        };
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        self.state.fetch_update(set, get, next).is_ok()
    }
}

impl Default for LogLimit {
    fn default() -> Self {
        LogLimit::new()
    }
}

/// The looks for siblings that this build does not decode. Where so many found none there are none, as a rule, and who
/// has none does not pay for a line of the log for ever.
const LOOKS_FOR_UNDECODED: u32 = 3000;

/// The throttle of an engine's log: each thing once, and of each kind a few in a minute.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    hasher: foldhash::fast::RandomState,
    /// True if nothing is held back.
    says_each: AtomicBool,
    said: Lock<HashSet<u64>>,
    /// The codings, each a bit, of which a sibling was logged that this build does not decode.
    undecoded: AtomicU8,
    /// The looks that are left for such siblings.
    looks_for_undecoded: AtomicU32,
    /// Links that may not be followed.
    pub(crate) refused: LogLimit,
    /// Directories that have gone.
    pub(crate) gone: LogLimit,
    /// Files that may not be read.
    pub(crate) forbidden: LogLimit,
    /// Loads that ran out of something.
    pub(crate) overloaded: LogLimit,
    /// Loads that failed otherwise.
    pub(crate) failed: LogLimit,
    /// Files that are rewritten all the time.
    pub(crate) unsettled: LogLimit,
    /// Siblings that are not what they should be.
    pub(crate) siblings: LogLimit,
    /// Values of Cache-Control that are not valid.
    pub(crate) cache_control: LogLimit,
    /// Faults in files of rules.
    pub(crate) rules: LogLimit,
    /// Placeholders in pages that cannot be replaced.
    pub(crate) placeholders: LogLimit,
}

impl Default for LogThrottle {
    fn default() -> Self {
        LogThrottle {
            hasher: foldhash::fast::RandomState::default(),
            says_each: AtomicBool::new(false),
            said: Lock::default(),
            undecoded: AtomicU8::new(0),
            looks_for_undecoded: AtomicU32::new(LOOKS_FOR_UNDECODED),
            refused: LogLimit::at_most(PATHS),
            gone: LogLimit::at_most(FILES),
            forbidden: LogLimit::at_most(PATHS),
            overloaded: LogLimit::at_most(PATHS),
            failed: LogLimit::at_most(PATHS),
            unsettled: LogLimit::at_most(PATHS),
            siblings: LogLimit::at_most(FILES),
            cache_control: LogLimit::at_most(PATHS),
            rules: LogLimit::at_most(FILES),
            placeholders: LogLimit::at_most(FILES),
        }
    }
}

impl LogThrottle {
    /// A throttle that holds nothing back, if `says_each`.
    pub(crate) fn of(says_each: bool) -> Self {
        LogThrottle {
            says_each: AtomicBool::new(says_each),
            ..LogThrottle::default()
        }
    }

    /// Holds nothing back from now on.
    pub(crate) fn say_each(&self) {
        self.says_each.store(true, Ordering::Relaxed);
    }

    /// The end of a line of which there are so many in a minute at most.
    pub(crate) fn limit(&self, most: u64) -> String {
        match self.says_each.load(Ordering::Relaxed) {
            true => String::new(),
            false => format!(" (at most {most} such lines a minute)"),
        }
    }

    /// True if a sibling in this coding, which this build does not decode, is worth a look: none was logged yet, and not
    /// all looks were in vain.
    pub(crate) fn looks_for_undecoded(&self, coding: ContentCoding) -> bool {
        let is_known = self.undecoded.load(Ordering::Relaxed) & bit_of(coding) != 0;
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        let next = |left: u32| left.checked_sub(1);
        let left = &self.looks_for_undecoded;
        !is_known && left.fetch_update(set, get, next).is_ok()
    }

    /// True if a sibling in this coding, which this build does not decode, is to be logged now: for the first time.
    pub(crate) fn first_undecoded(&self, coding: ContentCoding) -> bool {
        let bit = bit_of(coding);
        self.undecoded.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// True if `thing`, of this kind, is to be logged now: for the first time, and not as one of too many. A
    /// thing that is not logged may be another time.
    pub(crate) fn first(&self, kind: &LogLimit, now: Duration, thing: impl Hash) -> bool {
        if self.says_each.load(Ordering::Relaxed) {
            return true;
        }
        let hash = self.hasher.hash_one(thing);
        let mut said = self.said.hold();
        if said.contains(&hash) || !kind.permits(now) {
            return false;
        }
        if said.len() >= REMEMBERED {
            said.clear();
        }
        said.insert(hash)
    }
}

/// The bit of a coding in [`LogThrottle::undecoded`].
fn bit_of(coding: ContentCoding) -> u8 {
    match coding {
        ContentCoding::Identity => 1,
        ContentCoding::Brotli => 2,
        ContentCoding::Zstd => 4,
        ContentCoding::Gzip => 8,
    }
}

/// Text that may hold anything, made part of a line: in quotes, and without control characters.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_so_often_a_minute() {
        let (once, thrice) = (LogLimit::new(), LogLimit::at_most(3));
        let check = |thing: &LogLimit, seconds, expected| {
            let found = thing.permits(Duration::from_secs(seconds));
            assert_eq!(found, expected, "at {seconds} s");
        };
        for (seconds, expected) in [(0, true), (0, false), (59, false), (60, true), (61, false)] {
            check(&once, seconds, expected);
        }
        check(&once, 1000, true);
        for (seconds, expected) in [(5, true), (6, true), (64, true), (64, false), (65, true)] {
            check(&thrice, seconds, expected);
        }
        let forever = LogLimit::new();
        assert!(forever.permits(Duration::MAX) && !forever.permits(Duration::MAX));
    }

    #[test]
    fn a_thing_is_said_once_and_memory_is_bounded() {
        let said = LogThrottle::default();
        let kind = LogLimit::at_most(2);
        let minute = Duration::from_secs(60);
        assert!(said.first(&kind, minute, ("a", 1)));
        assert!(!said.first(&kind, minute, ("a", 1)));
        assert!(said.first(&kind, minute, ("a", 2)));
        // One too many now, and not forgotten.
        assert!(!said.first(&kind, minute, ("a", 3)));
        assert!(said.first(&kind, minute * 2, ("a", 3)));
        assert!(!said.first(&kind, minute * 3, ("a", 1)));
        let all = LogLimit::at_most(u64::MAX);
        (0..10 * REMEMBERED).for_each(|thing| {
            said.first(&all, minute, thing);
        });
        assert!(said.said.hold().len() <= REMEMBERED);
        let each = LogThrottle::of(true);
        assert!((0..10).all(|_| each.first(&kind, minute, ("a", 1))));
        assert_eq!(each.limit(4), "");
    }

    #[test]
    fn who_has_no_sibling_pays_for_no_look_in_the_end() {
        let said = LogThrottle::default();
        let looks = |coding| said.looks_for_undecoded(coding);
        assert!(looks(ContentCoding::Brotli) && said.first_undecoded(ContentCoding::Brotli));
        assert!(!looks(ContentCoding::Brotli) && !said.first_undecoded(ContentCoding::Brotli));
        let gzip = (0..2 * LOOKS_FOR_UNDECODED).filter(|_| looks(ContentCoding::Gzip));
        assert_eq!(gzip.count(), 2999);
    }

    #[test]
    fn what_strangers_send_makes_no_line_of_its_own() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(quoted(bytes), expected);
        check(b"/a b", "\"/a b\"");
        check(b"/x\n2026 INFO \x1b[31m", "\"/x\\n2026 INFO \\u{1b}[31m\"");
        check("/\u{202e}\u{2028}".as_bytes(), "\"/\\u{202e}\\u{2028}\"");
        check(b"/\xff\"", "\"/\u{fffd}\\\"\"");
    }
}
