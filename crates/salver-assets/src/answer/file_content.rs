//! Content that lies in an open file, or elsewhere: reading it with and without waiting, and proving that it is
//! still what the head says.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use salver_os::Attributes;
use xxhash_rust::xxh3::Xxh3;

use crate::cache::anonymous_content::AnonymousContent;
use crate::cache::recent_checks::RecentChecks;
use crate::resource::representation::TagBasis;
use crate::source::digest::{self, Digest};
use crate::source::growth::Sample;
use crate::source::identity::{may_change_unseen, same_content};
use crate::source::{Identity, Metadata, Patience, Reader, RemoteContent};
use crate::strategy::{Residency, Situation, Transport};
use crate::sync::Lock;

/// The bytes of content that is not in memory as a whole.
#[derive(Clone, Debug)]
pub(crate) enum ContentBytes {
    /// In an open file; others may read from the same handle.
    File(Arc<File>),
    /// Elsewhere.
    Remote(Arc<dyn RemoteContent>),
}

impl ContentBytes {
    /// Reads bytes that are in memory; 0 is the end.
    fn read_resident(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            ContentBytes::File(file) => salver_os::read_resident(file, buffer, offset),
            ContentBytes::Remote(content) => content
                .read_at(buffer, offset, Patience::MustNotWait)
                .map_err(of_remote),
        }
    }

    /// Fills the buffer, and waits for that.
    fn read_exact(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        let content = match self {
            ContentBytes::File(file) => return salver_os::read_exact_at(file, buffer, offset),
            ContentBytes::Remote(content) => content,
        };
        while !buffer.is_empty() {
            let count = content
                .read_at(buffer, offset, Patience::MayWait)
                .map_err(of_remote)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = buffer.get_mut(count..).unwrap_or_default();
            offset = offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}

/// The error of content that lies elsewhere, for an answer that has begun: a version that has gone is a change of the
/// file.
fn of_remote(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::InvalidData, error),
        _ => error,
    }
}

/// Content to be sent from an open file, or from elsewhere.
#[derive(Clone, Debug)]
pub struct FileContent {
    pub(crate) bytes: ContentBytes,
    /// The bytes to be sent; not empty.
    pub range: Range<u64>,
    /// The version of the file for which the head was made: if it no longer is while its bytes leave, these
    /// have to be proved ([`read`](Self::read)).
    pub identity: Identity,
    /// True if what the page cache holds of the file can be had without waiting.
    pub local: bool,
    /// The situation for [`way`](crate::strategy::way), with what is learned of each window.
    pub situation: Situation,
    /// The watch over the file while its bytes are sent.
    pub(crate) transfer: Arc<TransferCheck>,
}

/// A watch over a file while its bytes are sent: what the head promised, and what was seen since.
#[derive(Debug)]
pub(crate) struct TransferCheck {
    tag_basis: TagBasis,
    /// The content that it is, if nobody can change it: held until its bytes have left.
    anonymous: Option<Arc<AnonymousContent>>,
    /// What other answers from the same handle have found.
    recent: Arc<RecentChecks>,
    seen: Lock<Observation>,
}

#[derive(Debug)]
struct Observation {
    /// The identity under which the file is known to have what was promised, and what else it had then.
    accepted: Identity,
    attributes: Option<Attributes>,
    /// The identity at the last look, if that may be of another version: then what is sent has to be proved.
    doubtful: Option<Identity>,
    /// The bytes that were sent, if they are hashed.
    left: Option<SentBytes>,
}

/// Bytes that were sent, one window after the other.
struct SentBytes {
    range: Range<u64>,
    hasher: Box<Xxh3>,
}

impl std::fmt::Debug for SentBytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("SentBytes")
            .field(&self.range)
            .finish()
    }
}

impl TransferCheck {
    pub(crate) fn new(
        tag_basis: TagBasis,
        identity: &Identity,
        recent: Arc<RecentChecks>,
    ) -> Arc<Self> {
        Arc::new(TransferCheck {
            tag_basis,
            anonymous: None,
            recent,
            seen: Lock::new(Observation {
                accepted: *identity,
                attributes: None,
                // Equal times say nothing for a while where they are whole seconds.
                doubtful: (tag_basis.is_weak() && may_change_unseen(identity)).then_some(*identity),
                left: None,
            }),
        })
    }

    /// The watch over an anonymous file: there is nothing to be seen.
    fn of_anonymous(content: &Arc<AnonymousContent>) -> Arc<Self> {
        Arc::new(TransferCheck {
            tag_basis: TagBasis::Identity,
            anonymous: Some(Arc::clone(content)),
            recent: Arc::clone(&content.checks),
            seen: Lock::new(Observation {
                accepted: content.identity,
                attributes: None,
                doubtful: None,
                left: None,
            }),
        })
    }

    /// Notes that these bytes, from this offset, are being sent.
    fn passed(&self, offset: u64, bytes: &[u8]) {
        if !self.tag_basis.is_weak() {
            return;
        }
        let mut seen = self.seen.hold();
        let left = seen.left.get_or_insert_with(|| SentBytes {
            range: offset..offset,
            hasher: Box::default(),
        });
        if left.range.end == offset {
            left.hasher.update(bytes);
            left.range.end += u64::try_from(bytes.len()).unwrap_or(0);
        }
    }
}

/// The state of a file in comparison with what the head promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Unchanged,
    /// Changed, but the bytes that are sent may be the same: that can be proved.
    Doubtful,
    Changed,
}

impl FileContent {
    /// The bytes of `range` of an anonymous file.
    pub(crate) fn of_anonymous(content: &Arc<AnonymousContent>, range: Range<u64>) -> Self {
        let identity = content.identity;
        FileContent {
            bytes: ContentBytes::File(Arc::clone(&content.file)),
            range,
            identity,
            local: true,
            situation: Situation {
                length: identity.length,
                in_memory: false,
                keep_up_to: 0,
                sendfile_from: 0,
                changes_now: false,
                memory_is_full: false,
                residency: Residency::Resident,
                transport: Transport::PassesThrough,
            },
            transfer: TransferCheck::of_anonymous(content),
        }
    }

    /// The file; others may read from the same handle, so read at offsets. `None` if the bytes lie elsewhere: then
    /// [`read`](Self::read) and [`read_resident`](Self::read_resident) have them.
    pub fn file(&self) -> Option<&Arc<File>> {
        match &self.bytes {
            ContentBytes::File(file) => Some(file),
            ContentBytes::Remote(_) => None,
        }
    }

    /// True if the file still is what it was when the head was made. A file that lost its name is, and one
    /// whose change time moved with its names, mode or owner; a file that was changed in place is not,
    /// whatever its modification time says. Who must not wait gets what the kernel knows without asking a
    /// file server, or has said a moment ago: before the first byte, for what has left has to be
    /// [checked](Self::check) anyway.
    ///
    /// # Errors
    /// What `statx(2)` gives.
    pub fn is_unchanged(&self, patience: Patience) -> io::Result<bool> {
        let transfer = &*self.transfer;
        let known = patience == Patience::MustNotWait
            && !transfer.tag_basis.is_weak()
            && transfer.recent.is_unchanged(transfer.recent.now());
        Ok(known || self.look(patience)? == FileState::Unchanged)
    }

    fn look(&self, patience: Patience) -> io::Result<FileState> {
        let file = match &self.bytes {
            ContentBytes::File(file) if self.transfer.anonymous.is_none() => file,
            // What lies elsewhere is of one version, or cannot be read.
            ContentBytes::File(_) | ContentBytes::Remote(_) => return Ok(FileState::Unchanged),
        };
        let (Metadata { identity: now, .. }, attributes) =
            Metadata::with_attributes(&**file, patience)?;
        let was = &self.identity;
        let mut seen = self.transfer.seen.hold();
        let is_explained = || {
            let known = seen.attributes;
            attributes.links == 0 || known.is_some_and(|known| known != attributes)
        };
        let same = same_content(&seen.accepted, &now);
        if same && (seen.accepted.changed == now.changed || is_explained()) {
            // The next change has to be explained by itself.
            seen.accepted.changed = now.changed;
            seen.attributes = Some(attributes);
            if now == *was {
                self.transfer
                    .recent
                    .note_unchanged(self.transfer.recent.now());
            }
        } else {
            let can_be_proved = was.is_same_file(&now)
                && match self.transfer.tag_basis {
                    TagBasis::Digest(_) => now.length >= was.length,
                    TagBasis::WeakPrefix(_) => now.length > was.length,
                    TagBasis::Identity => false,
                };
            if !can_be_proved {
                return Ok(FileState::Changed);
            }
            seen.doubtful = Some(now);
        }
        Ok(match seen.doubtful {
            Some(_) => FileState::Doubtful,
            None => FileState::Unchanged,
        })
    }

    /// The residency of a window, as far as it can be told without waiting. Where disks are busy their queues may be
    /// full: then what could have to be read counts as cold, so that a thread that may wait looks for it.
    pub fn residency(&self, window: &Range<u64>, disks_are_busy: bool) -> Residency {
        if self.transfer.anonymous.is_some() {
            return Residency::Resident;
        }
        let file = match &self.bytes {
            ContentBytes::File(file) => file,
            ContentBytes::Remote(content) if content.is_in_memory(window) => {
                return Residency::Resident;
            }
            ContentBytes::Remote(_) => return Residency::Unknown,
        };
        if !self.local {
            return Residency::Unknown;
        }
        if disks_are_busy && !self.is_read_ahead(file, window) {
            return Residency::Cold;
        }
        let recent = &self.transfer.recent;
        let now = recent.now();
        if recent.is_resident(window, now) {
            return Residency::Resident;
        }
        match salver_os::residency(file, window) {
            salver_os::Residency::Resident => {
                recent.note_resident(window, self.identity.length, now);
                Residency::Resident
            }
            salver_os::Residency::Cold => Residency::Cold,
        }
    }

    /// True if touching a window of the page cache begins no reading of the disk, as far as can be told: it is there, and
    /// so is what the kernel would read ahead. Whoever begins to read waits where the disk's queue is full.
    fn is_read_ahead(&self, file: &File, window: &Range<u64>) -> bool {
        /// As far as kernels are usually told to read ahead at most, in bytes.
        const READ_AHEAD: u64 = 1024 * 1024;
        let end = window.end.saturating_add(READ_AHEAD);
        let ahead = window.start..end.min(self.identity.length);
        salver_os::is_cached(file, &ahead) == Some(true)
    }

    /// Reads a window from the page cache; `None` if some of it is not there, or no longer. Never
    /// waits for a disk.
    ///
    /// # Errors
    /// `InvalidData` if the file is no longer what the head said; else the file's error.
    pub fn read_resident(&self, window: &Range<u64>) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(window.end - window.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(length).is_err() {
            return Ok(None);
        }
        bytes.resize(length, 0);
        let mut have = 0;
        while have < length {
            let rest = bytes.get_mut(have..).unwrap_or_default();
            let offset = window.start + u64::try_from(have).unwrap_or(u64::MAX);
            let read = match (&self.transfer.anonymous, &self.bytes) {
                // It lies in memory, whatever its file system can tell.
                (Some(_), ContentBytes::File(file)) => salver_os::read_at(file, rest, offset),
                (_, bytes) => bytes.read_resident(rest, offset),
            };
            match read {
                Ok(0) => return Err(io::ErrorKind::InvalidData.into()),
                Ok(count) => have += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        match self.look(Patience::MustNotWait)? {
            FileState::Changed => return Err(io::ErrorKind::InvalidData.into()),
            // Who may wait proves it.
            FileState::Doubtful if self.needs_proof(window) => return Ok(None),
            FileState::Doubtful | FileState::Unchanged => {}
        }
        self.transfer.passed(window.start, &bytes);
        Ok(Some(bytes.into()))
    }

    /// True if this window may not leave as it was read while there are doubts.
    fn needs_proof(&self, window: &Range<u64>) -> bool {
        match self.transfer.tag_basis {
            TagBasis::Digest(_) | TagBasis::Identity => true,
            // What is promised is no more than that all is of one moment.
            TagBasis::WeakPrefix(_) => window.end >= self.range.end,
        }
    }

    /// Reads a window, and waits for it. If the file is no longer what it was, the window is given only where
    /// it can be proved to be of what the head promised; an empty one only proves.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file has become shorter, `InvalidData` if it has changed; else the
    /// file's.
    pub fn read(&self, window: &Range<u64>) -> io::Result<Bytes> {
        let length = usize::try_from(window.end - window.start)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = vec![0; length];
        self.bytes.read_exact(&mut bytes, window.start)?;
        let still = self.look(Patience::MayWait)?;
        match (still, self.transfer.tag_basis) {
            (FileState::Unchanged, _) => self.transfer.passed(window.start, &bytes),
            (FileState::Doubtful, TagBasis::Digest(digest)) => {
                self.prove_whole(digest, window.start, &mut bytes)?;
            }
            (FileState::Doubtful, TagBasis::WeakPrefix(sample)) => {
                self.transfer.passed(window.start, &bytes);
                if self.needs_proof(window) {
                    self.prove_left(sample)?;
                }
            }
            (FileState::Changed, _) | (FileState::Doubtful, TagBasis::Identity) => {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(bytes.into())
    }

    /// Checks that the file still is what the head promised, or may be: see
    /// [`is_doubtful`](Self::is_doubtful).
    ///
    /// # Errors
    /// `InvalidData` if it cannot be; else what `statx(2)` gives.
    pub fn check(&self, patience: Patience) -> io::Result<()> {
        match self.look(patience)? {
            FileState::Changed => Err(io::ErrorKind::InvalidData.into()),
            FileState::Unchanged | FileState::Doubtful => Ok(()),
        }
    }

    /// True if a look found the file changed in such a way that what leaves may still be what the head
    /// promised. Then only bytes of [`read`](Self::read) or [`read_resident`](Self::read_resident) may leave,
    /// and if others may have left since, an empty window has to be read first.
    pub fn is_doubtful(&self) -> bool {
        self.transfer.seen.hold().doubtful.is_some()
    }

    /// Proves that the file begins with content of this digest, and takes `window`, from `start`, out of just
    /// the bytes that were hashed.
    fn prove_whole(&self, digest: Digest, start: u64, window: &mut [u8]) -> io::Result<()> {
        let looked = self.transfer.seen.hold().doubtful;
        let mut reader = RangeReader {
            file: self.file().ok_or(io::ErrorKind::InvalidData)?,
            range: 0..self.identity.length,
            start,
            window,
        };
        if digest::of_reader(&mut reader)? != digest {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // As it was before it was read: what came since is seen at the next look.
        let mut seen = self.transfer.seen.hold();
        if let Some(identity) = looked {
            seen.accepted = identity;
            seen.doubtful = None;
        }
        Ok(())
    }

    /// Proves that all bytes that have left are in the file at one moment, by reading them again, and that
    /// the file has but grown since it had this sample.
    fn prove_left(&self, sample: Sample) -> io::Result<()> {
        let seen = self.transfer.seen.hold();
        let left = seen.left.as_ref();
        let left = left.filter(|left| left.range.end == self.range.end);
        let left = left.map(|left| (left.range.clone(), left.hasher.digest128()));
        drop(seen);
        let Some((range, expected)) = left else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let file = self.file().ok_or(io::ErrorKind::InvalidData)?;
        let mut reader = RangeReader {
            file,
            start: range.end,
            range,
            window: &mut [],
        };
        let is_there = digest::of_reader(&mut reader)? == expected;
        let reader = Reader::File(Arc::clone(file));
        let now = Sample::take(&reader, self.identity.length, Patience::MayWait)?;
        match is_there && now == Some(sample) {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// A reader of a range of a file that copies the bytes of a window on the way.
struct RangeReader<'a> {
    file: &'a File,
    range: Range<u64>,
    /// The offset of the window.
    start: u64,
    window: &'a mut [u8],
}

impl io::Read for RangeReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let count = salver_os::read_at(self.file, buffer, self.range.start)?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        // What of the window lies in what was read.
        let (from, at) = (self.range.start, self.start);
        let skipped = place(at.saturating_sub(from));
        let offset = place(from.saturating_sub(at));
        let read = buffer.get(skipped..count).unwrap_or_default();
        let wanted = self.window.get_mut(offset..).unwrap_or_default();
        for (to, from) in wanted.iter_mut().zip(read) {
            *to = *from;
        }
        self.range.start += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}
