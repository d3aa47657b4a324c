//! The disk in a process of its own. In the process that reads from it, it would be waited for
//! by threads that must end before it can: nobody could end that process any more.
//!
//! The process is this test program again, told by its environment to run one test only, which
//! calls [`serve_if_disk`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Advice, fadvise};
use rustix::mount::{UnmountFlags, unmount};

use super::disk::{State, mount_fuse};
use super::local::{self, Local};
use super::tree::{self, Slow, Tree};

/// What kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One that may ask somebody else, as file systems over a network do.
    Remote(Slow),
    /// One of this machine.
    Local,
}

const MOUNTPOINT: &str = "SALVER_TEST_SLOW_DISK";
const LOCAL: &str = "SALVER_TEST_SLOW_LOCAL";
const METADATA: &str = "SALVER_TEST_SLOW_METADATA";
const CLOSE: &str = "SALVER_TEST_SLOW_CLOSE";
const UNCACHED: &str = "SALVER_TEST_SLOW_UNCACHED";

/// What a disk is told.
const HOLD: &str = "hold";
const RELEASE: &str = "release";

/// What lines of this protocol begin with; the test harness says other things.
const MARK: &str = "slow disk: ";

/// A mounted disk; unmounted when it is dropped, and when this process ends in any way.
pub(crate) struct SlowDisk {
    process: Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
    // Dropped after the process has ended.
    mountpoint: tempfile::TempDir,
    kind: Kind,
}

/// What a disk has done, and has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// How often content was read so far.
    pub(crate) reads: u64,
    /// Slow calls that are not answered.
    pub(crate) waiting: u64,
}

impl SlowDisk {
    /// Mounts one. The program must have a test of the name `disk` that calls [`serve_if_disk`].
    ///
    /// # Errors
    /// If this process may not mount such file systems.
    pub(crate) fn mount(kind: Kind) -> io::Result<Self> {
        let mountpoint = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "disk", "--nocapture", "--test-threads=1"])
            .env(MOUNTPOINT, mountpoint.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let (slow, local) = match kind {
            Kind::Remote(slow) => (slow, false),
            Kind::Local => (Slow::default(), true),
        };
        for (name, wished) in [
            (METADATA, slow.metadata),
            (CLOSE, slow.close),
            (UNCACHED, slow.uncached),
            (LOCAL, local),
        ] {
            if wished {
                command.env(name, "1");
            }
        }
        let mut process = command.spawn()?;
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let disk = SlowDisk {
            process,
            lines: Mutex::new(lines),
            mountpoint,
            kind,
        };
        match disk.line().as_str() {
            "mounted" => Ok(disk),
            error => Err(io::Error::other(error)),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.mountpoint.path()
    }

    /// How long a large file is.
    pub(crate) fn large_length(&self) -> u64 {
        match self.kind {
            Kind::Remote(_) => tree::LARGE_LENGTH,
            Kind::Local => local::LARGE_LENGTH,
        }
    }

    /// The number of a large file that is not in memory, and of a small one: `next` is another one
    /// each time.
    pub(crate) fn cold(&self, next: u64) -> (u64, u64) {
        match self.kind {
            Kind::Remote(_) => (next, next),
            Kind::Local => {
                let numbers = (next % local::LARGES, next % local::SMALLS);
                for name in [
                    format!("large-{}", numbers.0),
                    format!("small-{}", numbers.1),
                ] {
                    self.advise(&name, Advice::DontNeed);
                }
                numbers
            }
        }
    }

    /// Advises the kernel on a file, which is known to it by its name from then on.
    pub(crate) fn advise(&self, name: &str, advice: Advice) {
        let file = File::open(self.root().join(name)).unwrap();
        fadvise(&file, 0, None, advice).unwrap();
    }

    /// Whether reads are held back from now on, until they are not or the disk is dropped.
    pub(crate) fn hold(&self, held: bool) {
        self.ask(if held { HOLD } else { RELEASE });
    }

    pub(crate) fn work(&self) -> Work {
        let line = self.ask("work");
        let (reads, waiting) = line.split_once(' ').unwrap();
        Work {
            reads: reads.parse().unwrap(),
            waiting: waiting.parse().unwrap(),
        }
    }

    fn ask(&self, what: &str) -> String {
        let mut stdin = self.process.stdin.as_ref().unwrap();
        stdin.write_all(format!("{what}\n").as_bytes()).unwrap();
        self.line()
    }

    fn line(&self) -> String {
        let mut lines = self.lines.lock().unwrap();
        lines
            .find_map(|line| Some(line.unwrap().split_once(MARK)?.1.to_owned()))
            .unwrap()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// In the process that [`SlowDisk::mount`] has started: is the disk until its standard input
/// ends. In any other: nothing.
pub(crate) fn serve_if_disk() {
    let Ok(mountpoint) = std::env::var(MOUNTPOINT) else {
        return;
    };
    let slow = Slow {
        metadata: std::env::var(METADATA).is_ok(),
        close: std::env::var(CLOSE).is_ok(),
        uncached: std::env::var(UNCACHED).is_ok(),
    };
    let say = |text: String| {
        let mut out = io::stdout();
        writeln!(out, "\n{MARK}{text}").unwrap();
        out.flush().unwrap();
    };
    let state = Arc::new(State::new());
    let mountpoint = Path::new(&mountpoint);
    match std::env::var(LOCAL) {
        Ok(_) => match Local::mount(mountpoint, &state) {
            Err(error) => say(error.to_string()),
            Ok(disk) => {
                say("mounted".to_owned());
                obey(&state, say);
                drop(disk);
            }
        },
        Err(_) => match mount_fuse(Tree::new(slow, Arc::clone(&state)), mountpoint) {
            Err(error) => say(error.to_string()),
            Ok(session) => {
                say("mounted".to_owned());
                obey(&state, say);
                // Detached first: no handle that somebody still has keeps the disk mounted.
                let _ = unmount(mountpoint, UnmountFlags::DETACH);
                drop(session);
            }
        },
    }
}

/// Until the standard input ends; then nothing is held back.
fn obey(state: &State, say: impl Fn(String)) {
    for line in io::stdin().lines().map_while(Result::ok) {
        match &*line {
            HOLD => state.queue.hold(true),
            RELEASE => state.queue.hold(false),
            _ => {}
        }
        say(format!("{} {}", state.reads(), state.waiting()));
    }
    state.queue.hold(false);
}
