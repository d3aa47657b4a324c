//! The limits on CPU and memory of this process: those of the machine, and those of its cgroups (cgroups(7)).
//!
//! Service managers and containers limit a process by cgroups, of which the numbers of the machine tell nothing. A limit
//! holds for all groups beneath, so that the tightest one up the tree counts, in both versions of cgroups at once.

use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroU64;
use std::path::{Component, Path, PathBuf};

/// More of a file is not read, in bytes: a node of a cluster has thousands of mounts.
const LONGEST: u64 = 4 << 20;

/// Version 1 says by a number near the largest that there is no limit; nobody has so much memory.
const NO_LIMIT: u64 = 1 << 60;

/// The limits of a process. `None`: the system does not tell, or there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// The cores that it may run on: those of the machine, or fewer by affinity or a cpuset.
    pub cores: Option<u64>,
    /// The time on cores that the tightest CPU quota allows, in thousandths of a core, begun ones counted.
    pub cpu_quota: Option<u64>,
    /// The memory of the machine, in bytes.
    pub physical_memory: Option<u64>,
    /// The memory that the tightest limit allows, in bytes; what slows a process down counts as what ends it.
    pub memory_limit: Option<u64>,
}

/// Reads the limits of this process, most of them from `/proc` and `/sys`, which wait for nobody. Systems other than Linux tell cores alone.
pub fn resource_limits() -> ResourceLimits {
    let found = beneath(Path::new("/"));
    let cores = || {
        let cores = std::thread::available_parallelism().ok()?;
        u64::try_from(cores.get()).ok()
    };
    ResourceLimits {
        cores: found.cores.or_else(cores),
        // Service managers may hide files that are of no process.
        physical_memory: found.physical_memory.or_else(told_memory),
        ..found
    }
}

/// The memory of the machine as the kernel tells it without a file, in bytes.
fn told_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let told = rustix::system::sysinfo();
        #[allow(
            clippy::useless_conversion,
            reason = "the type of this field differs between platforms"
        )]
        let units = u64::try_from(told.totalram).ok()?;
        units.checked_mul(u64::from(told.mem_unit))
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// The limits that the files beneath a folder tell.
fn beneath(root: &Path) -> ResourceLimits {
    let read = |path: &str| text(&root.join(path)).unwrap_or_default();
    let mut limits = ResourceLimits {
        cores: cores(&read("proc/self/status")),
        physical_memory: physical_memory(&read("proc/meminfo")),
        ..ResourceLimits::default()
    };
    let groups = read("proc/self/cgroup");
    for mount in read("proc/self/mountinfo").lines().filter_map(Mount::parse) {
        let Some(group) = mount.group(&groups) else {
            continue;
        };
        let point = mount.point.strip_prefix("/").unwrap_or(&mount.point);
        let top = root.join(point);
        let group = top.join(group);
        for folder in group.ancestors().take_while(|one| one.starts_with(&top)) {
            limits.tighten(folder);
        }
    }
    limits
}

impl ResourceLimits {
    /// Takes the limits of one group, which has the files of its version alone.
    fn tighten(&mut self, group: &Path) {
        let read = |name: &str| text(&group.join(name)).unwrap_or_default();
        for name in ["memory.max", "memory.high", "memory.limit_in_bytes"] {
            self.memory_limit = least(self.memory_limit, bytes(&read(name)));
        }
        let of_two = [read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")].join(" ");
        for text in [read("cpu.max"), of_two] {
            self.cpu_quota = least(self.cpu_quota, quota(&text));
        }
    }
}

/// A hierarchy of groups, as it is mounted.
struct Mount {
    /// The group that the mount shows as its top.
    root: PathBuf,
    point: PathBuf,
    /// The options, among which version 1 has the controllers; version 2 has all of them.
    controllers: Option<String>,
}

impl Mount {
    /// Reads a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)); `None` if it is of another file system.
    fn parse(line: &str) -> Option<Mount> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let controllers = match after.next()? {
            "cgroup2" => None,
            "cgroup" => Some(after.nth(1)?.to_owned()),
            _ => return None,
        };
        Some(Mount {
            root: unescaped(root),
            point: unescaped(point),
            controllers,
        })
    }

    /// The path of this process's group beneath the mount, by the lines of `/proc/self/cgroup`; `None` if the mount does
    /// not show it.
    fn group(&self, groups: &str) -> Option<PathBuf> {
        let is_of = |all: &str| match &self.controllers {
            None => all.is_empty(),
            Some(mounted) => mounted
                .split(',')
                .any(|one| all.split(',').any(|of| of == one)),
        };
        let path = groups.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            is_of(controllers).then_some(path)
        })?;
        let beneath = Path::new(path).strip_prefix(&self.root).ok()?;
        // A group outside of the namespace begins with `..`.
        let mut parts = beneath.components();
        let is_beneath = parts.all(|part| matches!(part, Component::Normal(_)));
        is_beneath.then(|| beneath.to_owned())
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The text of a file; what is no UTF-8 in it is replaced, as names of others may be.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A path of `mountinfo`, where `\040` is a space.
fn unescaped(path: &str) -> PathBuf {
    let mut parts = path.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let number = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (number, part.get(3..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'\\');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number of the cores in `/proc/self/status`: `0-3,8` are five.
fn cores(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut count = 0_u64;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        let more = last.checked_sub(first)?.checked_add(1)?;
        count = count.checked_add(more)?;
    }
    Some(count)
}

/// The bytes of all memory in `/proc/meminfo`, which counts KiB.
fn physical_memory(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let size = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A memory limit in bytes; `max` is none.
fn bytes(text: &str) -> Option<u64> {
    let bytes = text.trim().parse().ok()?;
    (bytes < NO_LIMIT).then_some(bytes)
}

/// A CPU quota and its period, both in microseconds, as thousandths of a core; `max` and -1 are none.
fn quota(text: &str) -> Option<u64> {
    let mut numbers = text.split_whitespace();
    let quota: u64 = numbers.next()?.parse().ok()?;
    let period: NonZeroU64 = numbers.next()?.parse().ok()?;
    Some(quota.checked_mul(1000)?.div_ceil(period.get()))
}

#[cfg(test)]
mod tests;
