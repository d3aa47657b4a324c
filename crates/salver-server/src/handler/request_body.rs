//! The content of requests, counted as memory until the handler drops it.

use std::sync::Arc;

use bytes::Bytes;

use crate::memory_budget::{Account, Charge};

/// The error of content for which there is no memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryExhausted;

/// The content of one request, as far as it was received. It counts as memory of its connection until the last
/// reference to it is dropped.
#[derive(Debug)]
pub(crate) struct RequestBody {
    content: Vec<u8>,
    account: Arc<Account>,
    charge: Charge,
}

impl RequestBody {
    /// Empty content.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        RequestBody {
            content: Vec::new(),
            account: Arc::clone(account),
            charge: account.charge(0),
        }
    }

    /// The buffer to which content is appended; [`count`](Self::count) it then.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.content
    }

    /// Counts the memory of the content.
    pub(crate) fn count(&mut self) -> Result<(), MemoryExhausted> {
        let held = self.content.capacity();
        let more = held.saturating_sub(self.charge.bytes());
        let room = self.account.room();
        self.charge.set(held);
        if u64::try_from(more).unwrap_or(u64::MAX) > room {
            return Err(MemoryExhausted);
        }
        Ok(())
    }

    /// The content as bytes that share its memory.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for RequestBody {
    fn as_ref(&self) -> &[u8] {
        &self.content
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
        let take = |body: &mut RequestBody, count: usize| {
            body.buffer().reserve_exact(count);
            body.buffer().extend(std::iter::repeat_n(b'x', count));
            body.count()
        };
        let (mut one, mut other) = (RequestBody::new(&account), RequestBody::new(&account));
        assert_eq!(take(&mut one, least - 100), Ok(()));
        assert_eq!(take(&mut other, 100), Ok(()));
        assert_eq!(take(&mut other, 0), Ok(()));
        assert_eq!(take(&mut other, 1), Err(MemoryExhausted));
        drop(other);
        let bytes = one.into_bytes();
        let part = bytes.slice(1..2);
        drop(bytes);
        assert_eq!(
            take(&mut RequestBody::new(&account), 101),
            Err(MemoryExhausted)
        );
        drop(part);
        assert_eq!(take(&mut RequestBody::new(&account), least), Ok(()));
    }
}
