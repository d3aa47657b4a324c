//! Where something was measured: what a figure means nothing without.

use std::fs::File;
use std::path::Path;

/// A machine, as far as it tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Version of the kernel.
    pub kernel: String,
    /// Model of the processor.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The congestion control of TCP; it can double the cost of a large answer.
    pub congestion_control: String,
    /// Type of the file system that the files are on.
    pub file_system: String,
}

impl Machine {
    /// This machine, with files in `directory`.
    pub fn of(directory: &Path) -> Self {
        Machine {
            kernel: first_line("/proc/sys/kernel/osrelease"),
            processor: processor(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            congestion_control: first_line("/proc/sys/net/ipv4/tcp_congestion_control"),
            file_system: file_system(directory),
        }
    }
}

const UNKNOWN: &str = "unknown";

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn first_line(path: &str) -> String {
    read(path).lines().next().unwrap_or(UNKNOWN).to_owned()
}

fn processor(cpuinfo: &str) -> String {
    let model = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    };
    let found = cpuinfo.lines().find_map(model);
    found.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn file_system(directory: &Path) -> String {
    let stat = File::open(directory).ok().and_then(|directory| {
        let stat = rustix::fs::fstatfs(directory).ok()?;
        u64::try_from(stat.f_type).ok()
    });
    // statfs(2)
    let name = match stat {
        None => UNKNOWN,
        Some(0x0102_1994) => "tmpfs",
        Some(0xEF53) => "ext4",
        Some(0x5846_5342) => "xfs",
        Some(0x9123_683E) => "btrfs",
        Some(0xF2F5_2010) => "f2fs",
        Some(0x2FC1_2FC1) => "zfs",
        Some(0x794C_7630) => "overlayfs",
        Some(0x6573_5546) => "fuse",
        Some(0x6969) => "nfs",
        Some(0x0102_1997) => "9p",
        Some(other) => return format!("{other:#x}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_found_where_it_is_named() {
        let named = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n";
        assert_eq!(processor(named), "Some CPU @ 2 GHz");
        assert_eq!(processor("processor\t: 0\n"), std::env::consts::ARCH);
    }

    #[test]
    fn something_is_known_of_this_machine() {
        let machine = Machine::of(&std::env::temp_dir());
        assert_ne!(machine.file_system, "");
        assert_ne!(machine.kernel, "");
        assert!(machine.cores > 0);
        assert_eq!(file_system("/nowhere/at/all".as_ref()), UNKNOWN);
    }
}
