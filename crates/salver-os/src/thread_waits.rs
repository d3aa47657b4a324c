//! The times that a thread has waited: whether a piece of work needed a core, or something slower.

/// The number of times that the calling thread has given up its core to wait, for a disk, a lock or another process;
/// `None` where the system does not tell. Waiting for a core does not count.
pub fn thread_waits() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is valid for a `rusage`, of which every bit pattern is a value.
        let usage = unsafe {
            if libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) != 0 {
                return None;
            }
            usage.assume_init()
        };
        u64::try_from(usage.ru_nvcsw).ok()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::thread_waits;

    #[test]
    fn what_waits_is_told_from_what_works() {
        let counted = |work: &dyn Fn()| {
            let before = thread_waits().unwrap();
            work();
            thread_waits().unwrap() - before
        };
        let waits = || std::thread::sleep(Duration::from_millis(1));
        assert!(counted(&waits) > 0);
        let works = || {
            std::hint::black_box(
                (0..100_000_u64).fold(0, |sum, number| sum ^ std::hint::black_box(number)),
            );
        };
        assert_eq!(counted(&works), 0);
    }
}
