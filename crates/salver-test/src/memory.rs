//! The memory of a process.

/// A line of `/proc/PID/status`, as `VmRSS`: most of them are in KiB. `pid` may be `self`.
///
/// # Panics
/// If there is no such process or line.
pub fn status_kib(pid: impl std::fmt::Display, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = status.lines().find_map(|text| text.strip_prefix(line));
    let digits = value.unwrap().trim_matches([':', '\t', ' ', 'k', 'B']);
    digits.parse().unwrap()
}
