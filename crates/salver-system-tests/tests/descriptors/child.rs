//! A server in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A server in another process.
pub(crate) struct Child {
    pub(crate) address: SocketAddr,
    process: std::process::Child,
}

impl Child {
    /// Starts `stuck-server`. `spare` is how many descriptors it may open beyond those that it has when it
    /// begins to serve.
    pub(crate) fn start(root: &Path, connections: usize, spare: Option<u64>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stuck-server"));
        command
            .arg(root)
            .arg(connections.to_string())
            .args(spare.map(|spare| spare.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut address).unwrap();
        Child {
            address: address.trim_end().parse().unwrap(),
            process,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends the process; what it said in its log.
    pub(crate) fn end(mut self) -> String {
        drop(self.process.stdin.take());
        let mut log = String::new();
        let mut pipe = self.process.stderr.take().unwrap();
        pipe.read_to_string(&mut log).unwrap();
        assert!(self.process.wait().unwrap().success(), "{log}");
        log
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
