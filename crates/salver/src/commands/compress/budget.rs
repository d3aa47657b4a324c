//! The memory that all threads together may take.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The bytes that contents and encoders take together, but for one encoder, which always may. Encoders of long files
/// take many times what is in them, and there may be many cores.
const MOST: u64 = 1 << 30;

/// The budget; shares of it are given back when they are dropped.
#[derive(Debug, Default)]
pub(super) struct Budget {
    taken: Mutex<Taken>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: u64,
    contents: usize,
    encoders: usize,
}

/// What a share is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Content,
    Encoder,
}

/// A part of the budget.
#[derive(Debug)]
pub(super) struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
    used_for: Use,
}

impl Budget {
    /// Waits until there is room for the content of a file.
    pub(super) fn for_content(&self, bytes: u64) -> Share<'_> {
        self.take(bytes, Use::Content)
    }

    /// Waits until there is room for an encoder.
    pub(super) fn for_encoder(&self, bytes: u64) -> Share<'_> {
        self.take(bytes, Use::Encoder)
    }

    fn take(&self, bytes: u64, used_for: Use) -> Share<'_> {
        let mut taken = self.taken();
        // Contents wait for encoders, and one encoder at least is never waiting: so it goes on.
        while !taken.has_room(bytes, used_for) {
            taken = self
                .given_back
                .wait(taken)
                .unwrap_or_else(PoisonError::into_inner);
        }
        taken.bytes = taken.bytes.saturating_add(bytes);
        *taken.count(used_for) += 1;
        Share {
            budget: self,
            bytes,
            used_for,
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn has_room(&self, bytes: u64, used_for: Use) -> bool {
        let fits = self.bytes.saturating_add(bytes) <= MOST;
        match used_for {
            Use::Content => fits || self.contents == 0,
            Use::Encoder => fits || self.encoders == 0,
        }
    }

    fn count(&mut self, used_for: Use) -> &mut usize {
        match used_for {
            Use::Content => &mut self.contents,
            Use::Encoder => &mut self.encoders,
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut taken = self.budget.taken();
        taken.bytes = taken.bytes.saturating_sub(self.bytes);
        *taken.count(self.used_for) -= 1;
        drop(taken);
        self.budget.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_much_and_for_one_encoder_in_any_case() {
        let budget = Budget::default();
        let check = |bytes: u64, used_for: Use, expected: bool| {
            let has_room = budget.taken().has_room(bytes, used_for);
            assert_eq!(has_room, expected, "{bytes} {used_for:?}");
        };
        check(2 * MOST, Use::Content, true);
        let content = budget.for_content(MOST - 10);
        check(10, Use::Content, true);
        check(11, Use::Content, false);
        check(11, Use::Encoder, true);
        let encoder = budget.for_encoder(MOST);
        check(1, Use::Content, false);
        check(1, Use::Encoder, false);
        drop(content);
        check(0, Use::Encoder, true);
        drop(encoder);
        check(MOST, Use::Content, true);
        assert_eq!(budget.taken().bytes, 0);
    }
}
