//! The clocks of the system, by their numbers.

use std::time::Duration;

/// The time of the clock with this number; `None` if there is none, or before its beginning.
pub(crate) fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for the call, which keeps nothing of it.
    let told = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (told == 0).then_some(Duration::new(seconds, nanoseconds))
}
