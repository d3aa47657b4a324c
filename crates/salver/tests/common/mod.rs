//! A running `salver serve`, for tests that talk to it.
// Each test file compiles this on its own and uses a part of it.
#![allow(dead_code, unreachable_pub)]

pub mod curl;
pub mod documents;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use salver_conformance::{Endpoint, Protocol, SERVER_NAME};
use salver_test::Certificate;
use tempfile::TempDir;

/// Longer than anything takes; a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The variable that has no codings made.
pub const NO_COMPRESS: &str = "SALVER_NO_COMPRESS";

/// The program under test, with nothing of this process's environment that it would obey.
pub fn salver() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_salver"));
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"SALVER_") {
            command.env_remove(name);
        }
    }
    command
}

/// A server on a port of its own; it is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub addr: SocketAddr,
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Running {
    /// Serves `root` with further flags; returns when it listens. It sends no coding but those of siblings: whether one
    /// is ready yet is no matter of most tests.
    pub fn start(root: &Path, args: &[&str]) -> Running {
        Self::start_with(root, args, |_| {})
    }

    /// The same with codings that are made in the background, as everybody has them.
    pub fn start_compressing(root: &Path, args: &[&str]) -> Running {
        Self::start_with(root, args, |command| {
            command.env_remove(NO_COMPRESS);
        })
    }

    /// As [`start`](Self::start); `prepare` may set the environment.
    pub fn start_with(root: &Path, args: &[&str], prepare: impl FnOnce(&mut Command)) -> Running {
        let mut command = salver();
        command
            .arg("serve")
            .arg(root)
            .args(["--port", "0"])
            .args(args)
            .env(NO_COMPRESS, "true");
        prepare(&mut command);
        let mut running = Self::spawn(command);
        let line = running.wait_for_line("://");
        running.addr = addr_in(&line);
        running
    }

    /// Serves by the file `salver.toml` of a folder, at a free port; returns when it listens.
    pub fn by_file(folder: &Path, args: &[&str]) -> Running {
        let mut command = salver();
        command.args(["serve", "--port", "0", "-c"]);
        command.arg(folder.join("salver.toml")).args(args);
        command.env(NO_COMPRESS, "true");
        let mut running = Self::spawn(command);
        let line = running.wait_for_line("://");
        running.addr = addr_in(&line);
        running
    }

    /// Starts a command of which only the lines on standard error are known; `addr` is nowhere.
    pub fn spawn(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let addr = SocketAddr::from(([0, 0, 0, 0], 0));
        Running {
            addr,
            child,
            lines,
            said: Vec::new(),
        }
    }

    /// Its standard output, if that is a pipe which nobody has taken yet.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line on standard error that contains `part`.
    pub fn wait_for_line(&mut self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                panic!("no line with {part:?} ({error}) after {:#?}", self.said)
            });
            self.said.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end; gives the status and everything that was said on standard error.
    pub fn wait(mut self) -> (ExitStatus, String) {
        // The lines end when the process does.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("still running ({error}) after {:#?}", self.said),
            }
        }
        (self.child.wait().unwrap(), self.said.join("\n"))
    }

    /// A new connection.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr)
    }

    /// As [`get`], of this server.
    pub fn get(&self, target: &str, fields: &str) -> (u16, String, Vec<u8>) {
        get(self.addr, target, fields)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with a port without TLS and one with it, and the certificate that it shows there.
#[derive(Debug)]
pub struct Certified {
    /// The server; its `addr` is the port without TLS.
    pub server: Running,
    /// The port with TLS, over TCP and over UDP.
    pub tls: SocketAddr,
    files: TempDir,
}

impl Certified {
    /// Serves `root` with further flags; returns when it listens.
    pub fn start(root: &Path, args: &[&str]) -> Certified {
        let files = tempfile::tempdir().unwrap();
        let pair = certify(files.path());
        let mut command = salver();
        command
            .arg("serve")
            .arg(root)
            .args(["--port", "0", "--http-port", "0"])
            .args(tls_flags(&pair))
            .args(args)
            .env(NO_COMPRESS, "true");
        let mut server = Running::spawn(command);
        let line = server.wait_for_line("https://");
        let tls = addr_in(&line);
        let line = server.wait_for_line("http://");
        server.addr = addr_in(&line);
        Certified { server, tls, files }
    }

    /// Where and how it is asked in a protocol.
    pub fn endpoint(&self, protocol: Protocol) -> Endpoint {
        if protocol.is_encrypted() {
            let certificate = self.files.path().join("cert.pem");
            Endpoint::trusting(self.tls, protocol, &certificate).unwrap()
        } else {
            Endpoint::bare(self.server.addr, protocol).unwrap()
        }
    }
}

/// Writes a certificate for the server's name and its key into `directory`: both files.
pub fn certify(directory: &Path) -> [PathBuf; 2] {
    Certificate::of(&[SERVER_NAME, "localhost"]).write(directory)
}

/// What follows `salver serve` so that it has the certificate in these files.
pub fn tls_flags([certificate, key]: &[PathBuf; 2]) -> [&str; 4] {
    let [certificate, key] = [certificate, key].map(|file| file.to_str().unwrap());
    ["--tls-cert", certificate, "--tls-key", key]
}

/// A new connection.
fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// GET with further field lines (each with its line end), on a connection of its own: the
/// status, the head and the content.
pub fn get(addr: SocketAddr, target: &str, fields: &str) -> (u16, String, Vec<u8>) {
    let mut stream = connect(addr);
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let content = answer.split_off(end);
    let head = String::from_utf8(answer).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, content)
}

/// A directory with these files.
pub fn site(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

/// Ends the server and gives all that it has said.
pub fn stop(server: Running) -> String {
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    said
}

/// The address in a line of the banner.
pub fn addr_in(line: &str) -> SocketAddr {
    let (_, rest) = line.split_once("://").unwrap();
    rest.split_once('/').unwrap().0.parse().unwrap()
}

/// Whether a load went well, as far as this machine lets it: that others took its cores meanwhile is
/// said, and then the exit code is 1 as well.
pub fn went_well(code: i32, invalid: &str, said: &str) -> bool {
    let is_disturbed = invalid.contains("others took");
    (code, said.is_empty()) == (i32::from(is_disturbed), !is_disturbed)
}

/// Runs `salver` with these arguments to its end: exit code, standard output, standard error.
pub fn run(args: &[impl AsRef<OsStr>]) -> (i32, String, String) {
    let output = salver().args(args).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Checks that a command ends with this code and says these parts, in one line and nothing else.
pub fn check_one_line(arguments: &[&str], expected: i32, parts: &[&str]) {
    let (code, out, said) = run(arguments);
    assert_eq!((code, &*out), (expected, ""), "{arguments:?}: {said}");
    assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}
