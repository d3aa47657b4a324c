//! Servers that are started for a comparison and stopped after it.
//!
//! A command is split into words as a shell would, but no shell runs it. `{port}` in it becomes a
//! free port of 127.0.0.1. Each server gets a process group of its own, so that it ends with all of
//! its children, and so that Ctrl-C in a terminal reaches this program alone.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::BenchError;

/// The text that stands for the port in a command.
pub const PORT: &str = "{port}";

/// How long a server may take until it accepts connections.
pub const START: Duration = Duration::from_secs(30);

/// How long a server may take to end by itself.
pub const STOP: Duration = Duration::from_secs(3);

/// How often it is looked whether a server has come or gone.
const LOOK: Duration = Duration::from_millis(5);

/// The ports that servers are given: below those that connections get (Linux: 32768 and on; RFC 6335 section 6: 49152).
const PORTS: Range<u16> = 16_384..32_768;

/// How many of them are tried.
const ATTEMPTS: u32 = 64;

/// How much of what a server says is kept, in bytes.
const SAID: usize = 4096;

/// A command that starts a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerCommand {
    words: Vec<String>,
}

impl ServerCommand {
    /// Splits a command line.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn parse(line: &str) -> Result<Self, String> {
        let words = shell_words::split(line).map_err(|error| format!("{line:?}: {error}"))?;
        if words.is_empty() {
            return Err("an empty command: give a URL or a command line".to_owned());
        }
        if !words.iter().any(|word| word.contains(PORT)) {
            return Err(format!(
                "{line:?} is neither a URL that begins with http:// or https:// nor a command with {PORT} where \
                 its port belongs"
            ));
        }
        Ok(ServerCommand { words })
    }

    /// Starts it on a free port and waits until it accepts connections. With `core`, it runs on that
    /// core alone. What it writes to standard output is dropped. Gives up when `stop` is set.
    ///
    /// # Errors
    /// It did not come to accept connections. No process is left.
    pub fn start(&self, core: Option<usize>, stop: &AtomicBool) -> Result<Server, BenchError> {
        let no_port = |error| BenchError::Failed(format!("no free port: {error}"));
        let port = free_port().map_err(no_port)?;
        let word = |word: &String| word.replace(PORT, &port.to_string());
        let mut words = self.words.iter().map(word);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).stdout(Stdio::null());
        Server::start(command, port, core, stop)
    }
}

/// As it can be typed again.
impl fmt::Display for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shell_words::join(&self.words))
    }
}

/// A server that runs. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    addr: SocketAddr,
    said: Said,
    ended: bool,
}

impl Server {
    /// Starts a command that listens at this port of 127.0.0.1, and waits until it accepts connections. With
    /// `core`, it runs on that core alone. Gives up when `stop` is set.
    ///
    /// # Errors
    /// It did not come to accept connections. No process is left.
    pub fn start(
        mut command: Command,
        port: u16,
        core: Option<usize>,
        stop: &AtomicBool,
    ) -> Result<Server, BenchError> {
        command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = spawn(command, core)?;
        let mut server = Server {
            said: Said::of(child.stderr.take()),
            child,
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            ended: false,
        };
        let deadline = Instant::now() + START;
        loop {
            // Asked first: another process may have taken the port.
            if server.has_exited() {
                let status = server.stop().map(|status| format!(" ({status})"));
                let why = "it ended before it accepted connections".to_owned();
                return Err(server.not_there(&(why + &status.unwrap_or_default())));
            }
            if TcpStream::connect_timeout(&server.addr, START).is_ok() && !server.has_exited() {
                return Ok(server);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
            if Instant::now() > deadline {
                server.stop();
                let (addr, seconds) = (server.addr, START.as_secs());
                let why = format!("it accepted no connection at {addr} within {seconds} s");
                return Err(server.not_there(&why));
            }
            thread::sleep(LOOK);
        }
    }

    /// That it did not come, and what it said last.
    fn not_there(&self, why: &str) -> BenchError {
        BenchError::Failed(match self.last_words() {
            said if said.is_empty() => format!("{why} and said nothing"),
            said => format!("{why}; it said last: {said}"),
        })
    }

    /// The last lines that it said on standard error, in one, once it has ended.
    pub fn last_words(&self) -> String {
        self.said.at_the_end()
    }

    /// Its standard output, if that is a pipe and was not taken yet.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its process; that of the command, if it has started others.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True if its process has ended. It is not yet reaped, so that its number is nobody else's.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(&self.child);
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Asks it to end (SIGTERM), and ends what is left of its process group after [`STOP`] (SIGKILL).
    /// `None` if its end could not be waited for.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        if !self.ended {
            self.ended = true;
            let group = Pid::from_child(&self.child);
            // It fails if there is nobody left: just as well.
            let _ = kill_process_group(group, Signal::TERM);
            let deadline = Instant::now() + STOP;
            while !self.has_exited() && Instant::now() < deadline {
                thread::sleep(LOOK);
            }
            // Children may have stayed. The process is not reaped, so the group is still its own.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.child.wait().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A port that nobody listens at now. Somebody else may take it until the server does; then the
/// server says so and ends.
///
/// It is none of those that the system gives to connections and to who asks for any: beside a load, one of these would
/// be another's before the server has started.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    let mut taken = None;
    for attempt in 0..ATTEMPTS {
        let drawn = RandomState::new().hash_one(attempt) % u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(drawn).unwrap_or_default();
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => taken = Some(error),
        }
    }
    Err(taken.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

/// Runs a command, on one core if one is given: children inherit that of the thread that starts them,
/// and a server that has started its threads could no longer be bound as a whole. It is this thread
/// and no other, because a server may have asked to end with the one that started it.
fn spawn(mut command: Command, core: Option<usize>) -> Result<Child, BenchError> {
    let before = match core {
        None => None,
        Some(core) => {
            let failed = |error: io::Error| {
                BenchError::Failed(format!("cannot run anything on core {core}: {error}"))
            };
            let before = sched_getaffinity(None).map_err(|error| failed(error.into()))?;
            let only = only(core).map_err(failed)?;
            sched_setaffinity(None, &only).map_err(|error| failed(error.into()))?;
            Some(before)
        }
    };
    let spawned = command.spawn();
    if let Some(before) = before {
        // It was allowed a moment ago.
        let _ = sched_setaffinity(None, &before);
    }
    spawned.map_err(|error| {
        let program = command.get_program().to_string_lossy();
        BenchError::Failed(format!("cannot run {program}: {error}"))
    })
}

fn only(core: usize) -> io::Result<CpuSet> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(set)
}

/// Keeps this thread, and those that it will start, off a core that a server has.
///
/// # Errors
/// It is none of the cores that this program may use, or the only one; or the system said no.
pub fn keep_off(core: usize) -> io::Result<()> {
    let mut set = sched_getaffinity(None)?;
    if core >= CpuSet::MAX_CPU || !set.is_set(core) {
        return Err(io::Error::other("this program may not use it"));
    }
    set.unset(core);
    if set.count() == 0 {
        return Err(io::Error::other("no other core is left for the client"));
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The last that a server has said on standard error.
#[derive(Debug)]
struct Said {
    last: Arc<Mutex<VecDeque<u8>>>,
    ended: Receiver<()>,
}

impl Said {
    /// Listens from now on, so that the server never waits for a full pipe.
    fn of(stderr: Option<ChildStderr>) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let (ending, ended) = channel();
        let kept = Arc::clone(&last);
        if let Some(mut stderr) = stderr {
            thread::spawn(move || {
                let _ending = ending;
                let mut buffer = [0; 1024];
                while let Ok(length @ 1..) = stderr.read(&mut buffer) {
                    let mut last = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    last.extend(buffer.iter().take(length));
                    let excess = last.len().saturating_sub(SAID);
                    last.drain(..excess);
                }
            });
        }
        Said { last, ended }
    }

    /// The last lines in one, once the server has ended.
    fn at_the_end(&self) -> String {
        // A process that left the group may hold the pipe open for ever.
        let _ = self.ended.recv_timeout(STOP);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(last.make_contiguous()).into_owned();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let from = lines.len().saturating_sub(3);
        lines.get(from..).unwrap_or_default().join(" / ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(line: &str, core: Option<usize>) -> Result<Server, String> {
        let command = ServerCommand::parse(line)?;
        let started = command.start(core, &AtomicBool::new(false));
        started.map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_is_words_with_a_port() {
        let words = |line: &str| ServerCommand::parse(line).map(|command| command.words);
        let found = words("a 'b c' --port={port}").unwrap();
        assert_eq!(found, ["a", "b c", "--port={port}"]);
        for wrong in ["", "  ", "salver serve", "a '{port}", "https://a/"] {
            assert!(words(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_server_that_ends_at_once_is_told_with_its_last_words() {
        let said = start("sh -c 'echo one >&2; echo two >&2; exit 3' {port}", None).unwrap_err();
        assert!(said.contains("exit status: 3"), "{said}");
        assert!(said.ends_with("it said last: one / two"), "{said}");
        let said = start("sh -c 'exit 0' {port}", None).unwrap_err();
        assert!(said.ends_with("and said nothing"), "{said}");
        let said = start("no-such-program-at-all {port}", None).unwrap_err();
        assert!(said.starts_with("cannot run no-such-program"), "{said}");
    }

    /// The last core that this thread may use.
    fn some_core() -> usize {
        let allowed = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU)
            .rfind(|core| allowed.is_set(*core))
            .unwrap()
    }

    #[test]
    fn a_free_port_is_none_that_connections_get() {
        let ports: Vec<u16> = (0..8).map(|_| free_port().unwrap()).collect();
        assert!(ports.iter().all(|port| PORTS.contains(port)), "{ports:?}");
        assert!(ports.iter().any(|port| *port != ports[0]), "{ports:?}");
    }

    #[test]
    fn a_server_runs_on_its_core_alone() {
        let core = some_core();
        let line = "sh -c 'grep Cpus_allowed_list /proc/self/status >&2; exit 1' {port}";
        let said = start(line, Some(core)).unwrap_err();
        let expected = format!("Cpus_allowed_list:\t{core}");
        assert!(said.ends_with(&expected), "{said}");
    }

    #[test]
    fn a_client_keeps_off_the_servers_core() {
        let (core, all) = (some_core(), sched_getaffinity(None).unwrap().count());
        match keep_off(core) {
            Ok(()) => {
                let allowed = sched_getaffinity(None).unwrap();
                assert!(!allowed.is_set(core) && allowed.count() == all - 1);
            }
            Err(error) => assert!(all == 1, "{error}"),
        }
        assert!(keep_off(CpuSet::MAX_CPU).is_err());
    }

    #[test]
    fn a_core_that_is_not_there_is_told() {
        for core in [CpuSet::MAX_CPU - 1, usize::MAX] {
            let said = start("sh -c 'exit 0' {port}", Some(core)).unwrap_err();
            assert!(said.contains(&format!("core {core}")), "{said}");
        }
    }

    #[test]
    fn waiting_for_a_server_can_be_stopped() {
        let command = ServerCommand::parse("sh -c 'exec sleep 60' {port}").unwrap();
        let stopped = command.start(None, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(BenchError::Interrupted)));
    }

    #[test]
    fn a_server_that_ignores_sigterm_is_killed_with_its_children() {
        let line = "trap '' TERM; sleep 60 & echo >&2; wait; wait; sleep 60";
        let child = Command::new("sh")
            .args(["-c", line])
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = child.unwrap();
        // It has set its trap when it says something.
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_exact(&mut [0]).unwrap();
        let mut server = Server {
            child,
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
            said: Said::of(None),
            ended: false,
        };
        let status = server.stop().unwrap();
        assert!(!status.success() && status.code().is_none(), "{status}");
        // The pipe ends when the last of them has.
        assert_eq!(stderr.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
