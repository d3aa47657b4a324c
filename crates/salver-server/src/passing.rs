//! Memory for content that only passes through: read from a disk by the loader, on its way to a
//! client that may take its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// While no more than this is on its way, everybody gets what they ask for.
const PLENTY: u64 = 64 * 1024 * 1024;

/// What one gets beyond. So the bound is [`PLENTY`] and this for each connection.
const LITTLE: u64 = 32 * 1024;

/// Bytes on their way.
#[derive(Debug, Default)]
pub(crate) struct Passing(Arc<AtomicU64>);

/// Room for some; free again when dropped.
pub(crate) struct Room {
    all: Arc<AtomicU64>,
    length: u64,
}

impl Passing {
    /// Room for at most `wanted` bytes, and for one at least.
    pub(crate) fn take(&self, wanted: u64) -> Room {
        let used = self.0.load(Ordering::Relaxed);
        let length = if used.saturating_add(wanted) <= PLENTY {
            wanted
        } else {
            wanted.min(LITTLE)
        };
        self.0.fetch_add(length, Ordering::Relaxed);
        Room {
            all: Arc::clone(&self.0),
            length,
        }
    }
}

impl Room {
    /// In bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.fetch_sub(self.length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_become_small_when_much_is_on_its_way() {
        let passing = Passing::default();
        let window = 256 * 1024;
        let mut rooms: Vec<Room> = (0..PLENTY / window).map(|_| passing.take(window)).collect();
        assert!(rooms.iter().all(|room| room.length() == window));
        assert_eq!(passing.take(window).length(), LITTLE);
        assert_eq!(passing.take(1).length(), 1);
        rooms.pop();
        assert_eq!(passing.take(window).length(), window);
    }
}
