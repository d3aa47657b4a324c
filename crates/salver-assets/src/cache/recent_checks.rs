//! Recent checks of a file that stays open: what the kernel said a moment ago of its pages and its version.
//!
//! Both are asked for every answer that is sent from a file, and cost a tenth of it at 100 KiB. Either may cease to
//! be so while the answer leaves anyway: so what was true two milliseconds ago is asked again only after them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The whole milliseconds for which a check holds.
const HOLDS_FOR: u64 = 2;

/// The length of a piece, the least that is known to be in the page cache.
const PIECE: u64 = 32 * 1024;

/// The pieces of a block, one bit each.
const PIECES: u64 = 8;

/// The length of a block, in bytes.
const BLOCK: u64 = PIECE * PIECES;

/// The number of blocks of which something is known, each by its number modulo this.
const BLOCKS: usize = 4;

/// The longest range of which all can be known.
const LONGEST: u64 = BLOCK * 4;

/// The recent checks of one open file, shared by all answers that are sent from it.
#[derive(Debug)]
pub(crate) struct RecentChecks {
    since: Instant,
    /// The millisecond of the last check of the version, plus one.
    unchanged: AtomicU64,
    /// Of each block: the millisecond of the check plus one (32 bits), its number (24), and the pieces found (8).
    /// Each is read and written alone, so that none has to be ordered with others.
    resident: [AtomicU64; BLOCKS],
}

impl Default for RecentChecks {
    fn default() -> Self {
        RecentChecks {
            since: Instant::now(),
            unchanged: AtomicU64::default(),
            resident: Default::default(),
        }
    }
}

impl RecentChecks {
    /// The present moment, for the other functions: the time since the file was opened.
    pub(crate) fn now(&self) -> Duration {
        self.since.elapsed()
    }

    /// Notes that the file is still the version that was opened.
    pub(crate) fn note_unchanged(&self, now: Duration) {
        self.unchanged.store(stamp(now), Ordering::Relaxed);
    }

    /// True if the file was the version that was opened a moment ago.
    pub(crate) fn is_unchanged(&self, now: Duration) -> bool {
        holds(self.unchanged.load(Ordering::Relaxed), now)
    }

    /// Notes that `window` is in the page cache, of a file of `length` bytes.
    pub(crate) fn note_resident(&self, window: &Range<u64>, length: u64, now: Duration) {
        // A piece that is known in part is not known.
        let end = if window.end >= length {
            window.end.next_multiple_of(PIECE)
        } else {
            window.end / PIECE * PIECE
        };
        for (number, pieces) in blocks(&(window.start.next_multiple_of(PIECE)..end)) {
            let Some(slot) = self.slot(number) else {
                return;
            };
            let known = Block::unpack(slot.load(Ordering::Relaxed));
            let block = if known.number == number && holds(known.stamp, now) {
                Block {
                    pieces: known.pieces | pieces,
                    ..known
                }
            } else {
                let stamp = stamp(now);
                Block {
                    stamp,
                    number,
                    pieces,
                }
            };
            if let Some(packed) = block.pack() {
                slot.store(packed, Ordering::Relaxed);
            }
        }
    }

    /// True if all of `window` was in the page cache a moment ago.
    pub(crate) fn is_resident(&self, window: &Range<u64>, now: Duration) -> bool {
        let is_known = |(number, pieces)| {
            let Some(slot) = self.slot(number) else {
                return false;
            };
            let known = Block::unpack(slot.load(Ordering::Relaxed));
            known.number == number && pieces & !known.pieces == 0 && holds(known.stamp, now)
        };
        window.end.saturating_sub(window.start) <= LONGEST && blocks(window).all(is_known)
    }

    fn slot(&self, number: u64) -> Option<&AtomicU64> {
        self.resident
            .get(usize::try_from(number).unwrap_or(usize::MAX) % BLOCKS)
    }
}

/// The pieces of one block that are in the page cache.
struct Block {
    stamp: u64,
    number: u64,
    pieces: u64,
}

impl Block {
    fn unpack(packed: u64) -> Self {
        Block {
            stamp: packed >> 32,
            number: packed >> PIECES & 0xff_ffff,
            pieces: packed & 0xff,
        }
    }

    /// `None` beyond 4 TiB, and after 49 days.
    fn pack(&self) -> Option<u64> {
        let fits = self.stamp <= u64::from(u32::MAX) && self.number <= 0xff_ffff;
        fits.then_some(self.stamp << 32 | self.number << PIECES | self.pieces)
    }
}

/// The numbers of the blocks that `range` touches, with the pieces that it touches of each.
fn blocks(range: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let first = range.start / PIECE;
    let end = range.end.div_ceil(PIECE);
    let blocks = if first < end {
        first / PIECES..end.div_ceil(PIECES)
    } else {
        0..0
    };
    blocks.map(move |number| {
        let from = first.saturating_sub(number * PIECES);
        let to = end.saturating_sub(number * PIECES).min(PIECES);
        (number, (0xff << from) & (0xff >> (PIECES - to)))
    })
}

/// The millisecond plus one, so that 0 is never.
fn stamp(now: Duration) -> u64 {
    u64::try_from(now.as_millis())
        .unwrap_or(u64::MAX)
        .saturating_add(1)
}

fn holds(stamped: u64, now: Duration) -> bool {
    stamped != 0 && stamp(now).saturating_sub(stamped) < HOLDS_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn at(millisecond: u64) -> Duration {
        Duration::from_millis(millisecond)
    }

    #[test]
    fn what_is_noted_holds_for_a_moment() {
        let checks = RecentChecks::default();
        assert!(!checks.is_unchanged(at(0)) && !checks.is_resident(&(0..1), at(0)));
        checks.note_unchanged(at(7));
        checks.note_resident(&(0..100), 100, at(7));
        for (millisecond, expected) in [(7, true), (8, true), (9, false), (1000, false)] {
            let now = at(millisecond);
            assert_eq!(checks.is_unchanged(now), expected, "{millisecond}");
            assert_eq!(
                checks.is_resident(&(0..100), now),
                expected,
                "{millisecond}"
            );
        }
    }

    #[test]
    fn a_piece_that_is_known_in_part_is_not_known() {
        #[track_caller]
        fn check(noted: &[(u64, u64)], asked: (u64, u64), expected: bool) {
            let checks = RecentChecks::default();
            let kib = |&(start, end): &(u64, u64)| start * KIB..end * KIB;
            for window in noted {
                checks.note_resident(&kib(window), 1000 * KIB + 1, at(1));
            }
            assert_eq!(checks.is_resident(&kib(&asked), at(1)), expected);
        }
        check(&[(0, 256)], (0, 256), true);
        check(&[(0, 256)], (31, 33), true);
        check(&[(0, 256)], (0, 257), false);
        check(&[(1, 256)], (0, 2), false);
        check(&[(1, 256)], (1, 2), false);
        check(&[(1, 256)], (32, 256), true);
        check(&[(0, 100)], (0, 100), false);
        check(&[(0, 100)], (0, 96), true);
        check(&[(0, 64), (64, 128)], (0, 128), true);
        check(&[(0, 256), (256, 512), (512, 768)], (0, 768), true);
        check(&[(0, 256), (512, 768)], (0, 768), false);
        check(&[(256, 512)], (0, 256), false);
        // The same place, another block.
        check(&[(0, 32)], (1024, 1056), false);
        check(&[(960, 1001)], (992, 1000), true);
        check(&[(0, 32), (1024, 1056)], (0, 32), false);
    }

    #[test]
    fn all_pieces_of_every_range_are_touched() {
        let touched = |range: &Range<u64>| {
            let pieces = blocks(range).flat_map(|(number, pieces)| {
                let of_block = (0..PIECES).filter(move |piece| pieces >> piece & 1 == 1);
                of_block.map(move |piece| number * PIECES + piece)
            });
            pieces.collect::<Vec<u64>>()
        };
        for start in 0..20 {
            for end in start..40 {
                let whole = start * PIECE..end * PIECE;
                assert_eq!(touched(&whole), (start..end).collect::<Vec<_>>());
                let more = start * PIECE..end * PIECE + 1;
                assert_eq!(touched(&more), (start..=end).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_has_no_room_in_a_slot_is_not_noted() {
        let checks = RecentChecks::default();
        let far = 1 << 50;
        checks.note_resident(&(far..far + BLOCK), u64::MAX, at(1));
        assert!(!checks.is_resident(&(far..far + BLOCK), at(1)));
        let late = at(1 << 40);
        checks.note_resident(&(0..BLOCK), BLOCK, late);
        assert!(!checks.is_resident(&(0..BLOCK), late));
        assert!(!checks.is_resident(&(0..u64::MAX), late));
    }
}
