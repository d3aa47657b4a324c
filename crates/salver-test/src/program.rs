//! A program that serves, as people run it: started, asked over a socket, ended by Ctrl-C. The tests of
//! every example use it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The example of a package that Cargo builds together with its tests.
///
/// # Panics
/// If it is not built.
pub fn example(name: &str) -> PathBuf {
    // The test is `deps/NAME-HASH` where the example is `examples/NAME`.
    let this = std::env::current_exe().unwrap();
    let built = this.parent().unwrap().parent().unwrap();
    let example = built.join("examples").join(name);
    assert!(
        example.exists(),
        "{} is not built: `cargo test --test` leaves examples out, run `cargo test -p`",
        example.display()
    );
    example
}

/// A running program. It ends with the test at the latest.
#[derive(Debug)]
pub struct Program {
    process: Child,
    address: String,
}

impl Program {
    /// Starts it, and waits until it has printed where it listens. It finds nothing in its working
    /// directory.
    pub fn start(program: &Path, arguments: &[&OsStr]) -> Self {
        let mut process = Command::new(program)
            .args(arguments)
            .current_dir("/")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("http://");
        let address = address.expect("an address").to_owned();
        Program { process, address }
    }

    /// The address that it listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The answer to GET.
    pub fn get(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, fields)
    }

    /// The answer to a request without content, on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in fields {
            request += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("{request}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }

    /// Ends it as Ctrl-C does, which it must take for a wish and not for its death.
    pub fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::INT).unwrap();
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It fails if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An answer. Names of fields are in small letters.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its fields, by their names.
    pub fields: BTreeMap<String, String>,
    /// Its content.
    pub content: Vec<u8>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.expect("a head");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let fields = lines.map(|line| line.split_once(": ").unwrap());
        Answer {
            status: status.and_then(|status| status.parse().ok()).unwrap(),
            fields: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            content: bytes[end + 4..].to_vec(),
        }
    }

    /// The value of a field, empty if it is not there.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The content, if it is text.
    ///
    /// # Panics
    /// If it is none.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.content).unwrap()
    }
}

/// Started with these arguments it says in one line, with `part` in it, what is wrong with them.
pub fn refuses(program: &Path, arguments: &[&str], code: i32, part: &str) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    assert!(said.contains(part), "{arguments:?}: {said}");
}
