//! What others take of this machine while a test measures. A test that judges time says nothing of a machine
//! that it does not have for itself.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::not_judged;

/// A share of all cores with which others may disturb a measurement, so that its failure is not held against
/// who is measured.
const DISTURBING: f64 = 0.03;

/// Failures of an undisturbed measurement until it has failed. One may be an accident.
const FAILURES: usize = 2;

/// Attempts in all, disturbed ones included.
const ATTEMPTS: usize = 6;

/// What processes that are neither this one nor its children took, since a moment.
#[derive(Debug)]
pub struct Others {
    since: Instant,
    before: Taken,
}

impl Others {
    /// From now on.
    ///
    /// # Panics
    /// Where there is no `/proc`.
    pub fn watch() -> Self {
        Others {
            since: Instant::now(),
            before: Taken::until_now(),
        }
    }

    /// The share of all cores that they took until now.
    ///
    /// # Panics
    /// Where there is no `/proc`.
    pub fn share(&self) -> f64 {
        let cores = std::thread::available_parallelism().unwrap().get() as f64;
        let taken = Taken::until_now().since(&self.before);
        taken.as_secs_f64() / (self.since.elapsed().as_secs_f64() * cores)
    }
}

/// The clock that files get their times from, since its beginning. It stands still while the core that counts ticks is
/// taken away, and leaps after that: what was written meanwhile looks as old as that.
pub fn file_clock() -> Duration {
    #[cfg(target_os = "linux")]
    return rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse)
        .try_into()
        .unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Measures until it comes out right, or has failed on a machine that nobody else used. Where others did not stop
/// to use it, that is said past the test harness, and nothing is judged.
///
/// # Panics
/// If the measurement has failed.
pub fn judge(what: impl Display, mut measure: impl FnMut() -> Result<(), String>) {
    let verdict = decide(|| {
        let others = Others::watch();
        let measured = measure();
        (measured, others.share())
    });
    match verdict {
        Verdict::Right => {}
        Verdict::Wrong(why) => panic!("{what}: {why}"),
        Verdict::Busy(why) => not_judged(what, why),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong(String),
    Busy(String),
}

/// Each attempt says how it came out, and what others took meanwhile.
fn decide(mut attempt: impl FnMut() -> (Result<(), String>, f64)) -> Verdict {
    let mut failures = 0;
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let (measured, others) = attempt();
        let Err(why) = measured else {
            return Verdict::Right;
        };
        if others < DISTURBING {
            failures += 1;
            if failures == FAILURES {
                return Verdict::Wrong(why);
            }
        }
        last = format!("{why} (others took {:.0} % of the machine)", others * 100.0);
    }
    Verdict::Busy(last)
}

/// The processor time that others have taken, in ticks of the clock, of which each figure sees what the other does
/// not.
#[derive(Debug)]
struct Taken {
    /// Of the processes that can be seen: neither this one nor its children, nor the kernel's threads, which work for
    /// whoever asks them.
    by_processes: u64,
    /// In user mode, by whomever, a neighbour in another container included; and the part of it that is ours.
    in_user_mode: u64,
    ours_in_user_mode: u64,
    /// By another machine on the same cores.
    stolen: u64,
}

impl Taken {
    fn until_now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        // The line of all cores: user, nice, system, idle, iowait, irq, softirq, steal.
        let columns: Vec<u64> = stat
            .split_whitespace()
            .skip(1)
            .map_while(|column| column.parse().ok())
            .collect();
        let processes = processes();
        let (ours, theirs): (Vec<_>, Vec<_>) = processes
            .iter()
            .partition(|(pid, _)| is_ours(&processes, **pid));
        Taken {
            by_processes: theirs.iter().map(|(_, process)| process.ticks).sum(),
            in_user_mode: columns[0] + columns[1],
            ours_in_user_mode: ours.iter().map(|(_, process)| process.user_ticks).sum(),
            stolen: columns[7],
        }
    }

    fn since(&self, before: &Self) -> Duration {
        let taken = |of: fn(&Taken) -> u64| of(self).saturating_sub(of(before));
        let ours = taken(|it| it.ours_in_user_mode);
        // The kernel counts all cores by sampling and a process by the clock: they differ by some hundredths.
        let in_user_mode = taken(|it| it.in_user_mode).saturating_sub(ours + ours / 10);
        let by_processes = taken(|it| it.by_processes);
        let ticks = by_processes.max(in_user_mode) + taken(|it| it.stolen);
        #[cfg(unix)]
        let per_second = rustix::param::clock_ticks_per_second();
        #[cfg(not(unix))]
        let per_second = 100; // There is no `/proc` of which these were the ticks.
        Duration::from_secs_f64(ticks as f64 / per_second as f64)
    }
}

#[derive(Debug)]
struct Process {
    parent: u32,
    /// Its own time and that of its children that have ended.
    ticks: u64,
    /// The part of it that was spent in user mode.
    user_ticks: u64,
}

/// The kernel's thread that starts all others of its threads.
const KTHREADD: u32 = 2;

fn is_ours(processes: &BTreeMap<u32, Process>, mut pid: u32) -> bool {
    loop {
        if pid == std::process::id() || pid == KTHREADD && processes.contains_key(&KTHREADD) {
            return true;
        }
        match processes.get(&pid) {
            Some(process) if process.parent != 0 => pid = process.parent,
            _ => return false,
        }
    }
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, process(&stat)?))
        })
        .collect()
}

/// The name is in parentheses and may have any byte; state and parent follow.
fn process(stat: &str) -> Option<Process> {
    let columns: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |column: usize| columns.get(column)?.parse::<u64>().ok();
    let [user, system, user_of_children, system_of_children] =
        [ticks(11)?, ticks(12)?, ticks(13)?, ticks(14)?];
    let user_ticks = user + user_of_children;
    Some(Process {
        parent: columns.get(1)?.parse().ok()?,
        ticks: user_ticks + system + system_of_children,
        user_ticks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn decided(attempts: &[(bool, f64)]) -> (Verdict, usize) {
        let mut count = 0;
        let verdict = decide(|| {
            let (is_right, others) = attempts[count.min(attempts.len() - 1)];
            count += 1;
            let measured = if is_right {
                Ok(())
            } else {
                Err("late".to_owned())
            };
            (measured, others)
        });
        (verdict, count)
    }

    #[test]
    fn only_what_nobody_disturbed_has_failed() {
        assert_eq!(decided(&[(true, 0.0)]), (Verdict::Right, 1));
        // Right is right on a busy machine, too.
        assert_eq!(decided(&[(true, 0.9)]), (Verdict::Right, 1));
        assert_eq!(decided(&[(false, 0.9), (true, 0.0)]), (Verdict::Right, 2));
        assert_eq!(decided(&[(false, 0.0), (true, 0.0)]), (Verdict::Right, 2));
        let wrong = Verdict::Wrong("late".to_owned());
        assert_eq!(decided(&[(false, 0.0)]), (wrong, 2));
        let wrong = Verdict::Wrong("late".to_owned());
        let attempts = [(false, 0.5), (false, 0.0), (false, 0.5), (false, 0.0)];
        assert_eq!(decided(&attempts), (wrong, 4));
        let busy = Verdict::Busy("late (others took 50 % of the machine)".to_owned());
        assert_eq!(decided(&[(false, 0.5)]), (busy, ATTEMPTS));
    }

    #[test]
    fn a_line_of_a_process_is_read_whatever_its_name() {
        let line = "17 (a) 1 (b) S 5 17 17 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 9 0 0";
        let process = process(line).unwrap();
        assert_eq!((process.parent, process.ticks), (5, 127));
        assert_eq!(process.user_ticks, 103);
        assert!(super::process("17 (a) S").is_none());
    }

    /// Some tenths of a second of a core.
    const WORK: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

    fn shell(script: &str) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn what_a_stranger_takes_is_of_others() {
        let before = Taken::until_now();
        // Whose parent has ended is nobody's child. It is there until it is seen: what has ended is not counted.
        let script = "(ulimit -t 20; while :; do :; done) > /dev/null 2>&1 & echo $!";
        let started = Command::new("sh").args(["-c", script]).output().unwrap();
        let stranger = String::from_utf8(started.stdout).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        let seen = || {
            let now = Taken::until_now();
            // A tenth of a second, by either figure.
            let by_processes = now.by_processes >= before.by_processes + 10;
            by_processes && now.in_user_mode >= before.in_user_mode + 10
        };
        while !seen() {
            assert!(Instant::now() < end, "it is not seen");
            std::thread::sleep(Duration::from_millis(10));
        }
        shell(&format!("kill {}", stranger.trim()));
    }

    #[test]
    fn what_a_child_takes_is_ours() {
        let this = std::process::id();
        let before = processes();
        assert!(is_ours(&before, this) && !is_ours(&before, 1));
        shell(WORK);
        assert!(processes()[&this].ticks >= before[&this].ticks + 10);
    }
}
