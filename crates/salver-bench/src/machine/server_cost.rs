//! The cost of a server that is a process of this machine: its CPU, and that of all processes
//! that descend from it, between two moments.
//!
//! From `/proc`, which counts in ticks (a hundredth of a second, usually): measure for seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use crate::machine::process_table::{Process, all, family};

/// How often the family is read again if it changes while it is read.
const ATTEMPTS: usize = 5;

/// A process and its descendants, watched since a moment.
#[derive(Clone, Debug)]
pub(crate) struct ServerWatch {
    pids: Vec<u32>,
    /// Those that were there at the start, by id, with when they began. They stay in the family
    /// even if their parent ends and they are given another.
    known: BTreeMap<u32, u64>,
    /// Ticks that the family had used at the start.
    ticks: u64,
}

impl ServerWatch {
    /// Begins to watch the processes with these ids: one, or several of one server. Who descends from
    /// another of them counts once.
    /// The text of an error is one line.
    pub(crate) fn start(pids: &[u32]) -> Result<ServerWatch, String> {
        let is_there = |pid: u32| Process::read(pid).is_some_and(|process| !process.zombie);
        if let Some(pid) = pids.iter().find(|pid| !is_there(**pid)) {
            return Err(format!(
                "no process with the id {pid} can be seen here: name one that runs on this machine"
            ));
        }
        let mut watch = ServerWatch {
            pids: pids.to_vec(),
            known: BTreeMap::new(),
            ticks: 0,
        };
        let family = watch.family(&pids.iter().copied().collect());
        watch.known = family.iter().map(|one| (one.pid, one.started)).collect();
        watch.ticks = ticks(&family);
        Ok(watch)
    }

    /// User and system time of the whole family since the start, to a tick for each process.
    ///
    /// A child that came and ended meanwhile is in it, as soon as its parent has waited for it. Not
    /// in it is what its parent refuses to hear of (it ignores SIGCHLD), and what was detached from
    /// the family after the start.
    /// Of a process that has ended it is known to its parent alone: an error of one line.
    pub(crate) fn cpu(&self) -> Result<Duration, String> {
        Ok(of_ticks(ticks(&self.now()?).saturating_sub(self.ticks)))
    }

    /// Resident memory of the whole family now, in bytes. What several share counts once, if the
    /// kernel lets this process look; else it counts for each of them.
    pub(crate) fn resident_bytes(&self) -> Result<u64, String> {
        let page = rustix::param::page_size() as u64;
        let family = self.now()?;
        let of = |one: &Process| {
            proportional_bytes(one.pid).unwrap_or_else(|| one.resident_pages.saturating_mul(page))
        };
        Ok(family.iter().map(of).sum())
    }

    fn now(&self) -> Result<Vec<Process>, String> {
        let same = |(pid, started): (&u32, &u64)| {
            let found = Process::read(*pid)?;
            (found.started == *started).then_some(found)
        };
        let known: Vec<Process> = self.known.iter().filter_map(same).collect();
        let runs = |pid: u32| known.iter().any(|one| one.pid == pid && !one.zombie);
        if let Some(pid) = self.pids.iter().find(|pid| !runs(**pid)) {
            return Err(format!("the process {pid} ended while it was measured"));
        }
        Ok(self.family(&known.iter().map(|one| one.pid).collect()))
    }

    /// Reads until nobody came or went while reading: a child that is reaped at that moment would
    /// count twice, or not at all.
    fn family(&self, roots: &BTreeSet<u32>) -> Vec<Process> {
        let ids = |found: &[Process]| found.iter().map(|one| one.pid).collect::<Vec<_>>();
        let mut found = family(&all(), roots);
        for _ in 1..ATTEMPTS {
            let again = family(&all(), roots);
            let settled = ids(&again) == ids(&found);
            found = again;
            if settled {
                break;
            }
        }
        found
    }
}

/// Ticks that a family has used since it began. Those of children that were waited for are in their
/// parent's part.
fn ticks(family: &[Process]) -> u64 {
    let both = |one: &Process| one.own_ticks + one.reaped_ticks;
    family.iter().map(both).sum()
}

/// As many ticks of the kernel's clock as time.
pub(crate) fn of_ticks(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second))
}

/// Resident memory of one process where a page that n share counts 1/n (Pss), in bytes.
fn proportional_bytes(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    use super::*;

    /// A shell that works when it is told to, and says itself what it has used.
    struct Worker {
        child: Child,
        input: ChildStdin,
        output: BufReader<ChildStdout>,
    }

    impl Worker {
        fn start(script: &str) -> Worker {
            // `work` is bounded by its count, and long enough for many ticks.
            let script = format!(
                "exec 3<&0
                 WORK='work() {{ i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; }}'
                 eval \"$WORK\"
                 {script}"
            );
            let mut child = Command::new("sh")
                .args(["-c", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let input = child.stdin.take().unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            Worker {
                child,
                input,
                output,
            }
        }

        fn go_on(&mut self) {
            self.input.write_all(b"\n").unwrap();
        }

        fn line(&mut self) -> String {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "the shell has ended");
            line
        }

        /// What `times` prints: user and system of the shell, and of what it has waited for.
        fn times(&mut self) -> Duration {
            let lines = [self.line(), self.line()].concat();
            let seconds = lines.split_whitespace().map(|time| {
                let (minutes, seconds) = time.strip_suffix('s').unwrap().split_once('m').unwrap();
                minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
            });
            Duration::from_secs_f64(seconds.sum())
        }
    }

    impl Drop for Worker {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// A script that says `times`, waits for a line, works, says `times` and waits again.
    fn check(script: &str) {
        let mut worker = Worker::start(script);
        let before = worker.times();
        let watch = ServerWatch::start(&[worker.child.id()]).unwrap();
        worker.go_on();
        let expected = worker.times() - before;
        let found = watch.cpu().unwrap();
        // Each of four counters is cut to a tick at both moments.
        let slack = of_ticks(8);
        assert!(expected > slack * 2, "too little work: {expected:?}");
        let is_right = found.abs_diff(expected) <= slack;
        assert!(is_right, "{found:?} {expected:?}\n{script}");
        assert!((4096..1 << 30).contains(&watch.resident_bytes().unwrap()));
    }

    #[test]
    fn what_a_family_did_meanwhile_is_counted_whoever_came_and_ended() {
        // The process itself; a child that comes and ends, ends after what it did before, or stays.
        check("work; times; read x; work; times; read x");
        check("work; times; read x; (work); times; read x");
        check("(work; times; read x <&3; work) & wait; times; read x");
        check("times; read x; (work; times; read x <&3) & wait");
        // A child whose parent has ended.
        check(
            r#"exec 2>/dev/null
               (sh -c "$WORK; times; read x <&3; kill \$PPID; work; times; read x <&3" & wait)
               exec sleep 60"#,
        );
    }

    #[test]
    fn of_several_each_counts_once() {
        let mut worker = Worker::start("echo $$; times; read x; work; times; read x");
        let shell: u32 = worker.line().trim().parse().unwrap();
        let before = worker.times();
        // The same one twice, and one of which it descends.
        let alone = ServerWatch::start(&[shell]).unwrap();
        let longer = ServerWatch::start(&[std::process::id()]).unwrap();
        let both = ServerWatch::start(&[std::process::id(), shell, shell]).unwrap();
        let shorter = ServerWatch::start(&[std::process::id()]).unwrap();
        worker.go_on();
        let expected = worker.times() - before;
        let slack = of_ticks(8);
        assert!(alone.cpu().unwrap().abs_diff(expected) <= slack);
        // Other tests of this process work meanwhile: between two looks at it, which begin around it as well.
        let (least, found, most) = (
            shorter.cpu().unwrap(),
            both.cpu().unwrap(),
            longer.cpu().unwrap(),
        );
        let is_right = least <= found + slack && found <= most + slack;
        assert!(is_right, "{least:?} {found:?} {most:?}");
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let error = ServerWatch::start(&[std::process::id(), pid]).unwrap_err();
        assert!(error.contains(&pid.to_string()), "{error}");
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn a_process_that_ends_is_an_error_and_not_a_figure() {
        let mut worker = Worker::start("read x");
        let watch = ServerWatch::start(&[worker.child.id()]).unwrap();
        worker.go_on();
        // It has ended, and is not waited for yet: its line in /proc is still there.
        let mut rest = String::new();
        worker.output.read_line(&mut rest).unwrap();
        while Process::read(worker.child.id()).is_some_and(|one| !one.zombie) {
            std::thread::yield_now();
        }
        assert!(watch.cpu().unwrap_err().contains("ended"));
        worker.child.wait().unwrap();
        assert!(watch.resident_bytes().unwrap_err().contains("ended"));
    }
}
