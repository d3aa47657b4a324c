//! Deploys that are killed at each system call by which they change something, and the order of those that makes it safe.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use salver_test::cannot_be_shown;

use super::Deployment;

/// The calls that change a disk, and those that open files for it.
const CALLS: &str = "openat,write,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,fsync,fdatasync,ftruncate,fchmod,flock";

/// Runs a deploy under strace with these options.
fn traced(site: &Deployment, options: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options);
    command.arg(env!("CARGO_BIN_EXE_salver"));
    command.args(site.words()).output()
}

/// True if strace can be had; says so if not.
fn can_trace(site: &Deployment, log: &Path) -> bool {
    let log = log.to_str().unwrap();
    let ran = traced(site, &["-o", log, "-e", "trace=fsync"]);
    let can = ran.is_ok_and(|output| output.status.success());
    if !can {
        cannot_be_shown(
            "deploys that are killed",
            "this takes strace: apt-get install strace",
        );
    }
    can
}

#[test]
fn killed_at_any_call_the_old_or_the_new_release_is_current_and_whole() {
    let site = Deployment::new(&[("index.html", "0"), ("same.txt", "same")]);
    let log = site.temp.path().join("log");
    if !can_trace(&site, &log) {
        return;
    }
    let (mut old_stayed, mut new_came) = (0, 0);
    for call in 1.. {
        let old = site.current();
        for name in ["index.html", "app.js", "deep/er/page.html"] {
            site.put(name, format!("{name} {call}"));
        }
        let inject = format!("inject={CALLS}:signal=SIGKILL:when={call}");
        let log = log.to_str().unwrap();
        let trace = format!("trace={CALLS}");
        let output = traced(&site, &["-o", log, "-e", &trace, "-e", &inject]).unwrap();
        let current = site.current();
        site.assert_sound();
        if output.status.success() {
            assert_ne!(current, old);
            break;
        }
        match current == old {
            true => old_stayed += 1,
            // It was killed after the switch: it is all of the new one.
            false => {
                new_came += 1;
                assert_eq!(site.deploy()["unchanged"], true, "call {call}");
            }
        }
        let next = site.deploy();
        assert_eq!(
            site.current().as_deref(),
            next["release"].as_str(),
            "call {call}"
        );
        let left = fs::read_dir(site.store().join("new")).unwrap().count();
        assert_eq!(left, 0, "call {call}");
        if call % 20 == 0 {
            let (code, _, said) = site.command(&["prune", "--keep", "1", "--for", "0s"], &[]);
            assert_eq!(code, 0, "{said}");
        }
    }
    println!(
        "killed at {} calls: the old release {old_stayed} times, the new one {new_came} times",
        old_stayed + new_came
    );
    assert!(
        old_stayed > 30 && new_came > 0,
        "{old_stayed} and {new_came}"
    );
    site.assert_sound();
}

#[test]
fn the_first_deploy_killed_at_any_call_can_be_done_again() {
    let kept = Deployment::new(&[("index.html", "0")]);
    if !can_trace(&kept, &kept.temp.path().join("log")) {
        return;
    }
    let mut killed = 0;
    for call in (1..).step_by(3) {
        let site = Deployment::new(&[("index.html", "one"), ("a/b.txt", "two")]);
        let log = site.temp.path().join("log");
        let inject = format!("inject={CALLS}:signal=SIGKILL:when={call}");
        let trace = format!("trace={CALLS}");
        let options = ["-o", log.to_str().unwrap(), "-e", &trace, "-e", &inject];
        let output = traced(&site, &options).unwrap();
        if output.status.success() {
            break;
        }
        killed += 1;
        let deployed = site.deploy();
        assert_eq!(
            site.current().as_deref(),
            deployed["release"].as_str(),
            "call {call}"
        );
        site.assert_sound();
    }
    assert!(killed > 10, "{killed}");
}

/// A call of the log: its name, and the paths in it.
#[derive(Debug)]
struct Call {
    name: String,
    paths: Vec<String>,
}

/// The calls of a log that went well. Descriptors are written with their paths.
fn calls(log: &str) -> Vec<Call> {
    let done = log
        .lines()
        .filter(|line| line.contains(" = 0") || line.contains("write("));
    done.filter_map(|line| {
        // The number of the process comes first.
        let line = line.split_once(' ')?.1.trim_start();
        let (name, rest) = line.split_once('(')?;
        let mut paths = Vec::new();
        let mut rest = rest;
        while let Some(start) = rest.find(['<', '"']) {
            let end = if rest[start..].starts_with('<') {
                '>'
            } else {
                '"'
            };
            let Some(length) = rest[start + 1..].find(end) else {
                break;
            };
            paths.push(rest[start + 1..start + 1 + length].to_owned());
            rest = &rest[start + 2 + length..];
        }
        let name = name.to_owned();
        Some(Call { name, paths })
    })
    .collect()
}

#[test]
fn everything_is_synced_before_what_names_it() {
    let site = Deployment::new(&[("index.html", "0"), ("same.txt", "same")]);
    let log = site.temp.path().join("log");
    if !can_trace(&site, &log) {
        return;
    }
    site.put("index.html", "1");
    site.put("app.js", "2");
    let trace = "trace=write,rename,renameat,renameat2,fsync,fdatasync";
    let output = traced(&site, &["-y", "-o", log.to_str().unwrap(), "-e", trace]).unwrap();
    assert!(output.status.success());
    let text = fs::read_to_string(&log).unwrap();
    let calls = calls(&text);
    let store = site.store().canonicalize().unwrap();
    let path = |name: &str| store.join(name).to_str().unwrap().to_owned();
    let place = |what: &str, found: &dyn Fn(&Call) -> bool| {
        let place = calls.iter().position(found);
        place.unwrap_or_else(|| panic!("{what} is not there:\n{text}"))
    };
    let synced = |of: &str| {
        let is_it = |call: &Call| call.name == "fsync" && call.paths == [of];
        calls
            .iter()
            .enumerate()
            .filter(|(_, call)| is_it(call))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let renames: Vec<(usize, &str, &str)> = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| call.name.starts_with("rename"))
        .map(|(at, call)| match &*call.paths {
            [from, to] => (at, &**from, &**to),
            [_, from, _, to] => (at, &**from, &**to),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        renames.len(),
        4,
        "two blobs, a manifest and the switch:\n{text}"
    );
    let (manifest, switch) = (renames[2], renames[3]);
    assert!(
        manifest.2.contains("/manifests/") && switch.2.ends_with("/current"),
        "{text}"
    );
    for (at, from, to) in &renames {
        assert!(
            synced(from).iter().any(|synced| synced < at),
            "{from} to {to} before it is synced:\n{text}"
        );
        let directory = Path::new(to).parent().unwrap().to_str().unwrap();
        let after = synced(directory).into_iter().find(|synced| synced > at);
        let after = after.unwrap_or_else(|| panic!("the name {to} is not synced:\n{text}"));
        let before = match *to {
            to if to == manifest.2 => switch.0,
            to if to == switch.2 => usize::MAX,
            _ => manifest.0,
        };
        assert!(after < before, "the name {to} is synced too late:\n{text}");
    }
    let journal = path("journal");
    let noted = place("the line of the journal", &|call| {
        call.name == "write" && call.paths.first() == Some(&journal)
    });
    let kept = synced(&journal).into_iter().find(|synced| *synced > noted);
    assert!(kept.is_some_and(|kept| kept < manifest.0), "{text}");
}
