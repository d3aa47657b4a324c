//! Threads that give way to others, and the time that a thread has spent on a core.

use std::time::Duration;

/// The niceness of threads that do what somebody waits for, beside the loops: a tenth of a loop's share.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The shortest slice of time, in nanoseconds.
#[cfg(target_os = "linux")]
const SLICE: u64 = 100_000;

/// The least share that there is, where the system refuses to run a thread only when it is idle.
#[cfg(target_os = "linux")]
const LEAST: i32 = 19;

/// Lowers the priority of the calling thread below those that serve. Elsewhere than on Linux it is processes that give
/// way, and this does nothing.
pub fn run_behind_others() {
    #[cfg(target_os = "linux")]
    give_way(NICENESS);
}

/// Asks for the shortest slices of time that there are for the calling thread, and not for those that it starts: by that Linux (6.12
/// and newer) knows what is not to wait, and has it run as soon as it wakes, beside others that would keep the core for
/// milliseconds. Its share stays as it is, and so does a thread that somebody has given another policy. Elsewhere this does nothing.
pub fn ask_for_short_slices() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call takes a number and touches no memory; 0 is the calling thread.
        let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        if policy != libc::c_long::from(libc::SCHED_OTHER) {
            return;
        }
        /// The system's own structure, as it was at first (sched_setattr(2)).
        #[repr(C)]
        struct Attributes {
            size: u32,
            policy: u32,
            flags: u64,
            niceness: i32,
            priority: u32,
            runtime: u64,
            deadline: u64,
            period: u64,
        }
        const _: () = assert!(size_of::<Attributes>() == 48);
        let attributes = Attributes {
            size: 48,
            policy: 0,
            // SCHED_FLAG_RESET_ON_FORK.
            flags: 1,
            niceness: give_way(0),
            priority: 0,
            runtime: SLICE,
            deadline: 0,
            period: 0,
        };
        // SAFETY: the pointer is valid for the call, which keeps nothing of it; 0 is the calling thread.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}

/// Has the calling thread run only when no other wants the core; such a thread is pushed aside at once by one that
/// wakes. There is no way back. Elsewhere than on Linux this does nothing.
pub fn run_when_idle() {
    #[cfg(target_os = "linux")]
    {
        // It is the share if the next call is refused, and harmless if not.
        give_way(LEAST);
        // The system's own structure: the priority, which has to be 0. musl's function refuses whatever it is asked.
        let priority: libc::c_int = 0;
        // SAFETY: the pointer is valid for the call, which keeps nothing of it; 0 is the calling thread.
        let _ = unsafe {
            let number = libc::SYS_sched_setscheduler;
            libc::syscall(number, 0, libc::SCHED_IDLE, &raw const priority)
        };
    }
}

/// Raises the niceness of the calling thread, which on Linux is its own, by so much.
#[cfg(target_os = "linux")]
fn give_way(by: libc::c_int) -> libc::c_int {
    // SAFETY: the call takes a number and touches no memory.
    unsafe { libc::nice(by) }
}

/// The number of the calling thread (`gettid(2)`, which libc has for newer systems alone).
#[cfg(target_os = "linux")]
fn number_of_this_thread() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    libc::pid_t::try_from(number).unwrap_or(0)
}

/// The time that the calling thread has spent on a core. Where the system does not tell, the time since its first call
/// of this.
pub fn thread_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        crate::clock::time_of(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
    }
    #[cfg(not(target_os = "linux"))]
    {
        thread_local! {
            static SINCE: std::time::Instant = std::time::Instant::now();
        }
        SINCE.with(std::time::Instant::elapsed)
    }
}

/// The clock of a thread, which others may read: the time that it has spent on a core.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock {
    /// The number of the clock: that of its thread, as clock_getcpuclockid(3) has it.
    #[cfg(target_os = "linux")]
    number: libc::clockid_t,
}

impl ThreadClock {
    /// The clock of the calling thread.
    pub fn of_this_thread() -> Self {
        /// The bits that say "of one thread" and "of the scheduler".
        #[cfg(target_os = "linux")]
        const KIND: libc::clockid_t = 4 | 2;
        ThreadClock {
            #[cfg(target_os = "linux")]
            number: !number_of_this_thread() << 3 | KIND,
        }
    }

    /// The time that the thread has spent on a core; `None` if it has ended, or the system does not tell.
    pub fn time(&self) -> Option<Duration> {
        #[cfg(target_os = "linux")]
        {
            crate::clock::time_of(self.number)
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_another_thread_is_its_own() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while thread_time() < Duration::from_millis(20) {
                std::hint::black_box(0);
            }
            tell.send((ThreadClock::of_this_thread(), thread_time()))
                .unwrap();
            let _ = ended.recv();
        });
        let (clock, at_least) = told.recv().unwrap();
        let time = clock.time().unwrap();
        assert!(
            time >= at_least && time < at_least + Duration::from_secs(60),
            "{time:?}"
        );
        drop(end);
        thread.join().unwrap();
        // It may take the system a moment to forget the thread.
        while clock.time().is_some() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn threads_give_way() {
        let policy = || {
            // SAFETY: 0 is the calling thread.
            unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
        };
        let idle = std::thread::spawn(move || {
            run_when_idle();
            ask_for_short_slices();
            policy()
        });
        assert_eq!(idle.join().unwrap(), libc::SCHED_IDLE.into());
        let behind = std::thread::spawn(move || {
            run_behind_others();
            (policy(), give_way(0))
        });
        let (policy, nice) = behind.join().unwrap();
        assert_eq!(policy, libc::SCHED_OTHER.into());
        assert!(nice >= NICENESS);
    }

    #[test]
    fn what_is_not_to_wait_keeps_its_policy_and_its_share() {
        let thread = std::thread::spawn(|| {
            let before = give_way(0);
            ask_for_short_slices();
            let mut told = [0_u64; 6];
            // SAFETY: the system writes so many bytes, for which there is room; 0 is the calling thread.
            let result =
                unsafe { libc::syscall(libc::SYS_sched_getattr, 0, told.as_mut_ptr(), 48, 0) };
            (result, before, give_way(0), told)
        });
        let (result, before, after, told) = thread.join().unwrap();
        assert_eq!((result, after), (0, before));
        // The size and the policy; then SCHED_FLAG_RESET_ON_FORK. The slice is told by newer systems alone.
        assert_eq!((told[0] >> 32, told[1] & 1), (0, 1));
        assert!([0, SLICE].contains(&told[3]), "{told:?}");
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
