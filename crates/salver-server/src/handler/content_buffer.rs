//! The content of requests that was received and not taken yet, counted as memory.

use std::sync::Arc;

use bytes::Bytes;
use salver_http1::BodyBuffer;

use crate::memory_budget::{Account, Charge};

/// The error of content for which there is no memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryExhausted;

/// Content as it was received. It counts as memory of its connection until the last reference to it is dropped.
#[derive(Debug)]
pub(crate) struct ContentBuffer {
    buffer: BodyBuffer,
    account: Arc<Account>,
    charge: Charge,
}

impl ContentBuffer {
    /// Empty content.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        ContentBuffer {
            buffer: BodyBuffer::default(),
            account: Arc::clone(account),
            charge: account.charge(0),
        }
    }

    /// The buffer to which content is appended; [`count`](Self::count) it then.
    pub(crate) fn buffer(&mut self) -> &mut BodyBuffer {
        &mut self.buffer
    }

    /// Makes room for `more` bytes: for as many as are held besides, so that content in small pieces is not copied for
    /// each of them, but no more than are `to_come`, no more than `in_all`, and half of the memory that is left.
    pub(crate) fn reserve(&mut self, more: usize, to_come: usize, in_all: usize) {
        let (length, room) = (self.len(), self.account.room() / 2);
        let content = &mut self.buffer.content;
        if content.capacity() - length < more {
            let ahead = length.min(to_come).min(in_all.saturating_sub(length));
            let ahead = ahead.min(usize::try_from(room).unwrap_or(usize::MAX));
            content.reserve_exact(more.max(ahead));
        }
    }

    /// The bytes that may be appended where `most` are held at a time: some in any case where none are held, as it must go
    /// on.
    pub(crate) fn room(&self, most: usize) -> usize {
        match self.len() {
            0 => self.account.room_up_to(most),
            _ => self.room_left(most),
        }
    }

    /// The bytes that may be appended where `most` are held at a time, as far as there is memory for them.
    pub(crate) fn room_left(&self, most: usize) -> usize {
        let room = usize::try_from(self.account.room()).unwrap_or(usize::MAX);
        room.min(most.saturating_sub(self.len()))
    }

    /// The bytes of content.
    pub(crate) fn len(&self) -> usize {
        self.buffer.content.len()
    }

    /// Counts the memory of the content.
    pub(crate) fn count(&mut self) -> Result<(), MemoryExhausted> {
        let held = self.buffer.content.capacity() + self.buffer.trailers.capacity();
        let more = held.saturating_sub(self.charge.bytes());
        let room = self.account.room();
        self.charge.set(held);
        if u64::try_from(more).unwrap_or(u64::MAX) > room {
            return Err(MemoryExhausted);
        }
        Ok(())
    }

    /// Takes out the content, as bytes that share its memory.
    pub(crate) fn take(&mut self) -> Bytes {
        if self.buffer.content.is_empty() {
            return Bytes::new();
        }
        let mut taken = ContentBuffer::new(&self.account);
        taken.buffer.content = std::mem::take(&mut self.buffer.content);
        std::mem::swap(&mut taken.charge, &mut self.charge);
        self.charge.set(self.buffer.trailers.capacity());
        Bytes::from_owner(taken)
    }
}

impl AsRef<[u8]> for ContentBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::{LEAST, MemoryBudget};

    #[test]
    fn what_is_held_counts_until_nobody_has_it() {
        let least = usize::try_from(LEAST).unwrap();
        let account = MemoryBudget::new(LEAST, 0).open(0, false).unwrap();
        let take = |content: &mut ContentBuffer, count: usize| {
            content.buffer().content.reserve_exact(count);
            content
                .buffer()
                .content
                .extend(std::iter::repeat_n(b'x', count));
            content.count()
        };
        let new = || ContentBuffer::new(&account);
        let (mut one, mut other) = (new(), new());
        assert_eq!(take(&mut one, least - 100), Ok(()));
        assert_eq!(take(&mut other, 100), Ok(()));
        assert_eq!(take(&mut other, 0), Ok(()));
        assert_eq!(take(&mut other, 1), Err(MemoryExhausted));
        drop(other);
        let bytes = one.take();
        assert_eq!((bytes.len(), one.len()), (least - 100, 0));
        let part = bytes.slice(1..2);
        drop(bytes);
        assert_eq!(take(&mut new(), 101), Err(MemoryExhausted));
        drop(part);
        assert_eq!(take(&mut one, least), Ok(()));
    }
}
