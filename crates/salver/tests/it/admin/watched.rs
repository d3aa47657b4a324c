//! A server with an admin listener, and who asks it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::common::{PATIENCE, Running, addr_in, run};

/// A server with an admin listener, and where that is.
pub(super) struct Watched {
    pub(super) server: Running,
    pub(super) admin: SocketAddr,
}

impl Watched {
    pub(super) fn start(root: &Path, flags: &[&str]) -> Watched {
        Self::start_with(root, &[&["--metrics", "0"], flags].concat(), |_| {})
    }

    /// That of the file `salver.toml` of a folder.
    pub(super) fn by_file(folder: &Path) -> Watched {
        Self::of(Running::by_file(folder, &[]))
    }

    pub(super) fn start_with(
        root: &Path,
        flags: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Watched {
        Self::of(Running::start_with(root, flags, prepare))
    }

    fn of(mut server: Running) -> Watched {
        let line = server.wait_for_line("admin ");
        let admin = addr_in(&line);
        Watched { server, admin }
    }

    /// The status and the content of an answer of the listener.
    pub(super) fn ask(&self, method: &str, target: &str, fields: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.admin).unwrap();
        let host = self.admin.to_string();
        exchange(
            &mut stream,
            method,
            target,
            &format!("Host: {host}\r\n{fields}"),
        )
    }

    pub(super) fn status(&self) -> Value {
        let (status, body) = self.ask("GET", "/status", "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The statistics once this many requests have ended.
    pub(super) fn after(&self, requests: u64) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            let total = status["requests"]["total"].as_u64().unwrap();
            if total >= requests {
                assert_eq!(total, requests, "{status}");
                return status;
            }
            assert!(Instant::now() < end, "in vain: {status}");
            std::thread::yield_now();
        }
    }

    /// The lines of metrics with this in them.
    pub(super) fn metrics(&self, part: &str) -> Vec<String> {
        let (status, body) = self.ask("GET", "/metrics", "");
        assert_eq!(status, 200, "{body}");
        let samples = body.lines().filter(|line| !line.starts_with('#'));
        let lines = samples.filter(|line| line.contains(part));
        lines.map(str::to_owned).collect()
    }

    /// The paths of the cache.
    pub(super) fn cached(&self) -> Vec<String> {
        let (status, body) = self.ask("GET", "/cache", "");
        assert_eq!(status, 200, "{body}");
        let page: Value = serde_json::from_str(&body).unwrap();
        let entries = page["entries"].as_array().unwrap().iter();
        entries
            .map(|entry| entry["path"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Runs a client of the listener: exit code, standard output, standard error.
    pub(super) fn client(&self, arguments: &[&str]) -> (i32, String, String) {
        let admin = self.admin.to_string();
        let (command, rest) = arguments.split_first().unwrap();
        run(&[&[*command, "--admin", &admin], rest].concat())
    }
}

pub(super) fn exchange(
    stream: &mut (impl Read + Write),
    method: &str,
    target: &str,
    fields: &str,
) -> (u16, String) {
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nConnection: close\r\n{fields}\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The status of an answer to curl.
pub(super) fn curl(arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--show-error",
        "--noproxy",
        "*",
        "--max-time",
        "60",
    ]);
    command.args([
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_version} %{http_code}",
    ]);
    let output = command.args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
