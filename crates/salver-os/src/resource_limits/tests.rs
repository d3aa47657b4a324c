use std::fs;

use proptest::prelude::*;

use super::*;

/// The files of a machine of four cores and 8 GiB, without groups.
const MACHINE: [(&str, &str); 2] = [
    (
        "proc/self/status",
        "Name:\tsalver\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n",
    ),
    (
        "proc/meminfo",
        "MemTotal:        8388608 kB\nMemFree:          100000 kB\n",
    ),
];

const V2: &str = "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                  30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

const V1: &str = "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                  31 24 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                  32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                  33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";

const MIB: u64 = 1 << 20;

fn read(files: &[(&str, &str)]) -> ResourceLimits {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    beneath(folder.path())
}

/// The quota in thousandths of a core and the memory limit of a process that these files describe.
fn check(mounts: &str, groups: &str, more: &[(&str, &str)], expected: (Option<u64>, Option<u64>)) {
    let own = [
        ("proc/self/mountinfo", mounts),
        ("proc/self/cgroup", groups),
    ];
    let found = read(&[&MACHINE[..], &own, more].concat());
    let expected = ResourceLimits {
        cores: Some(4),
        cpu_quota: expected.0,
        physical_memory: Some(8192 * MIB),
        memory_limit: expected.1,
    };
    assert_eq!(found, expected, "{groups:?} {more:?}");
}

#[test]
fn the_tightest_limit_up_the_tree_of_version_2_counts() {
    let own = "0::/kube/pod/own\n";
    check(V2, own, &[], (None, None));
    let unlimited = [
        ("sys/fs/cgroup/kube/pod/own/memory.max", "max\n"),
        ("sys/fs/cgroup/kube/pod/own/memory.high", "max\n"),
        ("sys/fs/cgroup/kube/pod/own/cpu.max", "max 100000\n"),
    ];
    check(V2, own, &unlimited, (None, None));
    let of_own = [
        ("sys/fs/cgroup/kube/pod/own/memory.max", "134217728\n"),
        ("sys/fs/cgroup/kube/pod/own/cpu.max", "150000 100000\n"),
    ];
    check(V2, own, &of_own, (Some(1500), Some(128 * MIB)));
    let above = [
        ("sys/fs/cgroup/kube/pod/memory.high", "67108864\n"),
        ("sys/fs/cgroup/kube/cpu.max", "20000 50000\n"),
        ("sys/fs/cgroup/memory.max", "1073741824\n"),
    ];
    let both = [&of_own[..], &above].concat();
    check(V2, own, &both, (Some(400), Some(64 * MIB)));
    // That of a sibling is none of ours.
    let beside = [("sys/fs/cgroup/kube/other/memory.max", "1048576\n")];
    check(V2, own, &beside, (None, None));
}

#[test]
fn version_1_has_a_tree_for_each_controller() {
    let own = "9:name=systemd:/a\n4:memory:/m/own\n3:cpu,cpuacct:/c\n0::/\n";
    let quota = |of: &str, period: &str, expected: Option<u64>| {
        let files = [
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", of),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", period),
        ];
        check(V1, own, &files, (expected, None));
    };
    quota("-1\n", "100000\n", None);
    quota("250000\n", "100000\n", Some(2500));
    // Begun thousandths count.
    quota("100001\n", "100000\n", Some(1001));
    quota("100000\n", "0\n", None);
    let memory = |of_own: &str, above: &str, expected: Option<u64>| {
        let files = [
            ("sys/fs/cgroup/memory/m/own/memory.limit_in_bytes", of_own),
            ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", above),
        ];
        check(V1, own, &files, (None, expected));
    };
    let none = "9223372036854771712\n";
    memory(none, none, None);
    memory("268435456\n", none, Some(256 * MIB));
    memory("268435456\n", "134217728\n", Some(128 * MIB));
    // Files of one controller mean nothing in the tree of another.
    let elsewhere = [("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n")];
    check(V1, own, &elsewhere, (None, None));
}

#[test]
fn a_mount_may_begin_at_the_group_itself() {
    let limits = [
        ("sys/fs/cgroup/memory.max", "134217728\n"),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
    ];
    let mount =
        |root: &str, point: &str| format!("30 24 0:26 {root} {point} ro - cgroup2 cgroup rw\n");
    let both = (Some(500), Some(128 * MIB));
    check(&mount("/", "/sys/fs/cgroup"), "0::/\n", &limits, both);
    let of_container = mount("/docker/1", "/sys/fs/cgroup");
    check(&of_container, "0::/docker/1\n", &limits, both);
    // Another group than that of the process.
    check(&of_container, "0::/docker/2\n", &limits, (None, None));
    check(&of_container, "0::/docker/12\n", &limits, (None, None));
    // One that lies outside of the namespace.
    check(
        &mount("/", "/sys/fs/cgroup"),
        "0::/../b\n",
        &limits,
        (None, None),
    );
    let spaced = [("a b\\c/g h/memory.max", "134217728\n")];
    let spaced_mount = mount("/", r"/a\040b\134c");
    check(&spaced_mount, "0::/g h\n", &spaced, (None, Some(128 * MIB)));
}

#[test]
fn both_versions_may_be_there_at_once() {
    let mounts = format!("{V1}40 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let groups = "4:memory:/m\n0::/u\n";
    let limits = [
        (
            "sys/fs/cgroup/memory/m/memory.limit_in_bytes",
            "268435456\n",
        ),
        ("sys/fs/cgroup/unified/u/memory.max", "max\n"),
        ("sys/fs/cgroup/unified/u/cpu.max", "100000 100000\n"),
    ];
    check(&mounts, groups, &limits, (Some(1000), Some(256 * MIB)));
}

#[test]
fn cores_are_those_of_the_affinity() {
    let check = |list: &str, expected: Option<u64>| {
        let status = format!("Name:\tx\nCpus_allowed_list:\t{list}\nMems_allowed_list:\t0\n");
        assert_eq!(cores(&status), expected, "{list}");
    };
    check("0", Some(1));
    check("0-1", Some(2));
    check("0-3,8,10-11", Some(7));
    check("", None);
    check("3-0", None);
    check("0-18446744073709551615", None);
    check("0-18446744073709551614,0", None);
    check("a", None);
    assert_eq!(cores("Name:\tx\n"), None);
}

#[test]
fn memory_is_counted_in_kib() {
    let check = |text: &str, expected: Option<u64>| {
        assert_eq!(physical_memory(text), expected, "{text}");
    };
    check("MemTotal:       24684096 kB\n", Some(24_684_096 << 10));
    check("MemFree: 1 kB\nMemTotal: 2 kB\n", Some(2048));
    check("MemTotal: 18446744073709551615 kB\n", None);
    check("MemTotal: 5\n", None);
    check("MemTotal:\n", None);
    check("", None);
}

#[test]
fn nothing_is_known_of_an_empty_folder_and_cores_of_every_machine() {
    assert_eq!(read(&[]), ResourceLimits::default());
    let here = resource_limits();
    assert!(here.cores.is_some_and(|cores| cores > 0), "{here:?}");
    if cfg!(target_os = "linux") {
        let told = told_memory().unwrap();
        // A container may show a smaller machine in the file.
        let read = here.physical_memory.unwrap();
        assert!(read > MIB && read <= told, "{read} {told}");
    }
}

proptest! {
    #[test]
    fn odd_files_are_read_to_their_end(
        status in "(Cpus_allowed_list:\t[0-9,-]{0,24}|\\PC{0,8}|\n){0,4}",
        meminfo in "(MemTotal: {0,2}[0-9]{0,20} ?(kB)?\n|\\PC{0,8}){0,3}",
        groups in "([0-9:,a-c/. \n]|memory|cpu|\\PC){0,24}",
        mounts in "([0-9/\\\\ \n-]| - |cgroup2? |rw,|memory|cpu|/sys|\\\\0|\\\\ü|\\PC){0,40}",
        limit in "max|-1|[0-9]{0,24}|\\PC{0,8}",
        quota in "(max|-1|[0-9]{0,24}|\\PC{0,8})( |\n)([0-9]{0,24}|\\PC{0,8})",
        raw in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let raw = String::from_utf8_lossy(&raw);
        let texts = [&*status, &meminfo, &groups, &mounts, &limit, &quota, &raw];
        for text in texts {
            let _ = (cores(text), physical_memory(text), bytes(text), super::quota(text), unescaped(text));
            for mount in text.lines().filter_map(Mount::parse) {
                let _ = mount.group(&groups);
            }
        }
        let found = read(&[
            ("proc/self/status", &status),
            ("proc/meminfo", &meminfo),
            ("proc/self/cgroup", "4:memory,cpu:/a\n0::/a\n"),
            ("proc/self/mountinfo", &format!("{V2}{mounts}")),
            ("sys/fs/cgroup/a/memory.max", &limit),
            ("sys/fs/cgroup/a/cpu.max", &quota),
            ("sys/fs/cgroup/memory.high", &raw),
        ]);
        // Whatever is told of a limit, it is none that version 1 calls none.
        prop_assert!(found.memory_limit.is_none_or(|bytes| bytes < NO_LIMIT), "{:?}", found);
    }
}
