//! What a service manager is told, and gives.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::{Configured, PID_FILE, wait_for_end};
use crate::common::{PATIENCE, Running, addr_in, salver, site, stop};

/// The socket of a service manager.
struct Manager {
    folder: tempfile::TempDir,
    socket: UnixDatagram,
}

impl Manager {
    fn new() -> Manager {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Manager { folder, socket }
    }

    fn starts(&self, command: &mut Command) {
        command.env("NOTIFY_SOCKET", self.folder.path().join("notify"));
    }

    /// The next state that begins with this, others left out.
    fn wait_for(&self, beginning: &str) -> String {
        loop {
            let mut buffer = [0; 4096];
            let count = self.socket.recv(&mut buffer).unwrap();
            let text = str::from_utf8(&buffer[..count]).unwrap();
            if text.starts_with(beginning) {
                return text.to_owned();
            }
        }
    }
}

#[test]
fn it_hears_when_the_server_is_ready_reloads_and_stops() {
    let manager = Manager::new();
    let configured = Configured::start_with(PID_FILE, |command| manager.starts(command));
    assert_eq!(manager.wait_for("READY=1"), "READY=1\nSTATUS=serving");
    configured.server.signal(Signal::HUP);
    let state = manager.wait_for("RELOADING=1\nMONOTONIC_USEC=");
    let (_, time) = state.rsplit_once('=').unwrap();
    assert!(time.parse::<u64>().unwrap() > 0);
    let state = manager.wait_for("READY=1");
    assert!(
        state.contains("STATUS=reloaded: nothing is another"),
        "{state}"
    );
    configured.configure(&format!("rot = \"b\"\n{PID_FILE}"));
    configured.server.signal(Signal::HUP);
    manager.wait_for("RELOADING=1");
    let state = manager.wait_for("READY=1");
    assert!(state.contains("rot"), "{state}");
    configured.server.signal(Signal::TERM);
    manager.wait_for("STOPPING=1");
    configured.server.wait();
}

#[test]
fn it_hears_that_the_loops_go_on_and_who_takes_over() {
    let manager = Manager::new();
    let mut configured = Configured::start_with(PID_FILE, |command| {
        manager.starts(command);
        command.env("WATCHDOG_USEC", "2000000");
    });
    let before = configured.wait_for_pid(None);
    manager.wait_for("WATCHDOG=1");
    configured.configure(&format!("root = \"b\"\ndrain = \"1s\"\n{PID_FILE}"));
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    let pid = configured.wait_for_pid(Some(before));
    let state = manager.wait_for("MAINPID=");
    assert_eq!(state, format!("MAINPID={pid}\nREADY=1"));
    wait_for_end(before);
    manager.wait_for("WATCHDOG=1");
    let process = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(process, Signal::TERM).unwrap();
    manager.wait_for("STOPPING=1");
    wait_for_end(pid);
}

/// Runs `salver` with a listening socket as descriptor 3, as socket activation does it.
fn activated(address: &str, root: &Path, flags: &str) -> Running {
    let script = "import os, socket, sys\n\
         s = socket.create_server((sys.argv[1], 0))\n\
         os.dup2(s.fileno(), 3)\n\
         os.set_inheritable(3, True)\n\
         os.environ['LISTEN_FDS'] = '1'\n\
         os.environ['LISTEN_PID'] = str(os.getpid())\n\
         print('socket http://%s:%d/' % s.getsockname(), file=sys.stderr, flush=True)\n\
         os.execv(sys.argv[2], sys.argv[2:])\n";
    let program = salver().get_program().to_owned();
    let mut command = Command::new("python3");
    command.args(["-c", script, address]).arg(program);
    command
        .arg("serve")
        .arg(root)
        .args(flags.split_whitespace());
    Running::spawn(command)
}

#[test]
fn a_socket_that_it_gives_is_served_at() {
    let root = site(&[("index.html", "page")]);
    let mut server = activated("127.0.0.1", root.path(), "");
    let given = addr_in(&server.wait_for_line("socket http://"));
    server.addr = addr_in(&server.wait_for_line("http://"));
    assert_eq!(server.addr, given);
    assert_eq!(server.get("/", "").2, b"page");
    stop(server);
}

#[test]
fn a_socket_for_nothing_is_a_fault() {
    let root = site(&[("index.html", "page")]);
    let server = activated("127.0.0.1", root.path(), "--port 0");
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(
        said.contains("the service manager gives a socket at"),
        "{said}"
    );
}
