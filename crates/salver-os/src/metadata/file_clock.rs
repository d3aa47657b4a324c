//! The clock that files get their times from.

use std::time::SystemTime;

/// The time by that clock. On Linux that of the last tick, which comes late where the core that counts ticks is taken
/// away.
pub(super) fn now() -> SystemTime {
    #[cfg(target_os = "linux")]
    if let Some(time) = of_last_tick() {
        return time;
    }
    SystemTime::now()
}

#[cfg(target_os = "linux")]
fn of_last_tick() -> Option<SystemTime> {
    let mut time = std::mem::MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is valid for a `timespec`, of which every bit pattern is a value.
    let time = unsafe {
        if libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, time.as_mut_ptr()) != 0 {
            return None;
        }
        time.assume_init()
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::new(seconds, nanoseconds))
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
