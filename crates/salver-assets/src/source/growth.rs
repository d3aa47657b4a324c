//! Files that only grow: logs, recordings, uploads under way.
//!
//! One that is appended to all the time never rests, and there is nothing to wait for: its bytes up to the
//! length that it had at a look are a state of it. But a version that is being written from its start
//! grows, too, and half of it is no version. What tells them apart is time: a file that has done nothing but
//! grow for a while is taken for one that goes on so. The proof that its beginning stays what it was comes
//! with reading it (`snapshot.rs`) and sending it (`file_content.rs`).

use std::time::{Duration, Instant};

use crate::source::Identity;
use crate::source::identity::{changed_within, has_grown};

/// The time for which a file has to be seen growing, and the number of times.
const SEEN_FOR: Duration = Duration::from_millis(500);
const SEEN_TIMES: u32 = 2;

/// The rest after which a file that was seen growing is no longer taken for one that grows.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// The growth of a file as the looks of one load saw it, whatever time passed between them.
#[derive(Debug, Default)]
pub(crate) struct Growth(Option<Sighting>);

#[derive(Debug)]
struct Sighting {
    first: Instant,
    last: Identity,
    times: u32,
}

impl Growth {
    /// Records one look at the file and returns whether it is taken for one that grows. `known` is the
    /// identity under which it was known to grow before the load.
    pub(crate) fn look(&mut self, known: Option<&Identity>, identity: &Identity) -> bool {
        if let Some(known) = known
            && (known == identity || has_grown(known, identity))
            && changed_within(identity, KNOWN_FOR)
        {
            return true;
        }
        let now = Instant::now();
        match &mut self.0 {
            Some(seen) if seen.last == *identity => {}
            Some(seen) if has_grown(&seen.last, identity) => {
                seen.last = *identity;
                seen.times += 1;
            }
            seen => {
                *seen = Some(Sighting {
                    first: now,
                    last: *identity,
                    times: 0,
                });
            }
        }
        self.0.as_ref().is_some_and(|seen| {
            seen.times >= SEEN_TIMES && now.duration_since(seen.first) >= SEEN_FOR
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Timestamp;

    fn identity(length: u64, modified: i64) -> Identity {
        let at = |seconds| Timestamp {
            seconds,
            nanoseconds: 5,
        };
        Identity {
            device: 1,
            inode: 2,
            length,
            modified: at(modified),
            changed: at(modified),
        }
    }

    #[test]
    fn growing_takes_time_and_nothing_but_growth() {
        let mut growth = Growth::default();
        let before = Instant::now();
        assert!(!growth.look(None, &identity(10, 0)));
        let after = Instant::now();
        for step in 1_i64.. {
            let long_enough = after.elapsed() >= SEEN_FOR && step > 1;
            let grows = growth.look(None, &identity(10 + u64::try_from(step).unwrap(), step));
            assert!(!grows || before.elapsed() >= SEEN_FOR, "too soon");
            if long_enough {
                assert!(grows);
                break;
            }
            std::thread::yield_now();
        }
        assert!(!growth.look(None, &identity(5, i64::MAX)), "it was cut");
        assert!(!growth.look(None, &identity(5, i64::MAX)), "it rests");
    }
}
