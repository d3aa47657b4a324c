//! Deploys that are killed at each system call by which they change something, and the order of those that makes it safe.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use salver_test::cannot_be_shown;

use super::Deployment;

/// The calls that change a disk, by their names on whichever architecture this is.
const CALLS: [&str; 12] = [
    "write",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "unlink",
    "unlinkat",
    "fsync",
    "ftruncate",
    "fchmod",
    "flock",
];

/// Runs a deploy that is killed as it enters the call of this name for the time of this number; false if it has come to
/// its end before. strace counts each name by itself.
fn killed(site: &Deployment, (name, number): (&str, usize)) -> bool {
    let log = site.temp.path().join("log");
    // An architecture has one of two that do the same.
    let trace = format!("trace=?{name}");
    let inject = format!("inject=?{name}:signal=SIGKILL:when={number}");
    let options = ["-o", log.to_str().unwrap(), "-e", &trace, "-e", &inject];
    !traced(site, &options).unwrap().status.success()
}

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
    if !can_trace(&site, &site.temp.path().join("log")) {
        return;
    }
    let (mut old_stayed, mut new_came, mut round) = (0, 0, 0);
    for name in CALLS {
        for number in 1.. {
            round += 1;
            let old = site.deploy()["release"].as_str().unwrap().to_owned();
            for name in ["index.html", "app.js", "deep/er/page.html"] {
                site.put(name, format!("{name} {round}"));
            }
            // What the one before has left, if it was killed early.
            fs::write(site.store().join("new/left"), "behind").unwrap();
            let is_killed = killed(&site, (name, number));
            let call = format!("{name} {number}");
            site.assert_sound();
            match (is_killed, site.current().as_ref() == Some(&old)) {
                (true, true) => old_stayed += 1,
                // It was killed after the switch: it is all of the new one.
                (true, false) => {
                    new_came += 1;
                    assert_eq!(site.deploy()["unchanged"], true, "{call}");
                }
                (false, is_old) => {
                    assert!(!is_old, "{call}");
                    break;
                }
            }
            let next = site.deploy();
            assert_eq!(
                site.current().as_deref(),
                next["release"].as_str(),
                "{call}"
            );
            let left = fs::read_dir(site.store().join("new")).unwrap().count();
            assert_eq!(left, 0, "{call}");
        }
    }
    println!(
        "killed at calls: {old_stayed} times the old release stayed, {new_came} times the new one had come"
    );
    assert!(
        old_stayed > 25 && new_came > 0,
        "{old_stayed} and {new_came}"
    );
    let (code, _, said) = site.command(&["prune", "--keep", "1", "--for", "0s"], &[]);
    assert_eq!(code, 0, "{said}");
    site.assert_sound();
}

#[test]
fn the_first_deploy_killed_at_any_call_can_be_done_again() {
    let kept = Deployment::new(&[("index.html", "0")]);
    if !can_trace(&kept, &kept.temp.path().join("log")) {
        return;
    }
    let mut count = 0;
    for name in CALLS {
        for number in 1.. {
            let site = Deployment::new(&[("index.html", "one"), ("a/b.txt", "two")]);
            if !killed(&site, (name, number)) {
                break;
            }
            count += 1;
            let call = format!("{name} {number}");
            let deployed = site.deploy();
            assert_eq!(
                site.current().as_deref(),
                deployed["release"].as_str(),
                "{call}"
            );
            site.assert_sound();
        }
    }
    println!("killed at {count} calls");
    assert!(count > 25, "{count}");
}

#[test]
fn a_prune_killed_at_any_call_takes_nothing_that_is_needed() {
    let site = Deployment::new(&[("index.html", "0")]);
    if !can_trace(&site, &site.temp.path().join("log")) {
        return;
    }
    let mut count = 0;
    for name in CALLS {
        for number in 1.. {
            for version in 0..2 {
                site.put("index.html", format!("{name} {number} {version}"));
                site.deploy();
            }
            let (current, log) = (site.current(), site.temp.path().join("log"));
            let trace = format!("trace=?{name}");
            let inject = format!("inject=?{name}:signal=SIGKILL:when={number}");
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o"]).arg(log);
            command.args([
                "-e",
                &trace,
                "-e",
                &inject,
                env!("CARGO_BIN_EXE_salver"),
                "prune",
            ]);
            command
                .arg(site.store())
                .args(["--keep", "1", "--for", "0s"]);
            let is_killed = !command.output().unwrap().status.success();
            assert_eq!(site.current(), current, "{name} {number}");
            site.assert_sound();
            let (code, _, said) = site.command(&["rollback"], &[]);
            // What it was to remove is there whole, or not at all.
            assert!(code == 0 || said.contains("no release before"), "{said}");
            site.assert_sound();
            if !is_killed {
                break;
            }
            count += 1;
        }
    }
    println!("killed at {count} calls");
    assert!(count > 8, "{count}");
}

/// A call of the log: its name, and the paths in it.
#[derive(Debug)]
struct Call {
    name: String,
    paths: Vec<String>,
}

/// The calls of a log that went well. Descriptors are written with their paths.
fn calls(log: &str) -> Vec<Call> {
    let is_done = |line: &&str| line.contains(" = 0") || line.contains("write(");
    let calls = log.lines().filter(is_done).filter_map(|line| {
        // The number of the process comes first.
        let (_, line) = line.split_once(' ')?;
        let (name, rest) = line.trim_start().split_once('(')?;
        // What stands between such brackets or quotes.
        let parts: Vec<&str> = rest.split(['<', '>', '"']).collect();
        let paths = parts.iter().skip(1).step_by(2);
        Some(Call {
            name: name.to_owned(),
            paths: paths.map(|path| (*path).to_owned()).collect(),
        })
    });
    calls.collect()
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
