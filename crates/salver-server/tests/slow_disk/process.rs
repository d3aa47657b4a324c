//! The disk in a process of its own. In the process that reads from it, it would be waited for
//! by threads that must end before it can: nobody could end that process any more.
//!
//! The process is this test program again, told by its environment to run one test only, which
//! calls [`serve_if_disk`].

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use rustix::mount::{UnmountFlags, unmount};

use super::tree::{Slow, Tree};

const MOUNTPOINT: &str = "SALVER_TEST_SLOW_DISK";
const METADATA: &str = "SALVER_TEST_SLOW_METADATA";
const CLOSE: &str = "SALVER_TEST_SLOW_CLOSE";

/// What lines of this protocol begin with; the test harness says other things.
const MARK: &str = "slow disk: ";

/// A mounted disk; unmounted when it is dropped, and when this process ends in any way.
pub(crate) struct SlowDisk {
    process: Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
    // Dropped after the process has ended.
    mountpoint: tempfile::TempDir,
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
    pub(crate) fn mount(slow: Slow) -> io::Result<Self> {
        let mountpoint = tempfile::tempdir()?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "disk", "--nocapture", "--test-threads=1"])
            .env(MOUNTPOINT, mountpoint.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, wished) in [(METADATA, slow.metadata), (CLOSE, slow.close)] {
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
        };
        match disk.line().as_str() {
            "mounted" => Ok(disk),
            error => Err(io::Error::other(error)),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.mountpoint.path()
    }

    pub(crate) fn work(&self) -> Work {
        self.process
            .stdin
            .as_ref()
            .unwrap()
            .write_all(b"\n")
            .unwrap();
        let line = self.line();
        let (reads, waiting) = line.split_once(' ').unwrap();
        Work {
            reads: reads.parse().unwrap(),
            waiting: waiting.parse().unwrap(),
        }
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
    };
    let tree = Tree::new(slow);
    let state = tree.state();
    let say = |text: String| {
        let mut out = io::stdout();
        writeln!(out, "\n{MARK}{text}").unwrap();
        out.flush().unwrap();
    };
    match tree.mount(mountpoint.as_ref()) {
        Err(error) => say(error.to_string()),
        Ok(session) => {
            say("mounted".to_owned());
            for _ in io::stdin().lines() {
                say(format!("{} {}", state.reads(), state.waiting()));
            }
            // Detached first: no handle that somebody still has keeps the disk mounted.
            let _ = unmount(&mountpoint, UnmountFlags::DETACH);
            drop(session);
        }
    }
}
