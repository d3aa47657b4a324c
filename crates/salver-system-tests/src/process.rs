//! The disk in a process of its own. In the process that reads from it, it would be waited for
//! by threads that must end before it can: nobody could end that process any more.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Advice, fadvise};
use rustix::mount::{UnmountFlags, unmount};

use crate::disk::{State, mount_fuse};
use crate::local::{self, Local};
use crate::tree::{self, Slow, Tree};

/// What kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One that may ask somebody else, as file systems over a network do.
    Remote(Slow),
    /// One of this machine.
    Local,
}

const LOCAL: &str = "local";
const REMOTE: &str = "remote";

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slow = match self {
            Kind::Local => return f.write_str(LOCAL),
            Kind::Remote(slow) => slow,
        };
        f.write_str(REMOTE)?;
        for (name, is_wished) in [
            ("metadata", slow.metadata),
            ("close", slow.close),
            ("uncached", slow.uncached),
        ] {
            if is_wished {
                write!(f, ",{name}")?;
            }
        }
        Ok(())
    }
}

impl Kind {
    /// Reads what [`Display`](fmt::Display) has written.
    fn of(text: &str) -> io::Result<Self> {
        let mut words = text.split(',');
        let mut slow = Slow::default();
        match words.next() {
            Some(LOCAL) => return Ok(Kind::Local),
            Some(REMOTE) => {}
            _ => return Err(io::Error::other("a disk is local or remote")),
        }
        for word in words {
            match word {
                "metadata" => slow.metadata = true,
                "close" => slow.close = true,
                "uncached" => slow.uncached = true,
                _ => return Err(io::Error::other("slow in no known way")),
            }
        }
        Ok(Kind::Remote(slow))
    }
}

/// What a disk is told.
const HOLD: &str = "hold";
const RELEASE: &str = "release";

/// A mounted disk; unmounted when it is dropped, and when this process ends in any way.
pub struct SlowDisk {
    process: Child,
    lines: Mutex<Lines<BufReader<ChildStdout>>>,
    // Dropped after the process has ended.
    mountpoint: tempfile::TempDir,
    kind: Kind,
}

/// What a disk has done, and has to do.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// How often content was read so far.
    pub reads: u64,
    /// Slow calls that are not answered.
    pub waiting: u64,
}

impl SlowDisk {
    /// Mounts one, by the program of that name.
    ///
    /// # Errors
    /// If this process may not mount such file systems.
    ///
    /// # Panics
    /// If that is no such program.
    pub fn mount(program: &Path, kind: Kind) -> io::Result<Self> {
        let mountpoint = tempfile::tempdir()?;
        let mut command = Command::new(program);
        command
            .arg(mountpoint.path())
            .arg(kind.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
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

    pub fn root(&self) -> &Path {
        self.mountpoint.path()
    }

    /// How long a large file is.
    pub fn large_length(&self) -> u64 {
        match self.kind {
            Kind::Remote(_) => tree::LARGE_LENGTH,
            Kind::Local => local::LARGE_LENGTH,
        }
    }

    /// The number of a large file that is not in memory, and of a small one: `next` is another one
    /// each time.
    pub fn cold(&self, next: u64) -> (u64, u64) {
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
    pub fn advise(&self, name: &str, advice: Advice) {
        let file = File::open(self.root().join(name)).unwrap();
        fadvise(&file, 0, None, advice).unwrap();
    }

    /// Whether reads are held back from now on, until they are not or the disk is dropped.
    pub fn hold(&self, held: bool) {
        self.ask(if held { HOLD } else { RELEASE });
    }

    pub fn work(&self) -> Work {
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
        lines.next().unwrap().unwrap()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The program that [`SlowDisk::mount`] starts: is the disk until its standard input ends.
///
/// # Errors
/// If it is started in another way.
pub fn serve(arguments: &[String]) -> io::Result<()> {
    let [mountpoint, kind] = arguments else {
        return Err(io::Error::other("usage: slow-disk MOUNTPOINT KIND"));
    };
    let kind = Kind::of(kind)?;
    let say = |text: String| {
        let mut out = io::stdout();
        writeln!(out, "{text}").unwrap();
        out.flush().unwrap();
    };
    let state = Arc::new(State::new());
    let mountpoint = Path::new(mountpoint);
    match kind {
        Kind::Local => match Local::mount(mountpoint, &state) {
            Err(error) => say(error.to_string()),
            Ok(disk) => {
                say("mounted".to_owned());
                obey(&state, say);
                drop(disk);
            }
        },
        Kind::Remote(slow) => match mount_fuse(Tree::new(slow, Arc::clone(&state)), mountpoint) {
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
    Ok(())
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
