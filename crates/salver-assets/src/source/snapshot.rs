//! Reading one whole version of a file that may be written to at the same time.
//!
//! The kernel stamps the modification time when a write *begins*, so equal times before and after
//! reading do not prove that no write was under way. What does: nobody had the file open for writing when
//! reading began ([`Writers`]), or, where the kernel does not tell, the last change lay far enough back; and
//! none came meanwhile. A file that is replaced by rename is complete from the start and its old handle stays
//! what it was; only a file that is rewritten in place makes us wait.
//!
//! Whoever may write a file may also set its modification time back, as tools that copy times do.
//! The change time cannot be set, so it must stay as well - unless the file lost its last name:
//! that moves it, too, and nothing else can happen to a file which nobody can open any more.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use salver_os::{Writers, has_blocks, writers};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Stop;
use crate::source::digest;
use crate::source::identity::{has_grown, resolution, same_content};
use crate::source::{Identity, Metadata, Opened, Patience, Reader};

/// The time for which an empty file must be seen empty. File systems (ext4, for one) set the length first and
/// the times when they have freed the blocks, which takes tens of milliseconds if the journal is busy, so
/// that times say nothing of a truncation.
const EMPTY_FOR: Duration = Duration::from_millis(100);

/// The same of an empty file that still has blocks. Most likely a truncation is stuck; but a few file systems
/// count attributes, too.
const EMPTY_WITH_BLOCKS_FOR: Duration = Duration::from_secs(1);

/// The rest that a file needs where the kernel does not say whether it is being written. Far less would do
/// for the clock, but not for a writer: between two writes that belong together, or in the midst of one, it
/// may lose its core for as long as a busy machine takes to give it back. A writer that rests for longer than
/// this in the midst of a version cannot be told from one that is done: replacing by rename has no such
/// limit.
const QUIET: Duration = Duration::from_millis(50);

/// The rest that a file needs while it is open for writing: a version that takes long to write is
/// waited for. Logs stay open for as long as their program runs, so their end cannot be waited for.
const QUIET_WITH_WRITER: Duration = Duration::from_secs(1);

/// The time after which a file that has not changed is at rest, even if it is open for writing.
const AT_REST: Duration = Duration::from_secs(10);

/// The time that a load gives a file that never rests.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_secs(3);

/// The moments at which a load first saw the files that did not rest as they are. Between two
/// attempts no thread waits, so what was seen at the first has to be known at the next.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen(RefCell<Vec<(Identity, Instant)>>);

/// The most files that are remembered, more than one load reads: the original and a sibling of each coding.
const MOST_FILES_SEEN: usize = 8;

impl FirstSeen {
    /// The time for which a file is known to have been this version: none at the first look.
    pub(crate) fn age(&self, identity: &Identity) -> Duration {
        let mut seen = self.0.borrow_mut();
        if let Some((_, since)) = seen.iter().find(|(seen, _)| seen == identity) {
            return since.elapsed();
        }
        seen.retain(|(seen, _)| !seen.is_same_file(identity));
        if seen.len() == MOST_FILES_SEEN {
            seen.remove(0);
        }
        seen.push((*identity, Instant::now()));
        Duration::ZERO
    }
}

/// The circumstances of a read: what the load that asks for it may do, and what it has seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadContext<'a> {
    /// The load's permission to wait.
    pub(crate) patience: Patience,
    /// The moment at which the load began.
    pub(crate) since: Instant,
    /// The files as earlier attempts have seen them.
    pub(crate) first_seen: &'a FirstSeen,
    /// True if the file is taken for one that only grows ([`growth`](crate::source::growth)): then its bytes
    /// up to the length that it was found with will do.
    pub(crate) grows: bool,
}

impl<'a> ReadContext<'a> {
    /// The circumstances of what begins now, apart from any load, and may wait.
    pub(crate) fn patient(first_seen: &'a FirstSeen) -> Self {
        ReadContext {
            patience: Patience::MayWait,
            since: Instant::now(),
            first_seen,
            grows: false,
        }
    }

    /// True if the time for a file that never rests is over.
    pub(crate) fn is_spent(self) -> bool {
        self.since.elapsed() >= SETTLE_LIMIT
    }
}

/// The result of `read` over the whole content of the version that was opened.
///
/// `read` gets a reader of exactly the file's length; a file that shrinks meanwhile gives it an
/// early end, which this function notices. The file has to be [settled](settle).
pub(crate) fn steady<T>(
    opened: &Opened,
    context: ReadContext<'_>,
    mut read: impl FnMut(&mut Cursor<'_>) -> io::Result<T>,
) -> Result<T, Stop> {
    settle(opened, context)?;
    let mut cursor = Cursor::new(opened, context);
    let value = read(&mut cursor)?;
    if cursor.ended_early || !(is_still(opened)? || stayed(&cursor, context)?) {
        return Err(Stop::Changed);
    }
    Ok(value)
}

/// Confirms that an open file is one version: every change from then on changes its identity, too. One that
/// is not is not waited for here: that would keep a thread from other files, which [`Stop::RetryAfter`] does
/// not. One that grows need not rest.
pub(crate) fn settle(opened: &Opened, context: ReadContext<'_>) -> Result<(), Stop> {
    let Reader::File(file) = &opened.reader else {
        return Ok(());
    };
    if context.grows {
        return Ok(());
    }
    let wait = rest_needed(opened, file, context)?;
    if wait.is_zero() {
        return Ok(());
    }
    Err(match context.patience {
        Patience::MustNotWait => Stop::WouldWait,
        // No longer at a time: a writer may be done any moment.
        Patience::MayWait => Stop::RetryAfter(wait.min(QUIET)),
    })
}

/// True if a file that grows still begins with what was read of it: nothing of that was written to meanwhile.
fn stayed(read: &Cursor<'_>, context: ReadContext<'_>) -> io::Result<bool> {
    let opened = read.opened;
    let (Some(before), Some(now)) = (&read.hasher, opened.reader.metadata()?) else {
        return Ok(false);
    };
    if !has_grown(&opened.metadata.identity, &now.identity) {
        return Ok(false);
    }
    let mut again = Cursor::new(opened, context);
    Ok(digest::of_reader(&mut again)? == before.digest128() && !again.ended_early)
}

/// The rest that an open file still needs before what is read of it is one version.
fn rest_needed(opened: &Opened, file: &File, context: ReadContext<'_>) -> io::Result<Duration> {
    let identity = &opened.metadata.identity;
    let rest = |quiet: Duration, since: Duration| quiet.saturating_sub(since);
    let since_written = identity.modified.age();
    let since_changed = identity.changed.age();
    // From here on no change that comes while it is read looks as if it were this one.
    let distinct = rest(resolution(identity), since_changed);
    let is_empty = identity.length == 0;
    let seen = || context.first_seen.age(identity);
    if since_changed >= AT_REST && !is_empty {
        return Ok(distinct);
    }
    let writers = match opened.local {
        true => writers(file),
        false => Writers::Unknown,
    };
    let quiet = match writers {
        Writers::None => Duration::ZERO,
        Writers::Unknown if is_empty => rest(empty_for(file)?, seen()),
        Writers::Some if is_empty => rest(EMPTY_WITH_BLOCKS_FOR, seen()),
        Writers::Unknown => rest(QUIET, since_written),
        // Its times may have been put back between two writes.
        Writers::Some => rest(QUIET_WITH_WRITER, since_written.min(since_changed)),
    };
    Ok(quiet.max(distinct))
}

fn empty_for(file: &File) -> io::Result<Duration> {
    Ok(match has_blocks(file)? {
        false => EMPTY_FOR,
        true => EMPTY_WITH_BLOCKS_FOR,
    })
}

/// True if an open file still is what it was when it was opened.
pub(crate) fn is_still(opened: &Opened) -> io::Result<bool> {
    let file = match &opened.reader {
        Reader::File(file) => file,
        Reader::Stored(stored) => return stored.is_unchanged(),
        Reader::Memory(_) | Reader::Static(_) | Reader::Remote(_) => return Ok(true),
    };
    let before = &opened.metadata.identity;
    let Some(Metadata { identity: now, .. }) = opened.reader.metadata()? else {
        return Ok(true);
    };
    if !same_content(before, &now) {
        return Ok(false);
    }
    Ok(before.changed == now.changed
        || Metadata::with_attributes(file, Patience::MayWait)?.1.links == 0)
}

/// A reader of an opened file from its start to the length it had when it was opened.
pub(crate) struct Cursor<'a> {
    opened: &'a Opened,
    patience: Patience,
    offset: u64,
    ended_early: bool,
    /// The hash of what was read, if it may have to be compared.
    hasher: Option<Box<Xxh3>>,
}

impl<'a> Cursor<'a> {
    fn new(opened: &'a Opened, context: ReadContext<'_>) -> Self {
        Cursor {
            opened,
            patience: context.patience,
            offset: 0,
            ended_early: false,
            hasher: context.grows.then(Box::default),
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
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::SystemTime;

    use salver_test::overwrite;

    fn open(path: &std::path::Path) -> Opened {
        let file = File::open(path).unwrap();
        let metadata = Metadata::of(&file).unwrap();
        Opened {
            metadata,
            reader: Reader::File(Arc::new(file)),
            local: true,
        }
    }

    fn context(patience: Patience, first_seen: &FirstSeen) -> ReadContext<'_> {
        ReadContext {
            patience,
            since: Instant::now(),
            first_seen,
            grows: false,
        }
    }

    /// Reads as a driver that sleeps between two attempts.
    fn once_at_rest(
        opened: &Opened,
        mut read: impl FnMut(&mut Cursor<'_>) -> io::Result<Vec<u8>>,
    ) -> Result<Vec<u8>, Stop> {
        let first_seen = FirstSeen::default();
        loop {
            match steady(opened, context(Patience::MayWait, &first_seen), &mut read) {
                Err(Stop::RetryAfter(time)) => std::thread::sleep(time),
                result => return result,
            }
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
        assert_eq!(once_at_rest(&opened, all).unwrap(), b"one");
        let first_seen = FirstSeen::default();
        let read = steady(&opened, context(Patience::MustNotWait, &first_seen), all);
        // Elsewhere nobody can tell whether a read waits.
        match cfg!(target_os = "linux") {
            true => assert_eq!(read.unwrap(), b"one"),
            false => assert!(matches!(read, Err(Stop::WouldWait)), "{read:?}"),
        }
    }

    #[test]
    fn a_file_that_has_just_been_written_is_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"one").unwrap();
        let opened = open(file.path());
        let first_seen = FirstSeen::default();
        let result = steady(&opened, context(Patience::MustNotWait, &first_seen), all);
        assert!(matches!(result, Err(Stop::WouldWait)));
        assert_eq!(once_at_rest(&opened, all).unwrap(), b"one");
        assert!(opened.metadata.identity.modified.age() >= QUIET);
    }

    #[test]
    fn a_change_meanwhile_is_noticed() {
        let check = |change: &dyn Fn(&File)| {
            let file = settled_file();
            let opened = open(file.path());
            let writer = File::options().write(true).open(file.path()).unwrap();
            let mut changed = false;
            let result = once_at_rest(&opened, |cursor| {
                let bytes = all(cursor)?;
                if !std::mem::replace(&mut changed, true) {
                    change(&writer);
                }
                Ok(bytes)
            });
            assert!(matches!(result, Err(Stop::Changed)), "{result:?}");
        };
        check(&|file| overwrite(file, b"two"));
        check(&|file| file.set_len(1).unwrap());
        check(&|file| overwrite(file, b"longer"));
    }

    #[test]
    fn a_time_that_is_set_back_hides_nothing() {
        let file = settled_file();
        let opened = open(file.path());
        let time = file.as_file().metadata().unwrap().modified().unwrap();
        let writer = File::options().write(true).open(file.path()).unwrap();
        let result = once_at_rest(&opened, |cursor| {
            let mut bytes = vec![0; 1];
            cursor.read_exact(&mut bytes)?;
            overwrite(&writer, b"two");
            writer.set_modified(time)?;
            cursor.read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        assert!(matches!(result, Err(Stop::Changed)), "{result:?}");
    }

    #[test]
    fn an_empty_file_may_be_about_to_be_written() {
        let file = settled_file();
        file.as_file().set_len(0).unwrap();
        // As in the midst of a truncation: empty, and the times are those of before.
        file.as_file()
            .set_modified(SystemTime::now() - Duration::from_secs(3600))
            .unwrap();
        let opened = open(file.path());
        let first_seen = FirstSeen::default();
        let result = steady(&opened, context(Patience::MustNotWait, &first_seen), all);
        assert!(matches!(result, Err(Stop::WouldWait)));
        let result = steady(&opened, context(Patience::MayWait, &first_seen), all);
        assert!(matches!(result, Err(Stop::RetryAfter(time)) if time <= EMPTY_FOR));
        assert_eq!(once_at_rest(&opened, all).unwrap(), b"");
        std::fs::write(file.path(), "new").unwrap();
        let writer = once_at_rest(&opened, all);
        assert!(matches!(writer, Err(Stop::Changed)), "{writer:?}");
    }

    #[test]
    fn what_was_seen_is_known_until_the_file_is_another() {
        let (first_seen, time) = (FirstSeen::default(), Duration::from_millis(11));
        let mut identity = open(settled_file().path()).metadata.identity;
        assert_eq!(first_seen.age(&identity), Duration::ZERO);
        std::thread::sleep(time);
        assert!(first_seen.age(&identity) >= time);
        identity.length += 1;
        assert_eq!(first_seen.age(&identity), Duration::ZERO);
        for inode in 0..100 {
            first_seen.age(&Identity { inode, ..identity });
        }
        assert_eq!(first_seen.0.borrow().len(), MOST_FILES_SEEN);
    }

    #[test]
    fn patience_runs_out() {
        let first_seen = FirstSeen::default();
        let at = |since: Instant| ReadContext {
            since,
            ..context(Patience::MayWait, &first_seen)
        };
        assert!(!at(Instant::now()).is_spent());
        assert!(at(Instant::now() - SETTLE_LIMIT).is_spent());
    }

    #[test]
    fn replacing_by_rename_does_not_disturb() {
        let file = settled_file();
        let opened = open(file.path());
        let other = tempfile::NamedTempFile::new().unwrap();
        let result = once_at_rest(&opened, |cursor| {
            std::fs::write(other.path(), b"two")?;
            std::fs::rename(other.path(), file.path())?;
            let bytes = all(cursor);
            std::fs::write(other.path(), b"")?;
            bytes
        });
        assert_eq!(result.unwrap(), b"one");
    }
}
