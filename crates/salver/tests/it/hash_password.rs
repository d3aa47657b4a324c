//! `salver hash-password`: from a pipe, and at a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::common::curl::{VERSIONS, curl};
use crate::common::{Running, check_one_line, salver, site, stop};

/// Hashes what a pipe gives: exit code, standard output, standard error.
fn piped(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut command = salver();
    command.arg("hash-password").args(arguments);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn what_a_pipe_gives_is_hashed() {
    let check = |arguments: &[&str], input: &str, begin: &str, end: &str| {
        let (code, out, said) = piped(arguments, input.as_bytes());
        assert_eq!((code, &*said), (0, ""), "{arguments:?}");
        assert!(out.starts_with(begin) && out.ends_with(end), "{out}");
        assert_eq!(out.lines().count(), 1, "{out}");
        assert!(!out.contains("sesame"), "{out}");
    };
    check(&[], "open sesame", "$argon2id$v=19$", "\n");
    check(&[], "open sesame\r\n", "$argon2id$v=19$", "\n");
    check(&["--bcrypt"], "open sesame\n", "$2b$12$", "\n");
    check(&["jo"], "open sesame\n", "jo = \"$argon2id$", "\"\n");
    check(
        &["j\"o \\ö", "--bcrypt"],
        "x",
        "\"j\\\"o \\\\ö\" = \"$2b$",
        "\"\n",
    );
}

#[test]
fn the_line_that_is_printed_lets_its_user_in() {
    for arguments in [&["jo"][..], &["jo", "--bcrypt"]] {
        let (_, line, _) = piped(arguments, b"open sesame\n");
        let text = format!(
            "[[site]]\nroot = 'dist'\n[[site.rule]]\npath = '/**'\n[site.rule.basic-auth]\nrealm = 'Staff'\n\
             [site.rule.basic-auth.users]\n{line}"
        );
        let folder = site(&[("salver.toml", &*text), ("dist/index.html", "inside")]);
        let server = Running::by_file(folder.path(), &[]);
        for version in VERSIONS {
            let url = format!("http://{}/", server.addr);
            let ask = |user: &str| curl(&[version, "--user", user, &url]);
            assert_eq!(ask("jo:open sesame").content, "inside");
            assert_eq!(ask("jo:open").status, 401);
            assert_eq!(ask("bo:open sesame").status, 401);
        }
        stop(server);
    }
}

#[test]
fn what_is_no_password_is_refused_and_never_shown() {
    let check = |arguments: &[&str], input: &[u8], part: &str| {
        let (code, out, said) = piped(arguments, input);
        assert_eq!((code, &*out), (2, ""), "{said}");
        assert!(said.contains(part) && !said.contains("xyz"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    check(&[], b"", "is empty");
    check(&[], b"\n", "is empty");
    check(&[], b"xyz\nxyz\n", "more than one line");
    check(&[], b"xyz\xff", "not UTF-8");
    check(&[], b"xyz\tx", "control character");
    check(&["--bcrypt"], &[b'x'; 73], "more than 72 bytes");
    check(&["a:b"], b"xyz", "not a user's name");
    // Others on the machine see arguments.
    check_one_line(
        &["hash-password", "jo", "secret"],
        2,
        &["unexpected argument"],
    );
}

/// A program at a terminal of its own, which this has the other end of.
struct AtTerminal {
    terminal: File,
    child: Child,
}

impl AtTerminal {
    fn start() -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let peer = || ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY);
        let mut command = salver();
        command.args(["hash-password", "jo"]);
        command.stdin(peer().unwrap()).stderr(peer().unwrap());
        command.stdout(Stdio::piped());
        AtTerminal {
            child: command.spawn().unwrap(),
            terminal: terminal.into(),
        }
    }

    /// Reads from the terminal up to this prompt; all that was shown.
    fn until(&mut self, prompt: &str) -> String {
        let mut shown = Vec::new();
        let mut byte = [0];
        while !shown.ends_with(prompt.as_bytes()) {
            self.terminal.read_exact(&mut byte).unwrap();
            shown.extend(byte);
        }
        String::from_utf8(shown).unwrap()
    }

    fn type_in(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    fn has_echo(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap();
        modes
            .local_modes
            .contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    fn end(mut self) -> (i32, String) {
        let mut out = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        assert!(self.has_echo(), "the terminal is as it was");
        (code, out)
    }
}

#[test]
fn a_terminal_shows_nothing_of_it_and_asks_twice() {
    let mut program = AtTerminal::start();
    program.until("Password: ");
    assert!(!program.has_echo());
    program.type_in("opem\u{7f}n sesame\r");
    let shown = program.until("The same again: ");
    assert_eq!(shown, "\r\nThe same again: ");
    program.type_in("open sesame\r");
    let (code, out) = program.end();
    assert_eq!(code, 0);
    assert!(out.starts_with("jo = \"$argon2id$"), "{out}");

    let mut program = AtTerminal::start();
    program.until("Password: ");
    program.type_in("one\r");
    program.until("The same again: ");
    program.type_in("another\r");
    program.until("the two differ");
    assert_eq!(program.end(), (2, String::new()));
}

#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    let mut program = AtTerminal::start();
    program.until("Password: ");
    program.type_in("open\u{3}");
    program.until("interrupted");
    assert_eq!(program.end(), (1, String::new()));
}
