//! The units for systemd, judged by systemd itself.

use std::fs;
use std::process::Command;

use crate::common::documents::root;

/// The most that systemd may find exposed, of 10.
const MOST_EXPOSED: f64 = 2.0;

/// The units, for a program that is there, in a directory of their own.
fn units() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["salver.service", "salver.socket"] {
        let text = fs::read_to_string(root().join("contrib/systemd").join(name)).unwrap();
        assert!(name != "salver.service" || text.contains("/usr/local/bin/salver serve -c"));
        let text = text.replace("/usr/local/bin/salver", "/bin/true");
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn systemd_finds_no_fault_and_little_that_is_exposed() {
    let folder = units();
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        let output = command.args(arguments).current_dir(folder.path()).output();
        output.ok().map(|output| {
            let said = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8(said).unwrap())
        })
    };
    let Some((is_well, said)) = analyze(&["verify", "./salver.service", "./salver.socket"]) else {
        return salver_test::cannot_be_shown("units for systemd", "there is no systemd-analyze");
    };
    assert!(is_well && !said.contains("salver.s"), "{said}");
    let judged = analyze(&[
        "security",
        "--offline=true",
        "--no-pager",
        "./salver.service",
    ]);
    let (_, said) = judged.unwrap();
    let (_, level) = said
        .split_once("exposure level for salver.service: ")
        .unwrap();
    let level: f64 = level.split(' ').next().unwrap().parse().unwrap();
    assert!(level <= MOST_EXPOSED, "{said}");
}
