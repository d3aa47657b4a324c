//! A server that gives up rights.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use salver_test::cannot_be_shown;

use super::{Configured, PID_FILE, end_of};
use crate::common::{check_one_line, site, stop};

/// A line of what the kernel says of a process.
fn status(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_sandbox_opens_nothing_else_and_a_reload_beyond_it_is_refused() {
    let secret = site(&[("index.html", "secret")]);
    let configured = Configured::start(PID_FILE);
    assert_eq!(status(configured.server.pid(), "NoNewPrivs:"), "1");
    assert_eq!(configured.server.get("/", "").2, b"page a");
    let beyond = secret.path().to_str().unwrap();
    let text = |root: &str| format!("root = {root:?}\n{PID_FILE}");
    configured.configure(&text(beyond));
    let (code, said) = configured.tell("reload");
    // The two roots of this test lie in one directory for such: its name is not that of a root.
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("beyond what this process may open"), "{said}");
    assert!(said.contains("--sandbox-path"), "{said}");
    configured.configure(&text("b"));
    let (code, said) = configured.tell("reload");
    assert_eq!(code, 0, "{said}");
    assert_eq!(configured.server.get("/", "").2, b"page b");
    stop(configured.server);
}

#[test]
fn releases_are_switched_by_a_link_and_roots_made_anew_within_a_sandbox() {
    let folder = site(&[
        ("releases/1/index.html", "first"),
        ("releases/2/index.html", "second"),
    ]);
    let (current, next) = (folder.path().join("current"), folder.path().join("next"));
    symlink("releases/1", &current).unwrap();
    let more = "cache.revalidate = \"0s\"\n[process]\nsandbox = \"on\"\n";
    let text = format!("port = 0\nroot = {current:?}\n{more}");
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("salver.toml"), text).unwrap();
    let mut command = crate::common::salver();
    command
        .args(["serve", "-c"])
        .arg(place.path().join("salver.toml"));
    let mut server = crate::common::Running::spawn(command);
    server.addr = crate::common::addr_in(&server.wait_for_line("://"));
    assert_eq!(server.get("/", "").2, b"first");
    symlink("releases/2", &next).unwrap();
    fs::rename(&next, &current).unwrap();
    end_of(|| server.get("/", "").2 == b"second");
    // A release that was not there when it began.
    fs::create_dir(folder.path().join("releases/3")).unwrap();
    fs::write(folder.path().join("releases/3/index.html"), "third").unwrap();
    symlink("releases/3", &next).unwrap();
    fs::rename(&next, &current).unwrap();
    end_of(|| server.get("/", "").2 == b"third");
    stop(server);
}

#[test]
fn a_user_is_become_for_good_and_what_only_root_reads_is_said() {
    if !is_root() {
        return check_one_line(
            &["serve", ".", "--user", "root"],
            2,
            &["only root", "--user"],
        );
    }
    let keys = tempfile::tempdir().unwrap();
    let [certificate, key] = crate::common::certify(keys.path());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(keys.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let tls = format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n");
    let process = "[process]\nuser = \"nobody\"\n";
    let folder = site(&[("a/index.html", "page a")]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("salver.toml");
    fs::write(
        &file,
        format!("port = 0\nhttp-port = 0\nroot = \"a\"\n{tls}{process}"),
    )
    .unwrap();
    let mut command = crate::common::salver();
    command.args(["serve", "-c"]).arg(&file);
    let mut server = crate::common::Running::spawn(command);
    let mut lines = Vec::new();
    loop {
        let line = server.wait_for_line("");
        lines.push(line.clone());
        if line.contains("http://") {
            server.addr = crate::common::addr_in(&line);
            break;
        }
    }
    let said = lines.join("\n");
    assert!(said.contains("cannot be read by this user"), "{said}");
    let pid = server.pid();
    let ids: Vec<String> = status(pid, "Uid:").split(' ').map(str::to_owned).collect();
    assert!(ids.iter().all(|id| *id == ids[0] && id != "0"), "{ids:?}");
    let groups = status(pid, "Gid:");
    assert!(!groups.split(' ').any(|id| id == "0"), "{groups}");
    assert!(!status(pid, "Groups:").split(' ').any(|id| id == "0"));
    assert_eq!(status(pid, "CapEff:"), "0000000000000000");
    assert_eq!(server.get("/", "").2, b"page a");
    stop(server);
}

#[test]
fn the_directory_of_codings_is_the_users_and_no_other_directory_is() {
    if !is_root() {
        return cannot_be_shown("whose the directory of codings is", "this takes root");
    }
    let folder = site(&[("a/index.html", "page a"), ("others/note.txt", "a note")]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let at = |name: &str| folder.path().join(name);
    let start = |kept: &Path| {
        let mut command = crate::common::salver();
        command.args(["serve", "--port", "0", "--user", "nobody", "--cache-dir"]);
        command.args([kept, &at("a")]);
        crate::common::Running::spawn(command)
    };
    for _ in 0..2 {
        let mut server = start(&at("kept"));
        server.wait_for_line("://");
        assert_ne!(fs::metadata(at("kept")).unwrap().uid(), 0);
        stop(server);
    }
    let mut server = start(&at("others"));
    server.wait_for_line("it has other files");
    server.wait_for_line("://");
    assert_eq!(fs::metadata(at("others")).unwrap().uid(), 0);
    stop(server);
}

#[test]
fn files_of_the_process_are_the_users() {
    if !is_root() {
        return check_one_line(
            &["serve", ".", "--group", "root"],
            2,
            &["--group", "--user"],
        );
    }
    let folder = site(&[("a/index.html", "page a"), ("b/index.html", "page b")]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("salver.toml");
    let text = |root: &str| {
        format!(
            "port = 0\nroot = {root:?}\ndrain = \"1s\"\n[process]\nuser = \"nobody\"\npid-file = \"salver.pid\"\n\
             [admin]\nsocket = \"admin.sock\"\n"
        )
    };
    fs::write(&file, text("a")).unwrap();
    let mut command = crate::common::salver();
    command.args(["serve", "-c"]).arg(&file);
    let mut server = crate::common::Running::spawn(command);
    server.addr = crate::common::addr_in(&server.wait_for_line("://"));
    let pid_file = folder.path().join("salver.pid");
    end_of(|| fs::read_to_string(&pid_file).is_ok_and(|text| !text.is_empty()));
    let socket = fs::metadata(folder.path().join("admin.sock")).unwrap();
    let nobody = fs::metadata(&pid_file).unwrap();
    assert_eq!([socket.uid(), socket.gid()], [nobody.uid(), nobody.gid()]);
    fs::write(&file, text("b")).unwrap();
    let told = crate::common::run(&["reload", "--pid-file", pid_file.to_str().unwrap()]);
    assert_eq!(told.0, 0, "{told:?}");
    assert_eq!(server.get("/", "").2, b"page b");
    stop(server);
    // It may not remove them from a directory of somebody else's.
    assert_eq!(fs::read_to_string(&pid_file).unwrap(), "");
    chown(&pid_file, Some(0), Some(0)).unwrap();
}

#[test]
fn who_does_not_exist_is_nobody_to_become() {
    for (flags, part) in [
        (&["--user", "no-such-user"][..], "no such user"),
        (
            &["--user", "root", "--group", "no-such-group"],
            "no such group",
        ),
        (&["--group", "root"], "--user"),
    ] {
        let arguments = [&["serve", "."][..], flags].concat();
        check_one_line(&arguments, 2, &[part]);
    }
}
