//! Defaults that follow the machine, of programs that are started within the limits of a cgroup.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use crate::cgroup::{Cgroup, Limits};
use crate::common::{Running, addr_in, salver, site, stop};

/// The limits of a small container.
const SMALL: Limits = Limits {
    memory: 128 << 20,
    percent: 50,
};

/// The exit code, standard output and standard error of `salver check --print` within a group.
fn check(group: &Cgroup, root: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let mut command = salver();
    command.args(["check", "--print"]).arg(root).args(more);
    let output = group.within(&command).output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn defaults_are_shares_of_what_the_cgroup_allows_and_flags_win() {
    let Some(group) = Cgroup::new("defaults by cgroup", SMALL) else {
        return;
    };
    let root = site(&[("index.html", "page")]);
    let expect = |more: &[&str], lines: &[&str], note: &str| {
        let (code, printed, said) = check(&group, root.path(), more);
        assert_eq!(code, Some(0), "{said}");
        for begin in lines {
            let has = printed.lines().any(|line| line.starts_with(begin));
            assert!(has, "{begin}: {printed}");
        }
        assert!(said.contains(note), "{said}");
    };
    let defaults = [
        "workers = 1 # default, ",
        "size = \"64MiB\" # default, half of the 128MiB that its cgroup allows",
        "connection-memory = \"32MiB\" # default, a quarter of the 128MiB that its cgroup allows",
    ];
    expect(&[], &defaults, "nothing is wrong");
    let named = ["--cache-size", "1GiB", "--workers", "3"];
    let lines = ["workers = 3 # --workers", "size = \"1GiB\" # --cache-size"];
    let note = "more than the memory that there is, the 128MiB that its cgroup allows";
    expect(&named, &lines, note);
}

/// A command that fills the cache from files which together are more than the group of [`SMALL`] allows.
fn filling(root: &Path, more: &[&str]) -> std::process::Command {
    let mut command = salver();
    command.args(["serve", "--port", "0", "--prewarm"]);
    command.arg(root).args(more);
    command
}

#[test]
fn a_server_in_a_small_container_lives_by_its_defaults_and_not_by_those_of_a_large_machine() {
    let limits = Limits {
        percent: 400,
        ..SMALL
    };
    let Some(group) = Cgroup::new("life in 128MiB", limits) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    for number in 0..6000 {
        // Holes take no disk, and memory once they are read.
        let file = fs::File::create(root.path().join(format!("{number}.bin"))).unwrap();
        file.set_len(32 * 1024).unwrap();
    }
    let mut server = Running::spawn(group.within(&filling(root.path(), &[])));
    server.addr = addr_in(&server.wait_for_line("://"));
    for number in [0, 2999, 5999] {
        let (status, _, content) = server.get(&format!("/{number}.bin"), "");
        assert_eq!((status, content.len()), (200, 32 * 1024));
    }
    stop(server);
    // The system ends one that holds all of it: what the group allows is what there is.
    let large = ["--cache-size", "256MiB"];
    let (status, said) = Running::spawn(group.within(&filling(root.path(), &large))).wait();
    assert_eq!(status.signal(), Some(9), "{status}: {said}");
}
