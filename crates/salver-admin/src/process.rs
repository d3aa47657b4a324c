//! The process, as Linux tells of it; elsewhere nothing is known.

use std::fs;

use serde::{Deserialize, Serialize};

/// The ticks of a second in which Linux counts time for programs, whatever its own are.
const TICKS: u64 = 100;

/// What the system tells of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The time on a CPU, in hundredths of a second.
    pub cpu_ticks: Option<u64>,
    /// The memory in use, in bytes.
    pub resident_bytes: Option<u64>,
    /// The descriptors in use.
    pub open_fds: Option<u64>,
    /// The most descriptors.
    pub max_fds: Option<u64>,
    /// The threads.
    pub threads: Option<u64>,
    /// The moment of its start, in seconds since 1970.
    pub started: Option<u64>,
}

impl Process {
    /// This process, now.
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let descriptors = fs::read_dir("/proc/self/fd").ok();
        let of_stat = of_stat(&read("/proc/self/stat"), &read("/proc/stat"));
        Process {
            resident_bytes: number_after(&read("/proc/self/status"), "VmRSS:")
                .map(|kilobytes| kilobytes * 1024),
            // Less the one that counts them.
            open_fds: descriptors.and_then(|all| u64::try_from(all.count().saturating_sub(1)).ok()),
            max_fds: number_after(&read("/proc/self/limits"), "Max open files"),
            ..of_stat
        }
    }
}

/// The first number behind this word at the beginning of a line.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// What `/proc/self/stat` has, and `/proc/stat` of the machine's start.
fn of_stat(own: &str, machine: &str) -> Process {
    // The name stands in parentheses, and may have any in it.
    let fields = own.rsplit_once(") ").map_or("", |(_, fields)| fields);
    // The first of these is the third of proc(5).
    let field = |number: usize| {
        let mut fields = fields.split_whitespace();
        fields.nth(number - 3)?.parse::<u64>().ok()
    };
    let booted = number_after(machine, "btime");
    Process {
        cpu_ticks: field(14).zip(field(15)).map(|(user, system)| user + system),
        threads: field(20),
        started: booted
            .zip(field(22))
            .map(|(booted, ticks)| booted + ticks / TICKS),
        ..Process::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc() {
        let own = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 120 34 0 0 20 0 5 0 900 8 9\n";
        let found = of_stat(own, "cpu 1\nbtime 1000\n");
        assert_eq!((found.cpu_ticks, found.threads), (Some(154), Some(5)));
        assert_eq!(found.started, Some(1009));
        assert_eq!(of_stat("", ""), Process::default());
        let limits = "Limit  Soft\nMax open files            1024                 4096  files\n";
        assert_eq!(number_after(limits, "Max open files"), Some(1024));
        assert_eq!(
            number_after("Max open files unlimited", "Max open files"),
            None
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_known() {
        let found = Process::now();
        assert!(found.resident_bytes.unwrap() > 100_000, "{found:?}");
        assert!(found.open_fds.unwrap() >= 1 && found.threads.unwrap() >= 1);
        assert!(found.started.unwrap() > 1_600_000_000);
    }
}
