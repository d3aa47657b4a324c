//! A look at the tree: what is new is read, what has gone is noted, what is over is forgotten.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use salver_os::Patience;

use crate::error::is_absence;
use crate::source::identity::changed_within;
use crate::source::previous::Shared;
use crate::source::previous::entries::{KeptFile, MOST_FILES};
use crate::source::previous::tree::WalkedTree;
use crate::source::snapshot::is_still;
use crate::source::{Identity, Kind, Opened, Reader, Timestamp, View, digest};

/// The longest file that is kept, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The time that a file has to rest before it is read: every change from then on changes its times, too.
const REST: Duration = Duration::from_millis(100);

/// The time of what has none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

const WAIT: Patience = Patience::MayWait;

/// The tree as it was at the last look.
#[derive(Debug, Default)]
pub(super) struct KnownTree {
    walked: WalkedTree,
    /// The files that cannot be kept, as they were then.
    passed_over: HashMap<Vec<u8>, Identity>,
}

/// What the log has said already of one tree; it is not said again.
#[derive(Debug, Default)]
pub(super) struct Notices {
    is_cut: AtomicBool,
    is_full: AtomicBool,
    is_too_long: AtomicBool,
    has_failed: AtomicBool,
}

/// True the first time.
fn first(said: &AtomicBool) -> bool {
    !said.swap(true, Ordering::Relaxed)
}

impl Shared {
    /// Looks at the tree, as [`PreviousSource::look`](super::PreviousSource::look) says.
    pub(super) fn look(&self, now: SystemTime) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| {
            self.take_up(now);
            KnownTree::default()
        });
        let tree = match self.source.view(WAIT) {
            Ok(tree) => Some(tree),
            Err(error) if is_absence(&error) => None,
            // Nobody knows what is there.
            Err(_) => return,
        };
        let mut found = Vec::new();
        if let Some(tree) = &tree {
            let walked = match known.walked.walk(&**tree, self.keep.dotfiles) {
                Ok(walked) => walked,
                Err(error) => return self.failed(&error),
            };
            if walked.is_cut && first(&self.notices.is_cut) {
                tracing::warn!(
                    "{}: there are more names than are looked at: not all that a deploy removes is kept",
                    self.keep.name
                );
            }
            found = walked.files;
        }
        let mut has_changed = false;
        if let Some(tree) = &tree {
            let there: HashSet<&Vec<u8>> = found.iter().collect();
            known.passed_over.retain(|path, _| there.contains(path));
            for path in &found {
                has_changed |= self.learn(&**tree, path, &mut known.passed_over);
            }
        }
        let there: HashSet<&[u8]> = found.iter().map(|path| &**path).collect();
        let is_there = |path: &[u8]| match &tree {
            None => Some(false),
            Some(_) if there.contains(path) => Some(true),
            Some(tree) => match tree.stat(path, WAIT) {
                Ok(metadata) => (metadata.kind == Kind::File).then_some(true),
                Err(error) if is_absence(&error) => Some(false),
                Err(_) => Some(true),
            },
        };
        // Looked up first, as that may wait and requests must not.
        let paths: Vec<Box<[u8]>> = {
            let entries = self.entries.hold();
            entries.iter().map(|(path, _)| path.into()).collect()
        };
        let states: HashMap<Box<[u8]>, Option<bool>> = paths
            .into_iter()
            .map(|path| {
                let state = is_there(&path);
                (path, state)
            })
            .collect();
        let (forgotten, noted) = {
            let mut entries = self.entries.hold();
            entries.note(self.keep.time, now, |path| {
                states.get(path).copied().unwrap_or(Some(true))
            })
        };
        if has_changed || noted {
            self.write_down();
            let (count, bytes, gone) = self.entries.hold().count();
            tracing::info!(
                "{}: fingerprinted files that are kept: {count}, bytes: {bytes}, gone: {gone}",
                self.keep.name
            );
        }
        self.let_go(forgotten);
    }

    /// Reads a file that is not kept yet, or is another now; true if anything has changed.
    fn learn(
        &self,
        tree: &dyn View,
        path: &[u8],
        passed_over: &mut HashMap<Vec<u8>, Identity>,
    ) -> bool {
        let identity = match tree.stat(path, WAIT) {
            Ok(metadata) if metadata.kind == Kind::File => metadata.identity,
            Ok(_) | Err(_) => return false,
        };
        let is_known = {
            let entries = self.entries.hold();
            let kept = entries.get(path);
            kept.is_some_and(|kept| kept.original == Some(identity))
        };
        if is_known || passed_over.get(path) == Some(&identity) || changed_within(&identity, REST) {
            return false;
        }
        if identity.length > LONGEST {
            if first(&self.notices.is_too_long) {
                tracing::warn!(
                    "{}: {:?} is longer than {LONGEST} bytes: it is not kept once a deploy removes it, nor is what is as long",
                    self.keep.name,
                    String::from_utf8_lossy(path)
                );
            }
            passed_over.insert(path.to_vec(), identity);
            return false;
        }
        let content = match read_whole(tree, path, &identity) {
            Ok(Some(content)) => Bytes::from(content),
            // Another look finds it at rest.
            Ok(None) => return false,
            Err(error) => {
                self.failed(&error);
                return false;
            }
        };
        let digest = digest::of_bytes(&content);
        let is_same =
            |kept: &KeptFile| kept.digest == digest && kept.identity.length == identity.length;
        let (number, forgotten) = {
            let mut entries = self.entries.hold();
            if let Some(kept) = entries.get(path).filter(|kept| is_same(kept)).cloned() {
                let kept = KeptFile {
                    original: Some(identity),
                    ..kept
                };
                entries.insert(path, kept);
                return false;
            }
            let replaced = entries.remove(path);
            let (mut forgotten, is_room) = entries.make_room(identity.length, self.keep.most_bytes);
            forgotten.extend(replaced);
            (is_room.then(|| entries.next_number()), forgotten)
        };
        let has_changed = !forgotten.is_empty();
        self.let_go(forgotten);
        let Some(number) = number else {
            if first(&self.notices.is_full) {
                tracing::warn!(
                    "{}: fingerprinted files take more than {} bytes, or are more than {MOST_FILES}: not all that a \
                     deploy removes is kept",
                    self.keep.name,
                    self.keep.most_bytes
                );
            }
            passed_over.insert(path.to_vec(), identity);
            return has_changed;
        };
        let content = match &self.contents {
            None => Some(content),
            Some(contents) => {
                if let Err(error) = contents.write(digest, &content) {
                    self.failed(&error);
                    return has_changed;
                }
                None
            }
        };
        let kept = KeptFile {
            identity: self.identity(number, identity.length, identity.modified),
            digest,
            content,
            original: Some(identity),
            gone_since: None,
        };
        self.entries.hold().insert(path, kept);
        true
    }

    /// The identity of a kept file.
    fn identity(&self, number: u64, length: u64, modified: Timestamp) -> Identity {
        Identity {
            device: self.device,
            inode: number,
            length,
            modified,
            changed: NEVER,
        }
    }

    /// Takes up what a process before has kept. What is not there now is gone from now on, unless it was before.
    fn take_up(&self, now: SystemTime) {
        let Some(contents) = &self.contents else {
            return;
        };
        let known = match contents.read_index() {
            Ok(known) => known,
            Err(error) => return self.failed(&error),
        };
        let mut entries = self.entries.hold();
        for line in known {
            if entries.get(&line.path).is_some() {
                continue;
            }
            let (_, is_room) = entries.make_room(line.length, self.keep.most_bytes);
            if !is_room {
                continue;
            }
            let number = entries.next_number();
            let kept = KeptFile {
                identity: self.identity(number, line.length, line.modified),
                digest: line.digest,
                content: None,
                original: None,
                gone_since: line.gone_since.map(|since| since.min(now)),
            };
            entries.insert(&line.path, kept);
        }
        let digests = entries.iter().map(|(_, kept)| kept.digest).collect();
        drop(entries);
        if let Err(error) = contents.sweep(&digests) {
            self.failed(&error);
        }
    }

    /// Writes down what is kept, for the next process.
    fn write_down(&self) {
        let Some(contents) = &self.contents else {
            return;
        };
        let index = {
            let entries = self.entries.hold();
            super::index::to_text(entries.iter())
        };
        if let Err(error) = contents.write_index(&index) {
            self.failed(&error);
        }
    }

    /// Removes the content of what was forgotten, if nothing else has it.
    fn let_go(&self, forgotten: Vec<KeptFile>) {
        let Some(contents) = &self.contents else {
            return;
        };
        for kept in forgotten {
            if !self.entries.hold().have(kept.digest) {
                contents.remove(kept.digest);
            }
        }
    }

    /// The content of a kept file; `None` if it is damaged, and then it is forgotten.
    pub(super) fn read(&self, path: &[u8], kept: &KeptFile) -> Option<Reader> {
        if let Some(content) = &kept.content {
            return Some(Reader::Memory(content.clone()));
        }
        let contents = self.contents.as_ref()?;
        match contents.open(kept.digest, kept.identity.length) {
            Ok(reader) => Some(reader),
            Err(error) => {
                self.failed(&error);
                let mut entries = self.entries.hold();
                if entries
                    .get(path)
                    .is_some_and(|now| now.identity == kept.identity)
                {
                    entries.remove(path);
                }
                drop(entries);
                // Else it would be taken for right when it is written again.
                contents.remove(kept.digest);
                None
            }
        }
    }

    /// Says, once, that something cannot be kept.
    fn failed(&self, error: &io::Error) {
        if first(&self.notices.has_failed) {
            tracing::warn!(
                "{}: not all that a deploy removes is kept: {error} (said once)",
                self.keep.name
            );
        }
    }
}

/// The content of a file, if it is this version and stays that while it is read.
fn read_whole(tree: &dyn View, path: &[u8], identity: &Identity) -> io::Result<Option<Vec<u8>>> {
    let opened = match tree.open(path, WAIT) {
        Ok(opened) if opened.metadata.identity == *identity => opened,
        Ok(_) => return Ok(None),
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    let mut rest = Rest {
        opened: &opened,
        offset: 0,
    };
    rest.by_ref().take(LONGEST + 1).read_to_end(&mut content)?;
    let is_whole = u64::try_from(content.len()).is_ok_and(|length| length == identity.length);
    let now = opened.reader.metadata()?;
    // Where it lost its name meanwhile, it is the same but for that.
    let is_still = now.is_none_or(|now| now.identity == *identity) || is_still(&opened)?;
    Ok((is_whole && is_still).then_some(content))
}

/// A reader of an open file from its start.
struct Rest<'a> {
    opened: &'a Opened,
    offset: u64,
}

impl Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.opened.reader.read_at(buffer, self.offset, WAIT)?;
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}
