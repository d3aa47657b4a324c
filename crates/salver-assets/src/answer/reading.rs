//! Content as pieces of memory, for transports that pass every byte through the process and take
//! so many at a time as their flow control allows.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use crate::answer::file_content::FileContent;
use crate::answer::plan::{Content, Piece};
use crate::strategy::{Residency, Situation, Transport, Way, way};

/// The bytes that are read from the page cache at a time, if less is asked for: each read costs three system
/// calls.
const AT_ONCE: u64 = 64 * 1024;

/// The bytes that are read from a disk at a time.
const WINDOW: u64 = 256 * 1024;

/// A read that waits for a disk. `Sync` too, although nobody polls it from two threads: bodies that hold one are asked to
/// be that.
pub type Read = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send + Sync>>;

/// A reader of files for content that cannot be had without waiting.
pub trait Disk {
    /// The residency of a window, as far as it can be told without waiting: by [`FileContent::residency`], which is to
    /// know if disks are at work for others.
    fn residency(&self, file: &FileContent, window: &Range<u64>) -> Residency;

    /// Reads a window, or as much of its beginning as there is room for - at least a byte -, where
    /// it may wait, by [`FileContent::read`]. Returns how much it will be, in bytes.
    fn read(&self, file: &FileContent, window: Range<u64>) -> (u64, Read);

    /// The bytes, of `most`, that there is memory for: at least one.
    fn room(&self, most: usize) -> usize {
        most
    }

    /// Takes bytes that were read at once, to be sent: as they are, or wrapped in what counts them.
    fn keep(&self, bytes: Bytes) -> Bytes {
        bytes
    }

    /// Drops content where that may wait, too.
    fn discard(&self, content: Content) {
        drop(content);
    }
}

/// A reader of content, from its first byte to its last.
pub struct Reading {
    /// The pieces that are left, the last first.
    pieces: Vec<Piece>,
    /// Bytes that have not been given yet.
    left: u64,
    /// The bytes that were read from the first piece, and not given yet.
    read: Bytes,
    /// A read that waits for the disk.
    under_way: Option<Read>,
}

impl Reading {
    /// A reader of all of `content`.
    pub fn new(content: Content) -> Self {
        let mut read = Bytes::new();
        let pieces = match content {
            Content::Empty => Vec::new(),
            Content::Memory(bytes) => {
                read = bytes;
                Vec::new()
            }
            Content::File(file) => vec![Piece::File(file)],
            Content::Parts(mut pieces) => {
                pieces.reverse();
                pieces
            }
        };
        let of_piece = |piece: &Piece| match piece {
            Piece::Memory(bytes) => length(bytes),
            Piece::File(file) => file.range.end - file.range.start,
        };
        Reading {
            left: length(&read) + pieces.iter().map(of_piece).sum::<u64>(),
            pieces,
            read,
            under_way: None,
        }
    }

    /// Bytes that have not been given yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes: at least one and at most `most`, which is not 0, from memory where they are
    /// there or in the page cache. `ahead` is how many may be wanted soon, these included: more is not read
    /// where nothing has to be waited for, so that nothing is held for a client which wants no more.
    /// `Pending` if a disk has to be waited for; then the task is woken. Empty when all have been given.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof` if a file is no longer what the head said; else the file's.
    /// The answer cannot become whole then.
    pub fn poll_next(
        &mut self,
        disk: &impl Disk,
        context: &mut Context<'_>,
        most: usize,
        ahead: u64,
    ) -> Poll<io::Result<Bytes>> {
        loop {
            if let Some(under_way) = &mut self.under_way {
                let bytes = ready!(under_way.as_mut().poll(context));
                self.under_way = None;
                self.read = bytes?;
            }
            if !self.read.is_empty() {
                let bytes = if self.read.len() <= most {
                    std::mem::take(&mut self.read)
                } else {
                    self.read.split_to(most)
                };
                self.left = self.left.saturating_sub(length(&bytes));
                return Poll::Ready(Ok(bytes));
            }
            match self.pieces.last_mut() {
                None => return Poll::Ready(Ok(Bytes::new())),
                Some(Piece::Memory(bytes)) => {
                    self.read = std::mem::take(bytes);
                    self.pieces.pop();
                }
                Some(Piece::File(file)) if file.range.is_empty() => {
                    if let Some(piece) = self.pieces.pop() {
                        discard(disk, piece);
                    }
                }
                Some(Piece::File(file)) => {
                    let most = u64::try_from(most)
                        .unwrap_or(WINDOW)
                        .max(AT_ONCE.min(ahead));
                    let most = room(disk, most.min(WINDOW));
                    let end = file.range.end.min(file.range.start.saturating_add(most));
                    let mut window = file.range.start..end;
                    if let Some(bytes) = read_at_once(disk, file, &window)? {
                        self.read = disk.keep(bytes);
                    } else {
                        // Who waits for a disk anyway asks for more than fits right now.
                        window.end = file.range.end.min(file.range.start.saturating_add(WINDOW));
                        let (length, read) = disk.read(file, window.clone());
                        window.end = window.start.saturating_add(length.max(1)).min(window.end);
                        self.under_way = Some(read);
                    }
                    file.range.start = window.end;
                }
            }
        }
    }

    /// Drops what has not been read.
    pub fn end(self, disk: &impl Disk) {
        for piece in self.pieces {
            discard(disk, piece);
        }
    }
}

fn room(disk: &impl Disk, most: u64) -> u64 {
    let room = disk.room(usize::try_from(most).unwrap_or(usize::MAX));
    u64::try_from(room).unwrap_or(most).clamp(1, most)
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn discard(disk: &impl Disk, piece: Piece) {
    if let Piece::File(file) = piece {
        disk.discard(Content::File(file));
    }
}

/// The bytes of the window in the page cache; `None` if it has not all of them, or cannot be asked.
fn read_at_once(
    disk: &impl Disk,
    file: &FileContent,
    window: &Range<u64>,
) -> io::Result<Option<Bytes>> {
    let situation = Situation {
        residency: disk.residency(file, window),
        transport: Transport::PassesThrough,
        ..file.situation
    };
    match way(&situation) {
        Way::Copy => file.read_resident(window),
        Way::Offload | Way::Read | Way::Memory | Way::Sendfile | Way::Prefetch => Ok(None),
    }
}
