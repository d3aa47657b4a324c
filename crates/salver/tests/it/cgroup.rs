//! Cgroups of tests, beneath that of their own process, by whichever version this machine has.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Enters groups, which end with `--`, and becomes the program that follows.
const ENTER: &str = "while [ \"$1\" != -- ]; do echo $$ > \"$1/cgroup.procs\" || exit 99; shift; done; shift; exec \"$@\"";

/// The limits of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Its memory in bytes.
    pub(crate) memory: u64,
    /// Its CPU quota in percent of a core.
    pub(crate) percent: u32,
}

/// A cgroup; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Cgroup {
    /// One for each controller, or one for all.
    folders: Vec<PathBuf>,
}

impl Cgroup {
    /// A group with these limits; `None`, after saying why `what` is not shown, if there can be none.
    pub(crate) fn new(what: &str, limits: Limits) -> Option<Cgroup> {
        let name = format!("salver-test-{}-{what}", std::process::id());
        let Limits { memory, percent } = limits;
        let quota = percent * 1000;
        let mut group = Cgroup {
            folders: Vec::new(),
        };
        let memory_1 = [("memory.limit_in_bytes", memory.to_string())];
        let cpu_1 = [("cpu.cfs_quota_us", quota.to_string())];
        let first = group.make("memory", &name, &memory_1);
        let first = first.and_then(|()| group.make("cpu", &name, &cpu_1));
        let Err(first) = first else {
            return Some(group);
        };
        let mut group = Cgroup {
            folders: Vec::new(),
        };
        let both = [
            ("memory.max", memory.to_string()),
            ("cpu.max", format!("{quota} 100000")),
        ];
        let Err(second) = group.make("", &name, &both) else {
            return Some(group);
        };
        let why = format!("no cgroup can be had: version 1: {first}; version 2: {second}");
        salver_test::cannot_be_shown(what, why);
        None
    }

    /// Makes a group of a controller, or with an empty name of version 2, and writes its limits.
    fn make(&mut self, controller: &str, name: &str, limits: &[(&str, String)]) -> io::Result<()> {
        let above = own(controller).ok_or(ErrorKind::NotFound)?;
        let folder = above.join(name);
        fs::create_dir(&folder)?;
        self.folders.push(folder.clone());
        for (file, limit) in limits {
            // What the kernel does not offer there is not made.
            let file = fs::File::options().write(true).open(folder.join(file));
            io::Write::write_all(&mut file?, limit.as_bytes())?;
        }
        Ok(())
    }

    /// Sets another limit of memory, for processes that are there and for those that come.
    pub(crate) fn limit_memory(&self, bytes: u64) {
        let names = ["memory.limit_in_bytes", "memory.max"];
        let folders = self.folders.iter();
        let mut files = folders.flat_map(|of| names.map(|name| of.join(name)));
        let file = files.find(|file| file.exists()).unwrap();
        fs::write(file, bytes.to_string()).unwrap();
    }

    /// The command within this group.
    pub(crate) fn within(&self, command: &Command) -> Command {
        let mut entering = Command::new("sh");
        entering.args(["-c", ENTER, "sh"]).args(&self.folders);
        entering.arg("--").arg(command.get_program());
        entering.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => entering.env(name, value),
                None => entering.env_remove(name),
            };
        }
        entering
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_secs(10);
        for folder in &self.folders {
            // Processes that have ended leave it a moment later.
            while fs::remove_dir(folder).is_err_and(|error| error.kind() != ErrorKind::NotFound)
                && Instant::now() < until
            {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// The group of this process, by controller; empty: in version 2.
fn own(controller: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let top = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let is_it = match after.next()? {
            "cgroup2" => controller.is_empty(),
            "cgroup" => after.nth(1)?.split(',').any(|one| one == controller),
            _ => false,
        };
        is_it.then(|| before.split(' ').nth(4)).flatten()
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        let is_it = controllers.split(',').any(|one| one == controller);
        is_it.then_some(path)
    })?;
    let group = Path::new(top).join(path.trim_start_matches('/'));
    // A container may show its own group as the top.
    Some(if group.is_dir() { group } else { top.into() })
}
