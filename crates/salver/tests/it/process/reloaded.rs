//! A server that reads its configuration again.

use rustix::process::Signal;

use super::{Configured, Kept, PID_FILE, http2_get};
use crate::common::{check_one_line, run, stop};

#[test]
fn a_new_configuration_holds_for_who_is_connected_and_for_who_comes() {
    let configured = Configured::start(PID_FILE);
    let mut kept = Kept::to(configured.server.addr);
    assert!(kept.get("/").ends_with("page a"));
    configured.configure(&format!("root = \"b\"\n{PID_FILE}"));
    let (code, said) = configured.tell("reload");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("reloaded: with another root"), "{said}");
    assert!(said.contains(&configured.server.addr.to_string()), "{said}");
    assert!(kept.get("/").ends_with("page b"));
    assert_eq!(configured.server.get("/", "").2, b"page b");
    assert_eq!(http2_get(configured.server.addr), b"page b");
    stop(configured.server);
}

#[test]
fn a_fault_changes_nothing_and_is_said_by_line() {
    let mut configured = Configured::start(PID_FILE);
    for (text, part) in [
        ("rot = \"b\"\n", "rot"),
        ("root = \"none\"\n", "none"),
        ("root = \"b\"\nworkers = 1000\n", "workers is another"),
    ] {
        configured.configure(&format!("{text}{PID_FILE}"));
        let (code, said) = configured.tell("reload");
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        let line = configured.server.wait_for_line("nothing has changed: ");
        assert!(line.contains(part), "{line}");
        assert_eq!(configured.server.get("/", "").2, b"page a");
    }
    configured.configure(&format!("root = \"b\"\n{PID_FILE}"));
    configured.server.signal(Signal::HUP);
    configured.server.wait_for_line("reloaded: ");
    assert_eq!(configured.server.get("/", "").2, b"page b");
    stop(configured.server);
}

#[test]
fn what_the_files_have_nothing_to_do_with_leaves_the_cache_as_it_is() {
    let configured = Configured::start(
        "cache.status = true\ncache.revalidate = \"1h\"\n[process]\npid-file = \"salver.pid\"\n",
    );
    let state = |expected: &str| {
        let (_, head, _) = configured.server.get("/", "");
        assert!(
            head.contains(&format!("Cache-Status: salver; {expected}")),
            "{head}"
        );
    };
    state("fwd=");
    state("hit");
    let text =
        |more: &str| format!("cache.status = true\ncache.revalidate = \"1h\"\n{more}\n{PID_FILE}");
    configured.configure(&text("root = \"a\"\nlimits.max-connections = 77"));
    let (code, said) = configured.tell("reload");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("another limits.max-connections at"), "{said}");
    state("hit");
    configured.configure(&text("root = \"a\"\ndotfiles = true"));
    let (code, said) = configured.tell("reload");
    assert_eq!(code, 0, "{said}");
    state("fwd=");
    stop(configured.server);
}

#[test]
fn ports_come_and_go_and_the_log_moves() {
    let configured = Configured::start(&format!("log.file = \"first.log\"\n{PID_FILE}"));
    let mut old = Kept::to(configured.server.addr);
    old.get("/");
    // Where nothing may be written, the log does not move to.
    configured.configure(&format!(
        "root = \"a\"\nlog.file = \"/tmp/access.log\"\n{PID_FILE}"
    ));
    let (code, said) = configured.tell("reload");
    assert!(
        code == 1 && said.contains("beyond what this process may open"),
        "{said}"
    );
    configured.configure(&format!(
        "root = \"a\"\nhost = \"127.0.0.2\"\nlog.file = \"access.log\"\n{PID_FILE}"
    ));
    let (code, said) = configured.tell("reload");
    assert_eq!(code, 0, "{said}");
    let (_, address) = said.trim().rsplit_once(" at ").unwrap();
    let address: std::net::SocketAddr = address.parse().unwrap();
    assert_eq!(address.ip().to_string(), "127.0.0.2");
    let last = old.get("/");
    assert!(last.contains("Connection: close\r\n"), "{last}");
    assert!(std::net::TcpStream::connect(configured.server.addr).is_err());
    Kept::to(address).get("/of-the-log");
    let said = stop(configured.server);
    assert!(said.contains("stopping"), "{said}");
    let log = std::fs::read_to_string(configured.folder.path().join("access.log")).unwrap();
    assert!(log.contains("/of-the-log"), "{log}");
}

#[test]
fn who_is_told_has_to_be_there() {
    check_one_line(&["reload"], 2, &["--pid-file", "--pid"]);
    check_one_line(&["upgrade", "--pid", "0"], 2, &["0"]);
    let none = "/no/such/salver.pid";
    check_one_line(&["reload", "--pid-file", none], 1, &[none]);
    // The largest that Linux has, and nobody.
    check_one_line(&["reload", "--pid", "4194303"], 1, &["there is none"]);
    let configured = Configured::start(PID_FILE);
    let pid = configured.server.pid().to_string();
    let (code, _, said) = run(&["reload", "--pid", &pid]);
    assert!(code == 0 && said.contains("SIGHUP was sent"), "{said}");
    let file = configured.path("salver.pid");
    stop(configured.server);
    assert!(!file.exists() && !file.with_extension("pid.status").exists());
}
