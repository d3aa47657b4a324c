//! The lines of one loop that wait to be written, and when the writer is to be woken for them.
//!
//! A loop must not wait, not even for a writer that was interrupted while it holds a lock. So a queue has two
//! lanes, each a buffer behind a lock of its own. The writer holds one lock at a time, and only to exchange a
//! full buffer for an empty one; the loop takes whichever lane is free. Nothing is copied between them, and
//! memory is touched only as far as lines wait.

use crate::sync::{AtomicU8, AtomicU64, Mutex, Ordering, hold, try_hold};

/// The lanes of a queue.
pub(crate) const LANES: usize = 2;

/// How often a loop tries a lane. The writer holds one at a time, and each at most twice between two of its
/// system calls, so that it is elsewhere before a loop that is not interrupted has tried so often.
const TRIES: usize = 8;

/// The lines of one loop that wait to be written.
#[derive(Debug)]
pub(crate) struct Queue {
    lanes: [Mutex<Lane>; LANES],
    /// The bytes that each lane has.
    lane_bytes: usize,
    /// The room that a lane must have for a line before it is made.
    line_bytes: usize,
    dropped: AtomicU64,
    sampled_out: AtomicU64,
}

/// Whole lines.
#[derive(Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    lines: u64,
}

impl Queue {
    /// A queue of so many bytes in all, for lines of at most `line_bytes`.
    pub(crate) fn new(bytes: usize, line_bytes: usize) -> Queue {
        Queue {
            lanes: [Mutex::new(Lane::default()), Mutex::new(Lane::default())],
            lane_bytes: (bytes / LANES).max(line_bytes),
            line_bytes,
            dropped: AtomicU64::new(0),
            sampled_out: AtomicU64::new(0),
        }
    }

    /// Appends the line that `write` makes, and says how many bytes wait in its lane now. `None` if there is
    /// no room: then the line is counted as dropped. Never waits. Only one thread may call this.
    pub(crate) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) -> Option<usize> {
        let tries = self.lanes.iter().cycle().take(TRIES);
        let mut free = tries.filter_map(|lane| try_hold(lane.try_lock()));
        let Some(mut lane) =
            free.find(|lane| lane.bytes.len() + self.line_bytes <= self.lane_bytes)
        else {
            self.count_dropped(1);
            return None;
        };
        if lane.bytes.capacity() < self.lane_bytes {
            // At once, so that it never moves; what is not written to is not memory yet.
            let missing = self.lane_bytes - lane.bytes.len();
            lane.bytes.reserve_exact(missing);
        }
        write(&mut lane.bytes);
        lane.lines += 1;
        Some(lane.bytes.len())
    }

    /// Exchanges the lines of a lane for the empty buffer, and says how many they are.
    pub(crate) fn take(&self, lane: usize, empty: &mut Vec<u8>) -> u64 {
        let Some(lane) = self.lanes.get(lane) else {
            return 0;
        };
        let mut lane = hold(lane.lock());
        if lane.lines > 0 {
            std::mem::swap(&mut lane.bytes, empty);
        }
        std::mem::take(&mut lane.lines)
    }

    /// True if no line waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| hold(lane.lock()).lines == 0)
    }

    /// The bytes in a lane from which on the writer is to be woken.
    pub(crate) fn many(&self) -> usize {
        self.lane_bytes / 4
    }

    /// Counts lines that nobody will write.
    pub(crate) fn count_dropped(&self, lines: u64) {
        self.dropped.fetch_add(lines, Ordering::Relaxed);
    }

    /// Counts an entry that was not in the sample.
    pub(crate) fn count_sampled_out(&self) {
        self.sampled_out.fetch_add(1, Ordering::Relaxed);
    }

    /// The lines that were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The entries that were not in the sample so far.
    pub(crate) fn sampled_out(&self) -> u64 {
        self.sampled_out.load(Ordering::Relaxed)
    }
}

/// The attention of the writer for one log: whether a loop that has appended a line must wake it.
///
/// ```text
///          a line comes                    rest(Timed)               nothing came meanwhile
///  Idle ───────────────> Awake ───────────────────────> Timed ───────────────────────────> Idle
///                          ^   all lines are written      │  many lines wait, or its time is over
///                          └──────────────────────────────┘
/// ```
///
/// The writer says that it is idle, and then looks once more into every queue. Each queue's lock orders that
/// look and the loop's line: either the writer finds the line, or the loop, whose look at the attention comes
/// after it had the lock, finds the writer idle and wakes it.
#[derive(Debug)]
pub(crate) struct Attention(AtomicU8);

const AWAKE: u8 = 0;
const TIMED: u8 = 1;
const IDLE: u8 = 2;
const GONE: u8 = 3;

/// How the writer rests from a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// It comes back soon by itself.
    Timed,
    /// It does not come back unless it is woken.
    Idle,
}

impl Attention {
    /// The writer is idle.
    pub(crate) fn new() -> Attention {
        Attention(AtomicU8::new(IDLE))
    }

    /// True if the caller, who has appended a line, must wake the writer; `many` says that many wait.
    pub(crate) fn wants_waking(&self, many: bool) -> bool {
        let state = self.0.load(Ordering::Acquire);
        let is_wanted = state == IDLE || state == TIMED && many;
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        // One of several callers wakes it.
        is_wanted
            && self
                .0
                .compare_exchange(state, AWAKE, order.0, order.1)
                .is_ok()
    }

    /// The writer rests from this log. When it rests idly it must look into the queues once more.
    pub(crate) fn rest(&self, rest: Rest) {
        let state = match rest {
            Rest::Timed => TIMED,
            Rest::Idle => IDLE,
        };
        self.0.store(state, Ordering::Release);
    }

    /// The writer is at work on this log.
    pub(crate) fn wake(&self) {
        self.0.store(AWAKE, Ordering::Release);
    }

    /// True if somebody woke the writer for this log.
    pub(crate) fn is_awake(&self) -> bool {
        self.0.load(Ordering::Acquire) == AWAKE
    }

    /// The writer is gone for good.
    pub(crate) fn end(&self) {
        self.0.store(GONE, Ordering::Release);
    }

    /// True if nobody will write any more lines.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed) == GONE
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn push(queue: &Queue, line: &str) -> Option<usize> {
        queue.push(|out| out.extend_from_slice(line.as_bytes()))
    }

    fn take_all(queue: &Queue) -> (Vec<String>, u64) {
        let mut lines = 0;
        let texts = (0..LANES).map(|lane| {
            let mut bytes = Vec::new();
            lines += queue.take(lane, &mut bytes);
            String::from_utf8(bytes).unwrap()
        });
        (texts.collect(), lines)
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        // Two lanes of 10 bytes, which take a line as long as 4 are free.
        let queue = Queue::new(20, 4);
        let expected = [Some(4), Some(8), Some(4), Some(8), None, None];
        assert_eq!(expected.map(|_| push(&queue, "abc\n")), expected);
        assert_eq!(queue.dropped(), 2);
        assert!(!queue.is_empty());
        let eight = "abc\nabc\n".to_owned();
        assert_eq!(take_all(&queue), (vec![eight.clone(), eight], 4));
        assert!(queue.is_empty());
        assert_eq!(push(&queue, "d\n"), Some(2));
        assert_eq!(take_all(&queue), (vec!["d\n".to_owned(), String::new()], 1));
    }

    #[test]
    fn a_lane_that_is_held_is_passed_by() {
        let queue = Queue::new(20, 4);
        let held = queue.lanes[0].lock().unwrap();
        assert_eq!(push(&queue, "a\n"), Some(2));
        drop(held);
        let held = queue.lanes[1].lock().unwrap();
        assert_eq!(push(&queue, "b\n"), Some(2));
        drop(held);
        assert_eq!(
            take_all(&queue),
            (vec!["b\n".to_owned(), "a\n".to_owned()], 2)
        );
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    fn buffers_never_move_and_have_their_bound() {
        let queue = Queue::new(2 * 4096, 64);
        let mut spare = Vec::new();
        for _ in 0..10 {
            while push(&queue, &"x".repeat(64)).is_some() {}
            for lane in 0..LANES {
                spare.clear();
                assert_eq!(queue.take(lane, &mut spare), 64);
                assert_eq!(spare.capacity(), 4096);
            }
        }
    }

    #[test]
    fn the_writer_is_woken_once_and_when_it_is_time() {
        let attention = Attention::new();
        let check = |many, expected| assert_eq!(attention.wants_waking(many), expected);
        check(false, true);
        check(true, false);
        assert!(attention.is_awake());
        attention.rest(Rest::Timed);
        assert!(!attention.is_awake());
        check(false, false);
        check(true, true);
        check(true, false);
        attention.rest(Rest::Idle);
        check(false, true);
        attention.end();
        check(true, false);
        assert!(attention.is_gone());
    }
}

/// Every interleaving, by loom: `RUSTFLAGS="--cfg loom" cargo test -p salver-access-log --lib loom`.
#[cfg(all(test, loom))]
#[allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy takes this cfg for production code"
)]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Condvar};
    use loom::thread;

    /// What the loop and the writer share; the bell is one that rings until it is heard.
    struct Shared {
        queue: Queue,
        attention: Attention,
        bell: Mutex<bool>,
        rung: Condvar,
    }

    fn log(shared: &Shared, byte: u8) {
        let bytes = shared.queue.push(|out| out.push(byte)).unwrap();
        if shared.attention.wants_waking(bytes >= shared.queue.many()) {
            *shared.bell.lock().unwrap() = true;
            shared.rung.notify_one();
        }
    }

    fn take(shared: &Shared, written: &mut Vec<u8>) -> bool {
        let before = written.len();
        for lane in 0..LANES {
            let mut bytes = Vec::new();
            let lines = shared.queue.take(lane, &mut bytes);
            assert_eq!(usize::try_from(lines), Ok(bytes.len()));
            written.extend(bytes);
        }
        written.len() > before
    }

    /// A loop logs so many lines, and the writer, which sleeps until it is woken, writes all of them.
    fn all_are_written(lines: u8) {
        let shared = Arc::new(Shared {
            queue: Queue::new(64, 4),
            attention: Attention::new(),
            bell: Mutex::new(false),
            rung: Condvar::new(),
        });
        let of_loop = Arc::clone(&shared);
        let of_loop = thread::spawn(move || (0..lines).for_each(|line| log(&of_loop, line)));
        let mut written = Vec::new();
        while written.len() < usize::from(lines) {
            shared.attention.wake();
            if take(&shared, &mut written) {
                continue;
            }
            shared.attention.rest(Rest::Idle);
            if !shared.queue.is_empty() {
                continue;
            }
            let mut bell = shared.bell.lock().unwrap();
            while !*bell {
                bell = shared.rung.wait(bell).unwrap();
            }
            *bell = false;
        }
        of_loop.join().unwrap();
        written.sort_unstable();
        assert_eq!(written, (0..lines).collect::<Vec<_>>());
        assert_eq!(shared.queue.dropped(), 0);
    }

    #[test]
    fn loom_one_line_wakes_the_writer() {
        loom::model(|| all_are_written(1));
    }

    #[test]
    fn loom_of_three_lines_none_is_lost() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| all_are_written(3));
    }
}
