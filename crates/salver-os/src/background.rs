//! Threads that give way to others, and the time that a thread has spent on a core.

use std::time::Duration;

/// The niceness of threads that do what somebody waits for, beside the loops: a tenth of a loop's share.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The least share that there is, where the system refuses to run a thread only when it is idle.
#[cfg(target_os = "linux")]
const LEAST: i32 = 19;

/// Lowers the priority of the calling thread below those that serve. Elsewhere than on Linux it is processes that give
/// way, and this does nothing.
pub fn run_behind_others() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

/// Has the calling thread run only when no other wants the core; such a thread is pushed aside at once by one that
/// wakes. There is no way back. Elsewhere than on Linux this does nothing.
pub fn run_when_idle() {
    #[cfg(target_os = "linux")]
    {
        // It is the share if the next call is refused, and harmless if not.
        let _ = rustix::process::nice(LEAST);
        // The system's own structure: the priority, which has to be 0. musl's function refuses whatever it is asked.
        let priority: libc::c_int = 0;
        // SAFETY: the pointer is valid for the call, which keeps nothing of it; 0 is the calling thread.
        let _ = unsafe {
            let number = libc::SYS_sched_setscheduler;
            libc::syscall(number, 0, libc::SCHED_IDLE, &raw const priority)
        };
    }
}

/// The time that the calling thread has spent on a core. Where the system does not tell, the time since its first call
/// of this.
pub fn thread_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    {
        thread_local! {
            static SINCE: std::time::Instant = std::time::Instant::now();
        }
        SINCE.with(std::time::Instant::elapsed)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_give_way() {
        let policy = || {
            // SAFETY: 0 is the calling thread.
            unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
        };
        let idle = std::thread::spawn(move || {
            run_when_idle();
            policy()
        });
        assert_eq!(idle.join().unwrap(), libc::SCHED_IDLE.into());
        let behind = std::thread::spawn(move || {
            run_behind_others();
            (policy(), rustix::process::nice(0).unwrap())
        });
        let (policy, nice) = behind.join().unwrap();
        assert_eq!(policy, libc::SCHED_OTHER.into());
        assert!(nice >= NICENESS);
    }

    #[test]
    fn rest_is_no_work() {
        let before = thread_time();
        std::thread::sleep(Duration::from_millis(50));
        let slept = thread_time() - before;
        assert!(slept < Duration::from_millis(40), "{slept:?}");
        let mut sum = 0_u64;
        while thread_time() == before + slept {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
