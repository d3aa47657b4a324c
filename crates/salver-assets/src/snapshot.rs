//! Reading one whole version of a file, although somebody may be writing to it.
//!
//! The kernel stamps the modification time when a write *begins*, so equal times before and after
//! reading do not prove that no write was under way. What does: the last change lies far enough
//! back, and none came meanwhile. A file that is replaced by rename is complete from the start and
//! its old handle stays what it was; only a file that is rewritten in place makes us wait.

use std::io::{self, Read};
use std::time::{Duration, Instant, SystemTime};

use crate::error::Stop;
use crate::source::{Identity, Opened, Patience, Reader};

/// How far back the last change must lie, as patience runs out. The later rows also read twice and
/// compare. None goes below 10 ms, the coarsest tick with which kernels stamp file times.
const TIERS: [Tier; 3] = [
    Tier {
        until: Duration::from_millis(200),
        quiet: Duration::from_millis(50),
        twice: false,
    },
    Tier {
        until: Duration::from_secs(1),
        quiet: Duration::from_millis(20),
        twice: true,
    },
    Tier {
        until: Duration::from_secs(3),
        quiet: Duration::from_millis(11),
        twice: true,
    },
];

struct Tier {
    /// Since the beginning.
    until: Duration,
    quiet: Duration,
    twice: bool,
}

/// File systems with whole-second times cannot tell two changes within this apart.
const COARSE: Duration = Duration::from_secs(2);

/// Whether an equal identity may still hide another change: the file system keeps whole seconds
/// and the last change is younger than its resolution.
pub(crate) fn may_change_unseen(identity: &Identity) -> bool {
    identity.modified.nanoseconds == 0
        && identity.changed.nanoseconds == 0
        && identity.changed.distance(SystemTime::now()) < COARSE
}

/// Whether the file changed so recently that the next change may come while it is sent.
pub(crate) fn changes_now(identity: &Identity) -> bool {
    identity.changed.distance(SystemTime::now()) < COARSE
}

/// Runs `read` over the whole content until what it gives belongs to one version.
///
/// `read` gets a reader of exactly the file's length; a file that shrinks meanwhile gives it an
/// early end, which this function notices. It may run more than once.
pub(crate) fn steady<T: PartialEq>(
    opened: &Opened,
    patience: Patience,
    mut read: impl FnMut(&mut Cursor<'_>) -> io::Result<T>,
) -> Result<T, Stop> {
    let began = Instant::now();
    let identity = opened.metadata.identity;
    let mut before = identity;
    loop {
        let waited = began.elapsed();
        let Some(tier) = TIERS.iter().find(|tier| waited < tier.until) else {
            return Err(Stop::Unsettled);
        };
        let since = before.modified.distance(SystemTime::now());
        if changeable(&opened.reader) && since < tier.quiet {
            if patience == Patience::MustNotWait {
                return Err(Stop::WouldWait);
            }
            std::thread::sleep(tier.quiet - since);
        } else {
            let mut cursor = Cursor::new(opened, patience);
            let value = read(&mut cursor)?;
            let again = tier.twice && read(&mut Cursor::new(opened, patience))? != value;
            let whole = !cursor.ended_early;
            let after = now(opened)?;
            if whole && !again && same_content(&before, &after) {
                // The handle still gives one version, but not the one that was found: the
                // validators would not fit.
                let found = same_content(&identity, &after);
                return if found { Ok(value) } else { Err(Stop::Changed) };
            }
        }
        before = now(opened)?;
        if before.length != identity.length {
            return Err(Stop::Changed);
        }
    }
}

fn changeable(reader: &Reader) -> bool {
    matches!(reader, Reader::File(_))
}

fn now(opened: &Opened) -> io::Result<Identity> {
    let metadata = opened.reader.metadata()?;
    Ok(metadata.unwrap_or(opened.metadata).identity)
}

/// The change time is left out: it also moves when the file loses its name, which replacing it by
/// rename does.
pub(crate) fn same_content(one: &Identity, other: &Identity) -> bool {
    one.length == other.length && one.modified == other.modified && one.inode == other.inode
}

/// Reads an opened file from its start to the length it had when it was opened.
pub(crate) struct Cursor<'a> {
    opened: &'a Opened,
    patience: Patience,
    offset: u64,
    ended_early: bool,
}

impl<'a> Cursor<'a> {
    fn new(opened: &'a Opened, patience: Patience) -> Self {
        Cursor {
            opened,
            patience,
            offset: 0,
            ended_early: false,
        }
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.opened.metadata.identity.length
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length() - self.offset;
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(buffer) = buffer.get_mut(..most).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let count = self
            .opened
            .reader
            .read_at(buffer, self.offset, self.patience)?;
        self.ended_early |= count == 0;
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Metadata, Timestamp};
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    fn open(path: &std::path::Path) -> Opened {
        let file = File::open(path).unwrap();
        let metadata = Metadata::of(&file).unwrap();
        Opened {
            metadata,
            reader: Reader::File(Arc::new(file)),
        }
    }

    fn all(cursor: &mut Cursor<'_>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        cursor.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn settled_file() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"one").unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        file.as_file().set_modified(long_ago).unwrap();
        file
    }

    #[test]
    fn a_quiet_file_is_read_at_once() {
        let file = settled_file();
        let opened = open(file.path());
        assert_eq!(steady(&opened, Patience::MayWait, all).unwrap(), b"one");
    }

    #[test]
    fn a_file_that_has_just_been_written_is_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"one").unwrap();
        let opened = open(file.path());
        let result = steady(&opened, Patience::MustNotWait, all);
        assert!(matches!(result, Err(Stop::WouldWait)));
        assert_eq!(steady(&opened, Patience::MayWait, all).unwrap(), b"one");
        let since = opened
            .metadata
            .identity
            .modified
            .distance(SystemTime::now());
        assert!(since >= TIERS[2].quiet);
    }

    #[test]
    fn a_change_meanwhile_is_noticed() {
        let check = |change: &dyn Fn(&File)| {
            let file = settled_file();
            let opened = open(file.path());
            let writer = File::options().write(true).open(file.path()).unwrap();
            let mut changed = false;
            let result = steady(&opened, Patience::MayWait, |cursor| {
                let bytes = all(cursor)?;
                if !std::mem::replace(&mut changed, true) {
                    change(&writer);
                }
                Ok(bytes)
            });
            assert!(matches!(result, Err(Stop::Changed)), "{result:?}");
        };
        check(&|file| file.write_all_at(b"two", 0).unwrap());
        check(&|file| file.set_len(1).unwrap());
        check(&|file| file.write_all_at(b"longer", 0).unwrap());
    }

    #[test]
    fn replacing_by_rename_does_not_disturb() {
        let file = settled_file();
        let opened = open(file.path());
        let other = tempfile::NamedTempFile::new().unwrap();
        let result = steady(&opened, Patience::MayWait, |cursor| {
            std::fs::write(other.path(), b"two")?;
            std::fs::rename(other.path(), file.path())?;
            let bytes = all(cursor);
            std::fs::write(other.path(), b"")?;
            bytes
        });
        assert_eq!(result.unwrap(), b"one");
    }

    #[test]
    fn whole_second_times_are_trusted_only_when_old() {
        let mut identity = open(settled_file().path()).metadata.identity;
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let seconds = i64::try_from(now.as_secs()).unwrap();
        let mut check = |age: i64, nanoseconds: u32, expected: bool| {
            identity.modified = Timestamp {
                seconds: seconds - age,
                nanoseconds: 0,
            };
            identity.changed = Timestamp {
                seconds: seconds - age,
                nanoseconds,
            };
            assert_eq!(may_change_unseen(&identity), expected);
        };
        check(0, 0, true);
        check(100, 0, false);
        check(0, 5, false);
    }
}
