//! How much a client may ask for without leading to anything.

use crate::limits::Limits;

/// A bucket of frames that lead to nothing, which refills with time.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Frames that have not been forgiven.
    spent: u32,
    /// When some were forgiven last, in the caller's seconds.
    second: u64,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Patience {
            spent: 0,
            second: 0,
        }
    }

    /// Counts one such frame; `false` if it is one too many.
    pub(crate) fn spend(&mut self, limits: &Limits, second: u64) -> bool {
        if second > self.second {
            let seconds = u32::try_from(second - self.second).unwrap_or(u32::MAX);
            let forgiven = seconds.saturating_mul((limits.max_idle_frames / 10).max(1));
            self.spent = self.spent.saturating_sub(forgiven);
            self.second = second;
        }
        self.spent = self.spent.saturating_add(1);
        self.spent <= limits.max_idle_frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_and_comes_back() {
        let limits = Limits {
            max_idle_frames: 20,
            ..Limits::default()
        };
        let mut patience = Patience::new();
        let mut allowed = |second, count| (0..count).all(|_| patience.spend(&limits, second));
        assert!(allowed(5, 20));
        assert!(!allowed(5, 1));
        // One over is forgiven, too.
        assert!(allowed(6, 1));
        assert!(!allowed(6, 1));
        assert!(allowed(100, 20));
        assert!(!allowed(100, 1));
    }
}
