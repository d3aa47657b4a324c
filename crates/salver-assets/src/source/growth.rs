//! Files that only grow: logs, recordings, uploads under way.
//!
//! One that is appended to all the time never rests, and there is nothing to wait for: its bytes up to the
//! length that it had at a look are a state of it. But a version that is being written from its start
//! grows, too, and half of it is no version; and each version may be longer than the one before. What tells them
//! apart is time, and what stays: a file that has done nothing but grow for a while, and still has what it had, is
//! taken for one that goes on so. The proof that all of its beginning stays comes with reading it (`snapshot.rs`)
//! and sending it (`file_content.rs`).

use std::io;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3;

use crate::source::identity::{changed_within, has_grown};
use crate::source::{Identity, Patience, Reader};

/// The time for which a file has to be seen growing, and the number of times.
const SEEN_FOR: Duration = Duration::from_millis(500);
const SEEN_TIMES: u32 = 2;

/// The rest after which a file that was seen growing is no longer taken for one that grows.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// The growth of a file as the looks of one load saw it, whatever time passed between them.
#[derive(Debug, Default)]
pub(crate) struct Growth(Option<Sighting>);

#[derive(Clone, Copy, Debug)]
struct Sighting {
    last: Identity,
    grown: Option<Grown>,
}

/// What has been seen growing.
#[derive(Clone, Copy, Debug)]
struct Grown {
    /// When it was first known what the file has: before that, it may have had anything.
    first: Instant,
    times: u32,
    /// What the file had up to the length of the last look.
    sample: Sample,
}

/// A hash of the first and the last bytes of what a file holds up to some length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample(u128);

/// The bytes of a sample at either end.
const SAMPLED: usize = 4096;

impl Sample {
    /// The sample up to `length`; `None` if the file is shorter.
    ///
    /// # Errors
    /// `WouldBlock` if it would wait and must not; else the file's error.
    pub(crate) fn take(
        reader: &Reader,
        length: u64,
        patience: Patience,
    ) -> io::Result<Option<Self>> {
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(SAMPLED);
        let mut bytes = [0; SAMPLED];
        let bytes = bytes.get_mut(..count).unwrap_or_default();
        let last = length - u64::try_from(count).unwrap_or(length);
        let mut hasher = Xxh3::default();
        for offset in [0, last] {
            if reader.read_at(bytes, offset, patience)? < count {
                return Ok(None);
            }
            hasher.update(bytes);
        }
        Ok(Some(Sample(hasher.digest128())))
    }
}

impl Growth {
    /// Records one look at the file. If it is taken for one that grows, returns what it has up to this length.
    /// `known` is the identity under which it was known to grow before the load, and what it had then; `sample` takes
    /// a [`Sample`] up to a length.
    ///
    /// # Errors
    /// Those of `sample`, which is only asked once the file is longer than it was.
    pub(crate) fn look<E>(
        &mut self,
        known: Option<(&Identity, Sample)>,
        identity: &Identity,
        sample: impl Fn(u64) -> Result<Option<Sample>, E>,
    ) -> Result<Option<Sample>, E> {
        if let Some((known, had)) = known
            && changed_within(identity, KNOWN_FOR)
        {
            if known == identity {
                return Ok(Some(had));
            }
            if has_grown(known, identity) && sample(known.length)? == Some(had) {
                return sample(identity.length);
            }
        }
        let now = Instant::now();
        let sighting = match self.0 {
            Some(seen) if seen.last == *identity => seen,
            Some(seen) if has_grown(&seen.last, identity) => {
                let (first, times) = match seen.grown {
                    Some(grown) if sample(seen.last.length)? == Some(grown.sample) => {
                        (grown.first, grown.times + 1)
                    }
                    _ => (now, 1),
                };
                let grown = sample(identity.length)?.map(|sample| Grown {
                    first,
                    times,
                    sample,
                });
                Sighting {
                    last: *identity,
                    grown,
                }
            }
            _ => Sighting {
                last: *identity,
                grown: None,
            },
        };
        self.0 = Some(sighting);
        let long = |grown: &Grown| {
            grown.times >= SEEN_TIMES && now.duration_since(grown.first) >= SEEN_FOR
        };
        Ok(sighting.grown.filter(long).map(|grown| grown.sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Timestamp;
    use std::time::SystemTime;

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

    /// Looks at the file each time that it is longer, with what it holds, until it would count as growing.
    fn look_long(growth: &mut Growth, content: impl Fn(i64) -> Vec<u8>) -> bool {
        let mut first = None;
        for step in 0_i64.. {
            let since_first = first.map_or(Duration::ZERO, |first: Instant| first.elapsed());
            let bytes = content(step);
            let length = u64::try_from(bytes.len()).unwrap();
            let reader = Reader::Memory(bytes.into());
            let sample = |length| Sample::take(&reader, length, Patience::MayWait);
            let grows = growth.look(None, &identity(length, step), sample).unwrap();
            // What it has is known from the second look on.
            if step > 0 {
                first.get_or_insert_with(Instant::now);
            }
            if since_first >= SEEN_FOR && step > 2 {
                return grows.is_some();
            }
            std::thread::yield_now();
        }
        panic!("it goes on until it has seen enough")
    }

    #[test]
    fn what_grows_keeps_what_it_had() {
        let length = |step: i64| 20_000 + usize::try_from(step).unwrap();
        assert!(look_long(&mut Growth::default(), |step| vec![
            b'x';
            length(step)
        ]));
        let other = |step: i64| u8::try_from(step % 200).unwrap();
        assert!(!look_long(&mut Growth::default(), |step| vec![
            other(step);
            length(step)
        ]));
        let end = |step: i64| {
            let mut bytes = vec![b'x'; length(step)];
            bytes[10_000..].fill(other(step));
            bytes
        };
        assert!(
            !look_long(&mut Growth::default(), end),
            "a new version with the same head"
        );
        let first = |step: i64| {
            let mut bytes = vec![b'x'; length(step)];
            bytes[0] = other(step);
            bytes
        };
        assert!(
            !look_long(&mut Growth::default(), first),
            "a new version with the same end"
        );
    }

    #[test]
    fn growing_takes_time_and_nothing_but_growth() {
        let mut growth = Growth::default();
        let same = |_| Ok::<_, io::Error>(Some(Sample(0)));
        let mut look = |identity: &Identity| growth.look(None, identity, same).unwrap().is_some();
        assert!(!look(&identity(9, 0)));
        let before = Instant::now();
        assert!(!look(&identity(10, 0)));
        let after = Instant::now();
        for step in 1_i64.. {
            let long_enough = after.elapsed() >= SEEN_FOR && step > 1;
            let grows = look(&identity(10 + u64::try_from(step).unwrap(), step));
            assert!(!grows || before.elapsed() >= SEEN_FOR, "too soon");
            if long_enough {
                assert!(grows);
                break;
            }
            std::thread::yield_now();
        }
        assert!(!look(&identity(5, i64::MAX)), "it was cut");
        assert!(!look(&identity(5, i64::MAX)), "it rests");
    }

    #[test]
    fn what_was_known_to_grow_has_what_it_had() {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let now = i64::try_from(now).unwrap();
        let take = |content: &'static [u8], length| {
            Sample::take(&Reader::Static(content), length, Patience::MayWait)
        };
        let had = take(b"12345", 5).unwrap().unwrap();
        let known = identity(5, now - 1);
        let check = |content: &'static [u8], modified, expected: Option<u64>| {
            let length = u64::try_from(content.len()).unwrap();
            let grown = Growth::default().look(
                Some((&known, had)),
                &identity(length, modified),
                |length| take(content, length),
            );
            let expected = expected.map(|length| take(content, length).unwrap().unwrap());
            assert_eq!(grown.unwrap(), expected, "{content:?}");
        };
        check(b"12345", now - 1, Some(5));
        check(b"12345678", now, Some(8));
        // Another version, which is longer already.
        check(b"abcdefgh", now, None);
        check(b"1234", now, None);
    }
}
