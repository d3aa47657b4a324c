//! The clock that files get their times from.

use std::time::SystemTime;

/// The time by that clock. On Linux that of the last tick, which comes late where the core that counts ticks is taken
/// away.
pub(super) fn now() -> SystemTime {
    #[cfg(target_os = "linux")]
    if let Some(since) = crate::clock::time_of(libc::CLOCK_REALTIME_COARSE) {
        return SystemTime::UNIX_EPOCH + since;
    }
    SystemTime::now()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::{Duration, SystemTime};

    #[test]
    fn it_is_never_early() {
        for _ in 0..1000 {
            let coarse = super::now();
            let fine = SystemTime::now();
            assert!(coarse <= fine);
            assert!(fine < coarse + Duration::from_secs(60));
        }
    }
}
