//! The table of processes in `/proc`: their parents, and the CPU that each has used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// One process at one moment, from `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// When it started, in ticks since boot: with the id it names one process for ever.
    pub(crate) started: u64,
    /// User and system time of its threads, in ticks.
    pub(crate) own_ticks: u64,
    /// The same of the children that it has waited for, and of theirs, in ticks.
    pub(crate) reaped_ticks: u64,
    pub(crate) resident_pages: u64,
    /// It has ended, and its parent has not yet asked how.
    pub(crate) zombie: bool,
}

impl Process {
    /// The process with this id, if there is one.
    pub(crate) fn read(pid: u32) -> Option<Process> {
        // A program's name need not be UTF-8.
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        parse(&String::from_utf8_lossy(&stat))
    }
}

fn parse(stat: &str) -> Option<Process> {
    // The second field is a name in parentheses, which can hold spaces and parentheses itself:
    // the last one ends it.
    let (before, after) = stat.rsplit_once(')')?;
    let pid = before.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // Counted from 1 in the manual, where the state is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let count = |number: usize| field(number)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: field(4)?.parse().ok()?,
        own_ticks: count(14)? + count(15)?,
        reaped_ticks: count(16)? + count(17)?,
        started: count(22)?,
        resident_pages: count(24)?,
        zombie: field(3)? == "Z",
    })
}

/// The ids of all processes that this one may see.
pub(crate) fn ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes that this one may see, by id.
pub(crate) fn all() -> BTreeMap<u32, Process> {
    let all = ids().filter_map(Process::read);
    all.map(|process| (process.pid, process)).collect()
}

/// Those of `all` that are among `roots` or descend from one of them.
pub(crate) fn family(all: &BTreeMap<u32, Process>, roots: &BTreeSet<u32>) -> Vec<Process> {
    let belongs = |process: &&Process| {
        // A chain longer than there are processes would be a circle, which two moments can show.
        let mut at = process.pid;
        for _ in 0..all.len() {
            if roots.contains(&at) {
                return true;
            }
            match all.get(&at) {
                Some(known) => at = known.parent,
                None => return false,
            }
        }
        false
    };
    all.values().filter(belongs).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_whatever_the_program_is_called() {
        let check = |name: &str| {
            let line = format!(
                "28008 ({name}) Z 28004 28004 22970 0 -1 4194304 100 0 0 0 11 12 13 14 20 0 1 0 \
                 1413361 3133440 390 18446744073709551615 0 0\n"
            );
            let expected = Process {
                pid: 28008,
                parent: 28004,
                started: 1_413_361,
                own_ticks: 23,
                reaped_ticks: 27,
                resident_pages: 390,
                zombie: true,
            };
            assert_eq!(parse(&line), Some(expected), "{name}");
        };
        ["cat", "a b", "a) R 1 (b", ")", ""]
            .iter()
            .for_each(|name| check(name));
        for line in ["", "1", "1 (a)", "1 (a) R 2 3", "x (a) R 2 3"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_family_is_its_roots_and_all_that_descend() {
        let process = |pid, parent| Process {
            pid,
            parent,
            ..Process::default()
        };
        // 8 and 9 are each other's parent, which is nonsense that must end.
        let of = |(pid, parent)| (pid, process(pid, parent));
        let pairs = [
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 1),
            (5, 3),
            (6, 77),
            (8, 9),
            (9, 8),
        ];
        let all = pairs.map(of).into();
        let check = |roots: &[u32], expected: &[u32]| {
            let found = family(&all, &roots.iter().copied().collect());
            let found: Vec<u32> = found.iter().map(|process| process.pid).collect();
            assert_eq!(found, expected, "{roots:?}");
        };
        check(&[2], &[2, 3, 5]);
        check(&[4, 3], &[3, 4, 5]);
        check(&[1], &[1, 2, 3, 4, 5]);
        check(&[6], &[6]);
        check(&[99], &[]);
    }

    #[test]
    fn this_process_is_among_all() {
        let this = std::process::id();
        let found = all();
        assert_eq!(found[&this].pid, this);
        assert!(found[&this].resident_pages > 0);
    }
}
