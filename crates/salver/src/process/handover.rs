//! Handing the sockets of this process to a new program, and taking over those of the one before.
//!
//! ```text
//! the process that serves                      the new program
//!   starts it, with a socket as its standard input ──►
//!   listener ADDRESS, datagrams ADDRESS, unix PATH, each with its descriptor,
//!   workers N, machine …, sandbox, readable PATH, writable PATH, end ──►  binds the rest, prepares
//!                                              ◄── ready                   or ◄── failed REASON, or it ends
//!   go ──►                                     accepts already; is the one that counts now
//!   drains TCP and QUIC
//!   datagrams ──►                              reads the sockets for HTTP/3
//!   ends
//! ```
//!
//! No socket is ever closed, so that nobody who waits in its queue is lost.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use salver_config::Machine;
use salver_server::{InheritedSockets, ServerSockets};

use super::sandbox::Sandbox;

/// The variable by which a program knows that it is to take over. It is none of the settings.
const VARIABLE: &str = "HANDOVER_TO_SALVER";

/// The variables of the service manager that are for this process alone.
const OWN_VARIABLES: [&str; 4] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID"];

/// The longest message, in bytes.
const LONGEST: usize = 4096;

/// The time for the new program to be ready.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// The time for the process before to hand everything over.
const GIVEN_WITHIN: Duration = Duration::from_secs(30);

/// The link between two processes: messages, some with a descriptor.
struct Link(OwnedFd);

impl Link {
    fn send(&self, text: &str, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let text = text
            .get(..text.floor_char_boundary(LONGEST))
            .unwrap_or_default();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut more = SendAncillaryBuffer::new(&mut space);
        let descriptors: Vec<_> = descriptor.into_iter().collect();
        if !descriptors.is_empty() {
            more.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let text = [IoSlice::new(text.as_bytes())];
        sendmsg(&self.0, &text, &mut more, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next message; `None` if the other process has ended.
    fn receive(&self, until: Option<Instant>) -> io::Result<Option<(String, Option<OwnedFd>)>> {
        if let Some(until) = until {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut waiting = [PollFd::new(&self.0, PollFlags::IN)];
            if poll(&mut waiting, Some(&left))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let mut text = [0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut more = RecvAncillaryBuffer::new(&mut space);
        let mut buffers = [IoSliceMut::new(&mut text)];
        let received = match recvmsg(&self.0, &mut buffers, &mut more, RecvFlags::CMSG_CLOEXEC) {
            // It ended with something of ours unread.
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            received => received?,
        };
        let descriptor = more.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        if received.bytes == 0 {
            return Ok(None);
        }
        let text = text.get(..received.bytes).unwrap_or_default();
        Ok(Some((
            String::from_utf8_lossy(text).into_owned(),
            descriptor,
        )))
    }
}

/// What a new program is given beside sockets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inheritance {
    pub(crate) workers: usize,
    /// The machine, of which it sees nothing in the sandbox.
    pub(crate) machine: Machine,
    /// The sandbox that it is in, too.
    pub(crate) sandbox: Option<Sandbox>,
}

/// The machine in a message: its numbers in order, `-` for one that nobody knows.
fn words(machine: &Machine) -> String {
    let Machine {
        cores,
        cpu_quota,
        physical_memory,
        memory_limit,
    } = *machine;
    let all = [cores, cpu_quota, physical_memory, memory_limit];
    let words = all.map(|number| number.map_or_else(|| "-".to_owned(), |known| known.to_string()));
    words.join(" ")
}

/// The machine of a message.
fn machine(words: &str) -> Machine {
    let mut numbers = words.split(' ').map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    Machine {
        cores: next(),
        cpu_quota: next(),
        physical_memory: next(),
        memory_limit: next(),
    }
}

/// A new program that is ready to take over.
pub(crate) struct Successor {
    child: Child,
    link: Link,
}

impl fmt::Debug for Successor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Successor").field(&self.child.id()).finish()
    }
}

impl Successor {
    /// Starts `program` with these arguments, gives it the sockets, and waits until it is ready.
    ///
    /// # Errors
    /// Why it does not take over: it has ended then.
    pub(crate) fn start(
        program: &Path,
        arguments: &[OsString],
        sockets: &ServerSockets,
        inheritance: &Inheritance,
    ) -> Result<Self, String> {
        let not_started = |error: io::Error| format!("{program:?} cannot be started: {error}");
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        );
        let (own, other) = pair.map_err(|error| not_started(error.into()))?;
        let mut command = Command::new(program);
        command.args(arguments).env(VARIABLE, "1");
        for name in OWN_VARIABLES {
            command.env_remove(name);
        }
        let child = command.stdin(Stdio::from(other)).spawn();
        // Its end of the link is held by the command, too.
        drop(command);
        let mut successor = Successor {
            child: child.map_err(not_started)?,
            link: Link(own),
        };
        let result = successor
            .give(sockets, inheritance)
            .map_err(|error| format!("the new program takes no sockets: {error}"))
            .and_then(|()| successor.wait());
        match result {
            Ok(()) => Ok(successor),
            Err(why) => {
                let _ = successor.child.kill();
                let ended = successor.child.wait();
                let status = ended.map_or_else(|error| error.to_string(), |it| it.to_string());
                Err(if why.is_empty() {
                    format!("the new program ended before it was ready ({status})")
                } else {
                    why
                })
            }
        }
    }

    fn give(&self, sockets: &ServerSockets, inheritance: &Inheritance) -> io::Result<()> {
        for (address, listener) in &sockets.listeners {
            let text = format!("listener {address}");
            self.link.send(&text, Some(listener.as_fd()))?;
        }
        for (address, socket) in &sockets.datagrams {
            let text = format!("datagrams {address}");
            self.link.send(&text, Some(socket.as_fd()))?;
        }
        let unix = sockets.unix.iter();
        for (path, listener) in unix.filter_map(|(path, of)| Some((path.to_str()?, of))) {
            self.link
                .send(&format!("unix {path}"), Some(listener.as_fd()))?;
        }
        let workers = inheritance.workers;
        self.link.send(&format!("workers {workers}"), None)?;
        let machine = words(&inheritance.machine);
        self.link.send(&format!("machine {machine}"), None)?;
        if let Some(sandbox) = &inheritance.sandbox {
            self.link.send("sandbox", None)?;
            for (word, paths) in [("readable", &sandbox.read), ("writable", &sandbox.write)] {
                for path in paths.iter().filter_map(|path| path.to_str()) {
                    self.link.send(&format!("{word} {path}"), None)?;
                }
            }
        }
        self.link.send("end", None)
    }

    /// Waits until it is ready; the reason is empty if it has ended without one.
    fn wait(&self) -> Result<(), String> {
        let until = Instant::now() + READY_WITHIN;
        match self.link.receive(Some(until)) {
            Ok(Some((text, _))) if text == "ready" => Ok(()),
            Ok(Some((text, _))) => Err(match text.strip_prefix("failed ") {
                Some(reason) => reason.to_owned(),
                None => "the new program is another one".to_owned(),
            }),
            Ok(None) => Err(String::new()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err("the new program was not ready in time".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it that it is the one that counts now.
    pub(crate) fn go(&self) {
        // One that has ended meanwhile is known by its end.
        let _ = self.link.send("go", None);
    }

    /// Leaves it the sockets for HTTP/3.
    pub(crate) fn leave_datagrams(&self) {
        let _ = self.link.send("datagrams", None);
    }
}

/// The process before this one, which serves until this one is ready.
pub(crate) struct Predecessor(Link);

/// What the process before gives: its sockets, its number of workers, the machine as it has seen it, and its sandbox, in
/// which this process is, too.
pub(crate) struct Given {
    pub(crate) sockets: InheritedSockets,
    pub(crate) workers: Option<usize>,
    pub(crate) machine: Option<Machine>,
    pub(crate) sandbox: Option<Sandbox>,
}

/// A message of the process before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FromPredecessor {
    /// This process is the one that counts now.
    Go,
    /// The sockets for HTTP/3 are this process's now.
    Datagrams,
    /// It has ended.
    Ended,
}

impl Predecessor {
    /// The process that has started this one for an upgrade, and what it gives; `None` if there is none.
    ///
    /// # Errors
    /// It gives nothing.
    pub(crate) fn of_environment() -> io::Result<Option<(Self, Given)>> {
        if std::env::var_os(VARIABLE).is_none() {
            return Ok(None);
        }
        let link = Link(io::stdin().as_fd().try_clone_to_owned()?);
        let until = Instant::now() + GIVEN_WITHIN;
        let mut given = Given {
            sockets: InheritedSockets::default(),
            workers: None,
            machine: None,
            sandbox: None,
        };
        given.sockets.await_datagrams();
        loop {
            let Some((text, descriptor)) = link.receive(Some(until))? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
            let address = rest.parse::<SocketAddr>();
            match (word, address, descriptor) {
                ("listener", Ok(address), Some(socket)) => {
                    given
                        .sockets
                        .add_listener(address, TcpListener::from(socket));
                }
                ("datagrams", Ok(address), Some(socket)) => {
                    given
                        .sockets
                        .add_datagrams(address, UdpSocket::from(socket));
                }
                ("unix", _, Some(socket)) => {
                    given.sockets.add_unix(rest.into(), socket.into());
                }
                ("workers", _, _) => given.workers = rest.parse().ok(),
                ("machine", _, _) => given.machine = Some(machine(rest)),
                ("sandbox", _, _) => given.sandbox = Some(Sandbox::default()),
                ("readable", _, _) => {
                    let sandbox = given.sandbox.get_or_insert_default();
                    sandbox.read.push(rest.into());
                }
                ("writable", _, _) => {
                    let sandbox = given.sandbox.get_or_insert_default();
                    sandbox.write.push(rest.into());
                }
                ("end", _, _) => return Ok(Some((Predecessor(link), given))),
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Tells that this process serves.
    pub(crate) fn is_ready(&self) {
        let _ = self.0.send("ready", None);
    }

    /// Tells why it does not.
    pub(crate) fn has_failed(&self, why: &str) {
        let _ = self.0.send(&format!("failed {why}"), None);
    }

    /// Waits for its next message.
    pub(crate) fn next(&self) -> FromPredecessor {
        loop {
            match self.0.receive(None) {
                Ok(Some((text, _))) if text == "go" => return FromPredecessor::Go,
                Ok(Some((text, _))) if text == "datagrams" => return FromPredecessor::Datagrams,
                // A later version may say more.
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return FromPredecessor::Ended,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> (Link, Link) {
        let kind = SocketType::SEQPACKET;
        let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let (one, other) = pair.unwrap();
        (Link(one), Link(other))
    }

    #[test]
    fn messages_carry_sockets_and_an_end_is_seen() {
        let (one, other) = links();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        one.send("listener", Some(listener.as_fd())).unwrap();
        one.send("end", None).unwrap();
        let (text, socket) = other.receive(None).unwrap().unwrap();
        let socket = TcpListener::from(socket.unwrap());
        assert_eq!(text, "listener");
        assert_eq!(socket.local_addr().unwrap(), listener.local_addr().unwrap());
        let (text, nothing) = other.receive(None).unwrap().unwrap();
        assert!(text == "end" && nothing.is_none());
        let soon = Instant::now() + Duration::from_millis(10);
        let error = other.receive(Some(soon)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(one);
        assert!(other.receive(None).unwrap().is_none());
    }

    #[test]
    fn a_machine_is_told_in_a_message() {
        let check = |told: Machine, text: &str| {
            assert_eq!(words(&told), text);
            assert_eq!(machine(text), told);
        };
        check(Machine::default(), "- - - -");
        let container = Machine {
            cores: Some(2),
            cpu_quota: None,
            physical_memory: Some(8 << 30),
            memory_limit: Some(u64::MAX),
        };
        check(container, "2 - 8589934592 18446744073709551615");
        for odd in ["", "x", "- -", "1 2 3 4 5", "-1 1.5 18446744073709551616 -"] {
            let told = machine(odd);
            assert_eq!(machine(&words(&told)), told, "{odd:?}");
        }
    }

    #[test]
    fn a_program_that_does_not_take_over_is_said() {
        let start = |program: &str, arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            let sockets = ServerSockets::default();
            let inheritance = Inheritance::default();
            Successor::start(Path::new(program), &arguments, &sockets, &inheritance).unwrap_err()
        };
        let why = start("/no/such/program", &[]);
        assert!(why.contains("/no/such/program"), "{why}");
        let why = start("/bin/sh", &["-c", "exit 3"]);
        assert!(why.contains("ended") || why.contains("no sockets"), "{why}");
    }
}
