//! A `salver serve` that a measurement starts from this program's own file, and ends.
//!
//! With two cores or more it has the first one for itself, and who asks it has the others: what one
//! of them needs is then not taken from the other.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Deserialize;

use crate::failure::Failure;

/// A server that does not listen by then will not.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which cores a server and its client may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    server: CpuSet,
    client: CpuSet,
}

impl Cores {
    /// The first core for the server and the others for the client; `None` if there is only one.
    pub(crate) fn divided() -> Option<Cores> {
        let all = sched_getaffinity(None).ok()?;
        let (mut server, mut client) = (CpuSet::new(), all);
        let first = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core))?;
        server.set(first);
        client.unset(first);
        (client.count() > 0).then_some(Cores { server, client })
    }

    /// What `work` gives on the client's cores. Threads that it starts stay there.
    pub(crate) fn as_client<T: Send>(
        cores: Option<Cores>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, Failure> {
        on(cores.map(|cores| cores.client), work)
    }
}

/// Runs `work` on a thread that may use these cores only; all if `None`. Pinning that fails is no
/// reason not to run: some containers refuse it.
fn on<T: Send>(cores: Option<CpuSet>, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let pinned = move || {
            if let Some(cores) = cores {
                let _ = sched_setaffinity(None, &cores);
            }
            work()
        };
        let thread = scope.spawn(pinned);
        let panicked = |_| Failure::Failed("a thread panicked: a defect".to_owned());
        thread.join().map_err(panicked)
    })
}

/// What the server has counted when it ends, of which measurements use some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Counted {
    /// Loads performed, of whatever kind.
    pub(crate) loads: u64,
    /// Those that found unchanged what was cached.
    pub(crate) revalidations: u64,
    /// Requests that waited for a load which another one had begun.
    pub(crate) coalesced: u64,
}

/// A running server; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnServer {
    child: Child,
    url: String,
    lines: Receiver<String>,
}

impl OwnServer {
    /// Serves `root` with one worker on a free port of 127.0.0.1, with further `arguments`; returns
    /// when it listens. Nothing of the environment that it would obey is handed down.
    pub(crate) fn start(
        root: &Path,
        arguments: &[OsString],
        cores: Option<Cores>,
    ) -> Result<OwnServer, Failure> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"SALVER_") {
                command.env_remove(name);
            }
        }
        command
            .arg("serve")
            .arg(root)
            .args(["--host", "127.0.0.1", "--port", "0", "--workers", "1"])
            .arg("--statistics")
            // All connections are one client's.
            .args(["--max-connections-per-client", "10000000"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A child has the cores of the thread that starts it.
        let spawned = on(cores.map(|cores| cores.server), || command.spawn())?;
        let mut child = spawned.map_err(failed)?;
        let Some(stderr) = child.stderr.take() else {
            return Err(Failure::Failed("the server has no output".to_owned()));
        };
        let mut server = OwnServer {
            child,
            url: String::new(),
            lines: lines_of(stderr)?,
        };
        let mut last = "it said nothing".to_owned();
        loop {
            match server.lines.recv_timeout(PATIENCE) {
                Ok(line) => match url_in(&line) {
                    Some(url) => {
                        server.url = url;
                        return Ok(server);
                    }
                    None => last = line,
                },
                Err(_) => {
                    let why = last.strip_prefix("salver: ").unwrap_or(&last);
                    return Err(Failure::Failed(format!(
                        "the server that was to be measured did not start: {why}"
                    )));
                }
            }
        }
    }

    /// Where it is found, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What holds it.
    pub(crate) fn hold(&self) -> Hold {
        Hold(Pid::from_child(&self.child))
    }

    /// Lets it end, and gives what it has counted.
    pub(crate) fn stop(mut self) -> Result<Counted, Failure> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)
            .map_err(|error| failed(error.into()))?;
        let mut text = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut text).map_err(failed)?;
        }
        let status = self.child.wait().map_err(failed)?;
        if !status.success() {
            let said = self.lines.try_iter().last().unwrap_or_default();
            return Err(Failure::Failed(format!(
                "the server that was measured ended with {status}: {said}"
            )));
        }
        serde_json::from_str(&text)
            .map_err(|error| Failure::Failed(format!("the server's counters: {error}")))
    }
}

/// Stops a server and lets it go on, as a debugger does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold(Pid);

impl Hold {
    /// From here on it does nothing; the kernel still takes what is sent to it.
    pub(crate) fn stop(self) -> std::io::Result<()> {
        Ok(kill_process(self.0, Signal::STOP)?)
    }

    /// It goes on. If it is gone, its client will see that.
    pub(crate) fn release(self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Neither does anything to one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Its lines, as they come.
fn lines_of(stderr: ChildStderr) -> Result<Receiver<String>, Failure> {
    let (sender, lines) = channel();
    let thread = std::thread::Builder::new().name("salver-server-log".to_owned());
    let read = move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // Read on when nobody listens any more: a full pipe would hold the server up.
            let _ = sender.send(line);
        }
    };
    thread.spawn(read).map_err(failed)?;
    Ok(lines)
}

/// The address in the line of the banner that names it.
fn url_in(line: &str) -> Option<String> {
    let url = line.trim().strip_prefix("open")?.trim();
    url.strip_suffix('/').map(str::to_owned)
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Failed(format!(
        "the server that is to be measured cannot be started or ended: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_names_the_address() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(url_in(line).as_deref(), expected, "{line:?}");
        };
        check(
            "  open    http://127.0.0.1:80/",
            Some("http://127.0.0.1:80"),
        );
        check("  serving / from \"http://a/\"", None);
        check("salver: 127.0.0.1:80 is taken", None);
        check("", None);
    }

    #[test]
    fn a_client_never_has_the_core_of_the_server() {
        let all = sched_getaffinity(None).unwrap();
        match Cores::divided() {
            None => assert_eq!(all.count(), 1),
            Some(cores) => {
                assert_eq!(cores.server.count(), 1);
                assert_eq!(cores.client.count(), all.count() - 1);
                let shared = |core| cores.server.is_set(core) && cores.client.is_set(core);
                assert!(!(0..CpuSet::MAX_CPU).any(shared));
                let found = Cores::as_client(Some(cores), || sched_getaffinity(None).unwrap());
                assert_eq!(found.unwrap(), cores.client);
            }
        }
        assert_eq!(Cores::as_client(None, || 7).unwrap(), 7);
    }
}
