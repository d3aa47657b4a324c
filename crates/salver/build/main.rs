//! The facts of this build, as `salver --version --verbose` tells them.
//!
//! It needs nothing but the files that it finds: a clone, a packed crate and a folder without any history build alike.
//! Commit and target are found by the build script of salver-bench, whose results have them, too.
#![allow(clippy::print_stdout, reason = "cargo reads it")]

mod lock_file;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries whose versions matter to who reads of a fault in one of them.
const LIBRARIES: [&str; 12] = [
    "aws-lc-rs",
    "aws-lc-sys",
    "brotli-decompressor",
    "clap",
    "landlock",
    "mimalloc",
    "quinn",
    "rustls",
    "tokio",
    "zlib-rs",
    "zstd",
    "zstd-sys",
];

fn main() {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    say("SALVER_PROFILE", &variable("PROFILE"));
    say("SALVER_TARGET", &variable("TARGET"));
    say("SALVER_COMPILER", &compiler());
    say("SALVER_FEATURES", &features());
    say("SALVER_LIBRARIES", &libraries(&package));
    println!("cargo::rerun-if-changed=build");
}

/// Gives the program a constant.
fn say(name: &str, value: &str) {
    println!("cargo::rustc-env={name}={value}");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn compiler() -> String {
    let asked = Command::new(variable("RUSTC")).arg("--version").output();
    let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.unwrap_or_default()
}

/// The features that are on, but for the one that only brings others.
fn features() -> String {
    let all = variable("CARGO_CFG_FEATURE");
    let names = all
        .split(',')
        .filter(|name| !matches!(*name, "" | "default"));
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// The main libraries with their versions, of the lock file of the workspace, or of the packed crate.
fn libraries(package: &Path) -> String {
    let beside = package.join("Cargo.lock");
    let above = package.join("../../Cargo.lock");
    let Some((path, text)) = [beside, above]
        .into_iter()
        .find_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?)))
    else {
        return "not known, as there is no Cargo.lock".to_owned();
    };
    println!("cargo::rerun-if-changed={}", path.display());
    let known = LIBRARIES.map(|name| (name, lock_file::versions(&text, name).join(" and ")));
    let found = known.iter().filter(|(_, versions)| !versions.is_empty());
    let words: Vec<String> = found
        .map(|(name, versions)| format!("{name} {versions}"))
        .collect();
    words.join(", ")
}
