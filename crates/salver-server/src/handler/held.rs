//! The content of requests, as it comes and as long as a handler has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// How much content is held, of all requests together.
#[derive(Clone, Debug)]
pub(crate) struct Holding {
    bytes: Arc<AtomicU64>,
    most: u64,
}

/// There is no room for more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The content of one request, as far as it has come. It counts until the last reference to it is
/// dropped.
#[derive(Debug)]
pub(crate) struct Held {
    content: Vec<u8>,
    /// What of it is counted, in bytes.
    counted: u64,
    holding: Holding,
}

impl Holding {
    /// At most `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        Holding {
            bytes: Arc::default(),
            most,
        }
    }

    /// Room for the content of one request.
    pub(crate) fn begin(&self) -> Held {
        Held {
            content: Vec::new(),
            counted: 0,
            holding: self.clone(),
        }
    }
}

impl Held {
    /// Where what comes is appended; [`count`](Self::count) it then.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.content
    }

    /// Counts what has come.
    ///
    /// # Errors
    /// [`Full`] if that is too much, of all requests together.
    pub(crate) fn count(&mut self) -> Result<(), Full> {
        let length = u64::try_from(self.content.len()).unwrap_or(u64::MAX);
        let more = length - self.counted;
        self.counted = length;
        let before = self.holding.bytes.fetch_add(more, Ordering::Relaxed);
        if more > 0 && before.saturating_add(more) > self.holding.most {
            return Err(Full);
        }
        Ok(())
    }

    /// All of it.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.holding
            .bytes
            .fetch_sub(self.counted, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_until_nobody_has_it() {
        let holding = Holding::new(10);
        let take = |held: &mut Held, count: usize| {
            held.buffer().extend(std::iter::repeat_n(b'x', count));
            held.count()
        };
        let (mut one, mut other) = (holding.begin(), holding.begin());
        assert_eq!(take(&mut one, 6), Ok(()));
        assert_eq!(take(&mut other, 4), Ok(()));
        assert_eq!(take(&mut other, 0), Ok(()));
        assert_eq!(take(&mut other, 1), Err(Full));
        drop(other);
        let bytes = one.into_bytes();
        let part = bytes.slice(1..2);
        drop(bytes);
        assert_eq!(take(&mut holding.begin(), 5), Err(Full));
        drop(part);
        assert_eq!(take(&mut holding.begin(), 10), Ok(()));
    }
}
