//! A program that is replaced while it serves.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Signal, kill_process};

#[cfg(feature = "http3")]
use super::http3_get;
use super::{Configured, Kept, PID_FILE, http2_get, wait_for_end};
use crate::cgroup::{Cgroup, Limits};
use crate::common::{certify, run};

fn end(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    wait_for_end(pid);
}

#[test]
fn a_new_program_takes_the_sockets_and_the_old_one_answers_who_is_there() {
    let mut configured = Configured::start(&format!("drain = \"60s\"\n{PID_FILE}"));
    let (address, old) = (configured.server.addr, configured.wait_for_pid(None));
    let mut waits = Kept::to(address);
    waits.get("/");
    // Also by what is new in the file.
    configured.configure(&format!("root = \"b\"\n{PID_FILE}"));
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("upgraded: process "), "{said}");
    let new = configured.wait_for_pid(Some(old));
    assert_ne!(old, new);
    // As soon as the loops of the old one know, an answer is the last.
    loop {
        let answer = waits.get("/");
        assert!(answer.ends_with("page a"), "{answer}");
        if answer.contains("Connection: close\r\n") {
            break;
        }
    }
    // It has nobody left.
    wait_for_end(old);
    assert!(Kept::to(address).get("/").ends_with("page b"));
    assert_eq!(http2_get(address), b"page b");
    end(new);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn one_that_does_not_start_changes_nothing_and_says_why() {
    let mut configured = Configured::start(PID_FILE);
    configured.configure(&format!("rot = \"b\"\n{PID_FILE}"));
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("rot"), "{said}");
    configured.server.wait_for_line("this program serves on: ");
    assert_eq!(configured.server.get("/", "").2, b"page a");
    // It can be tried again.
    configured.configure(&format!("root = \"b\"\ndrain = \"1s\"\n{PID_FILE}"));
    let old = configured.wait_for_pid(None);
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    let new = configured.wait_for_pid(Some(old));
    let address = configured.server.addr;
    wait_for_end(old);
    assert!(Kept::to(address).get("/").ends_with("page b"));
    end(new);
}

#[test]
fn the_admin_socket_goes_over_and_stays_where_one_does_not_start() {
    let with_admin = format!("{PID_FILE}[admin]\nsocket = \"admin.sock\"\n");
    let mut configured = Configured::start(&with_admin);
    let path = configured.path("admin.sock");
    let identity = || fs::metadata(&path).unwrap().ino();
    let state = || run(&["health", "--admin-socket", path.to_str().unwrap()]).1;
    let (socket, old) = (identity(), configured.wait_for_pid(None));
    // It has bound everything before it finds that it cannot go on.
    configured.configure(&format!(
        "root = \"a\"\n{with_admin}[log]\nformat = \"json\"\nfile = \"/none/log\"\n"
    ));
    let (code, said) = configured.tell("upgrade");
    assert!(code == 1 && said.contains("/none/log"), "{said}");
    assert_eq!((&*state(), identity()), ("ready\n", socket));
    configured.configure(&format!("root = \"b\"\ndrain = \"1s\"\n{with_admin}"));
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    let new = configured.wait_for_pid(Some(old));
    wait_for_end(old);
    assert_eq!((&*state(), identity()), ("ready\n", socket));
    end(new);
    assert!(!path.exists());
}

#[test]
fn a_limit_of_memory_that_the_sandbox_hides_holds_for_the_new_program_and_a_reload() {
    let limits = Limits {
        memory: 128 << 20,
        percent: 400,
    };
    let Some(group) = Cgroup::new("limits after an upgrade", limits) else {
        return;
    };
    let text =
        format!("drain = \"1s\"\n{PID_FILE}sandbox = \"on\"\n[admin]\nsocket = \"admin.sock\"\n");
    let mut configured = Configured::start_with(&text, |command| *command = group.within(command));
    let path = configured.path("admin.sock");
    let cache = || {
        let (_, status, said) =
            run(&["status", "--json", "--admin-socket", path.to_str().unwrap()]);
        let status: serde_json::Value = serde_json::from_str(&status).expect(&said);
        status["cache"]["most_bytes"].as_u64()
    };
    let (half, old) = (Some(64 << 20), configured.wait_for_pid(None));
    assert_eq!(cache(), half);
    // Who looked again would find another one.
    group.limit_memory(256 << 20);
    let (code, said) = configured.tell("reload");
    assert!(code == 0 && said.contains("nothing is another"), "{said}");
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    let new = configured.wait_for_pid(Some(old));
    wait_for_end(old);
    assert_eq!(cache(), half);
    let (code, said) = configured.tell("reload");
    assert!(code == 0 && said.contains("nothing is another"), "{said}");
    assert_eq!(cache(), half);
    end(new);
}

#[cfg(feature = "http3")]
#[test]
fn http3_goes_over_to_the_new_program_when_the_old_one_has_answered() {
    let keys = tempfile::tempdir().unwrap();
    let [certificate, key] = certify(keys.path());
    let tls =
        format!("drain = \"60s\"\n[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n{PID_FILE}");
    let mut configured = Configured::start(&tls);
    let address = configured.server.addr;
    assert_eq!(http3_get(address, &certificate), b"page a");
    let old = configured.wait_for_pid(None);
    configured.configure(&format!("root = \"b\"\n{tls}"));
    let (code, said) = configured.tell("upgrade");
    assert_eq!(code, 0, "{said}");
    let new = configured.wait_for_pid(Some(old));
    // Nobody answers for a moment; the client's first packets come again.
    assert_eq!(http3_get(address, &certificate), b"page b");
    wait_for_end(old);
    end(new);
}
