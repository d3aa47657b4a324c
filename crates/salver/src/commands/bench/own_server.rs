//! A `salver serve` that a measurement starts from this program's own file, and ends.
//!
//! With two cores or more it has the first one for itself, and who asks it has the others: what one
//! of them needs is then not taken from the other.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use salver_bench::process::{Server, free_port};
use serde::Deserialize;

use super::{failure, panicked};
use crate::failure::Failure;

/// Which cores a server and its client may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    server: usize,
    client: CpuSet,
}

impl Cores {
    /// The first core for the server and the others for the client; `None` if there is only one.
    pub(crate) fn divided() -> Option<Cores> {
        let mut client = sched_getaffinity(None).ok()?;
        // Some containers refuse to be pinned.
        sched_setaffinity(None, &client).ok()?;
        let server = (0..CpuSet::MAX_CPU).find(|core| client.is_set(*core))?;
        client.unset(server);
        (client.count() > 0).then_some(Cores { server, client })
    }

    /// The result of `work` on the client's cores; threads that it starts stay there.
    pub(crate) fn as_client<T: Send>(
        cores: Option<Cores>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, Failure> {
        std::thread::scope(|scope| {
            let pinned = move || {
                if let Some(cores) = cores {
                    let _ = sched_setaffinity(None, &cores.client);
                }
                work()
            };
            scope.spawn(pinned).join().map_err(panicked)
        })
    }
}

/// The counters of the server at its end, of which measurements use some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Counted {
    /// Loads performed, of whatever kind.
    pub(crate) loads: u64,
    /// Those that found unchanged what was cached.
    pub(crate) revalidations: u64,
    /// Requests that waited for a load which another one had begun.
    pub(crate) coalesced: u64,
}

/// A running server; it is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnServer {
    server: Server,
    url: String,
}

impl OwnServer {
    /// Serves `root` with one worker on a free port of 127.0.0.1, with further `arguments`; returns
    /// when it listens. Nothing of the environment that it would obey is handed down.
    pub(crate) fn start(
        root: &Path,
        arguments: &[OsString],
        cores: Option<Cores>,
    ) -> Result<OwnServer, Failure> {
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"SALVER_") {
                command.env_remove(name);
            }
        }
        let port = free_port().map_err(failed)?;
        command
            .arg("serve")
            .arg(root)
            .args(["--host", "127.0.0.1", "--workers", "1", "--port"])
            .arg(port.to_string())
            .arg("--statistics")
            // All connections are one client's.
            .args(["--max-connections-per-client", "10000000"])
            .args(arguments)
            .stdout(Stdio::piped());
        let core = cores.map(|cores| cores.server);
        let server = Server::start(command, port, core, &AtomicBool::new(false));
        let is_secure = arguments
            .iter()
            .any(|argument| argument == "--tls-self-signed");
        let scheme = if is_secure { "https" } else { "http" };
        Ok(OwnServer {
            server: server.map_err(failure)?,
            url: format!("{scheme}://127.0.0.1:{port}"),
        })
    }

    /// Where it is found, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// What holds it.
    pub(crate) fn hold(&self) -> Option<Hold> {
        Pid::from_raw(i32::try_from(self.pid()).ok()?).map(Hold)
    }

    /// Lets it end, and gives what it has counted.
    pub(crate) fn stop(mut self) -> Result<Counted, Failure> {
        let stdout = self.server.stdout();
        let status = self.server.stop().ok_or(io::ErrorKind::NotFound);
        let status = status.map_err(|error| failed(error.into()))?;
        if !status.success() {
            return Err(Failure::Failed(format!(
                "the server that was measured ended with {status}: {}",
                self.server.last_words()
            )));
        }
        let mut text = String::new();
        if let Some(mut stdout) = stdout {
            stdout.read_to_string(&mut text).map_err(failed)?;
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
    pub(crate) fn stop(self) -> io::Result<()> {
        Ok(kill_process(self.0, Signal::STOP)?)
    }

    /// It goes on. If it is gone, its client will see that.
    pub(crate) fn release(self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::Failed(format!(
        "the server that is to be measured cannot be started or ended: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_never_has_the_core_of_the_server() {
        let all = sched_getaffinity(None).unwrap();
        match Cores::divided() {
            None => assert_eq!(all.count(), 1),
            Some(cores) => {
                assert_eq!(cores.client.count(), all.count() - 1);
                assert!(all.is_set(cores.server) && !cores.client.is_set(cores.server));
                let found = Cores::as_client(Some(cores), || sched_getaffinity(None).unwrap());
                assert_eq!(found.unwrap(), cores.client);
            }
        }
        assert_eq!(Cores::as_client(None, || 7).unwrap(), 7);
    }
}
