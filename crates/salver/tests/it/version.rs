//! What `salver --version --verbose` tells, and where the build has it from.

#[path = "../../build/lock_file.rs"]
mod lock_file;

use std::fs;

use crate::common::documents::root;
use crate::common::{check_one_line, run};

/// The line of the verbose version that begins so.
fn line(begin: &str) -> String {
    let (code, out, said) = run(&["--version", "--verbose"]);
    assert_eq!((code, &*said), (0, ""));
    let mut lines = out.lines();
    let found = lines.find_map(|line| line.strip_prefix(begin));
    found.unwrap_or_else(|| panic!("{begin}: {out}")).to_owned()
}

#[test]
fn the_version_is_one_line_and_its_facts_are_more() {
    let short = format!("salver {}\n", env!("CARGO_PKG_VERSION"));
    for word in ["--version", "-V"] {
        assert_eq!(run(&[word]), (0, short.clone(), String::new()));
        let (_, long, _) = run(&[word, "--verbose"]);
        assert!(long.starts_with(&short), "{long}");
        assert_eq!(run(&["--verbose", word]).1, long);
    }
    check_one_line(&["--verbose"], 2, &["salver --version --verbose"]);
    check_one_line(&["--verbose", "."], 2, &["salver --version --verbose"]);
}

#[test]
fn the_facts_are_those_of_the_build() {
    let target = line("target: ");
    assert!(target.starts_with(std::env::consts::ARCH), "{target}");
    assert!(line("compiler: ").starts_with("rustc 1."));
    // Of a clone it is the whole name; who builds from an archive may have none.
    let commit = line("commit: ");
    assert!(commit == "unknown" || commit.len() >= 40, "{commit}");
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    assert_eq!(line("profile: "), profile);
    let features = line("features: ");
    let mut features = features.split(", ");
    assert_eq!(
        features.any(|name| name == "http3"),
        cfg!(feature = "http3")
    );
}

#[test]
fn the_libraries_are_those_of_the_lock_file() {
    let lock_file = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let libraries = line("libraries of Cargo.lock: ");
    let libraries: Vec<&str> = libraries.split(", ").collect();
    assert!(libraries.len() >= 10, "{libraries:?}");
    for name in ["tokio", "rustls", "aws-lc-rs", "quinn"] {
        assert!(
            libraries
                .iter()
                .any(|one| one.starts_with(&format!("{name} "))),
            "{name}"
        );
    }
    for library in libraries {
        let (name, version) = library.split_once(' ').unwrap();
        let entry = format!("[[package]]\nname = {name:?}\nversion = {version:?}\n");
        assert!(lock_file.contains(&entry), "{library}");
    }
}

#[test]
fn versions_of_a_lock_file_are_found_by_the_whole_name() {
    let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n\
                [[package]]\nname = \"a\"\nversion = \"2.0.0+b\"\ndependencies = [\n \"ab\",\n]\n\n\
                [[package]]\nname = \"ab\"\nversion = \"3.0.0\"\n";
    assert_eq!(lock_file::versions(text, "a"), ["1.0.0", "2.0.0+b"]);
    assert_eq!(lock_file::versions(text, "ab"), ["3.0.0"]);
    assert!(lock_file::versions(text, "b").is_empty());
    assert!(lock_file::versions("", "a").is_empty());
}
