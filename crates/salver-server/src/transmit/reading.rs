//! Content as pieces of memory, for transports that pass every byte through the process and take
//! so many at a time as their flow control allows.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use salver_assets::strategy::{Situation, Transport, Way, way};
use salver_assets::{Content, FileContent, Piece};

use super::{WINDOW, read_here, residency};
use crate::context::Common;
use crate::passing::Room;

/// Content on its way, from its first byte to its last.
pub(crate) struct Reading {
    pieces: VecDeque<Piece>,
    /// Bytes that have not been given yet.
    left: u64,
    /// Read from the first piece, and not given yet.
    read: Bytes,
    /// What `read` takes of the memory for passing content.
    room: Option<Room>,
    /// A read that waits for the disk.
    under_way: Option<Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>>,
}

impl Reading {
    /// All of `content`.
    pub(crate) fn new(content: Content) -> Self {
        let mut read = Bytes::new();
        let pieces: VecDeque<Piece> = match content {
            Content::Empty => VecDeque::new(),
            Content::Memory(bytes) => {
                read = bytes;
                VecDeque::new()
            }
            Content::File(file) => [Piece::File(file)].into(),
            Content::Parts(pieces) => pieces.into(),
        };
        let of_piece = |piece: &Piece| match piece {
            Piece::Memory(bytes) => length(bytes),
            Piece::File(file) => file.range.end - file.range.start,
        };
        Reading {
            left: length(&read) + pieces.iter().map(of_piece).sum::<u64>(),
            pieces,
            read,
            room: None,
            under_way: None,
        }
    }

    /// Bytes that have not been given yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes: at least one and at most `most`, which is not 0, from memory where they are
    /// there or in the page cache. `Pending` if a disk has to be waited for; then the task is woken.
    /// Empty when all have been given.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof` if a file is no longer what the head said; else the file's.
    /// The answer cannot become whole then.
    pub(crate) fn poll_next(
        &mut self,
        common: &Arc<Common>,
        context: &mut Context<'_>,
        most: usize,
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
            self.room = None;
            match self.pieces.front_mut() {
                None => return Poll::Ready(Ok(Bytes::new())),
                Some(Piece::Memory(bytes)) => {
                    self.read = std::mem::take(bytes);
                    self.pieces.pop_front();
                }
                Some(Piece::File(file)) if file.range.is_empty() => {
                    if let Some(piece) = self.pieces.pop_front() {
                        discard(common, piece);
                    }
                }
                Some(Piece::File(file)) => {
                    let most = u64::try_from(most).unwrap_or(WINDOW).clamp(1, WINDOW);
                    let end = file.range.end.min(file.range.start.saturating_add(most));
                    let mut window = file.range.start..end;
                    if let Some(bytes) = read_at_once(common, file, &window)? {
                        self.read = bytes;
                    } else {
                        // Who waits for a disk anyway asks for more than fits right now.
                        window.end = file.range.end.min(file.range.start.saturating_add(WINDOW));
                        let room = common.passing.take(window.end - window.start);
                        window.end = window.start + room.length();
                        self.room = Some(room);
                        self.under_way = Some(elsewhere(common, file, window.clone()));
                    }
                    file.range.start = window.end;
                }
            }
        }
    }

    /// Lets go of what has not been read.
    pub(crate) fn end(self, common: &Common) {
        for piece in self.pieces {
            discard(common, piece);
        }
    }
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn discard(common: &Common, piece: Piece) {
    if let Piece::File(file) = piece {
        common.loader.discard(Content::File(file));
    }
}

/// What the page cache has of the window; `None` if it has not all of it, or cannot be asked.
fn read_at_once(
    common: &Common,
    file: &FileContent,
    window: &Range<u64>,
) -> io::Result<Option<Bytes>> {
    let situation = Situation {
        residency: residency(common, file, window),
        transport: Transport::PassesThrough,
        ..file.situation
    };
    match way(&situation) {
        Way::Copy => read_here(file, window),
        Way::Elsewhere | Way::Read | Way::Memory | Way::Sendfile | Way::BringIn => Ok(None),
    }
}

fn elsewhere(
    common: &Arc<Common>,
    file: &FileContent,
    window: Range<u64>,
) -> Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>> {
    let (common, file) = (Arc::clone(common), file.clone());
    Box::pin(async move { common.loader.read(&file, window).await })
}
