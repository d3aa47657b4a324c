//! Tells the crate for which target it is built and from which commit, as far as that is known:
//! `SALVER_TARGET`, and `SALVER_COMMIT` unless it is set already.
#![allow(
    clippy::print_stdout,
    reason = "it is how a build script speaks to cargo"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SALVER_COMMIT");
    if let Ok(target) = env::var("TARGET") {
        println!("cargo::rustc-env=SALVER_TARGET={target}");
    }
    if env::var_os("SALVER_COMMIT").is_some() {
        return;
    }
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if let Some(commit) = here.and_then(|here| of_package(&here).or_else(|| of_repository(&here))) {
        println!("cargo::rustc-env=SALVER_COMMIT={commit}");
    }
}

/// A commit's name, or nothing.
fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let is_name =
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| text.to_owned())
}

/// Reads a file, and has this script run again when it changes.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}

/// What `cargo package` has put into the package.
fn of_package(here: &Path) -> Option<String> {
    let information = read(&here.join(".cargo_vcs_info.json"))?;
    let (_, rest) = information.split_once("\"sha1\"")?;
    name(rest.split('"').nth(1)?)
}

/// What is checked out in the repository that has this crate at this place; never in another that
/// happens to lie around it. Git itself need not be there.
fn of_repository(here: &Path) -> Option<String> {
    let dot_git = here.parent()?.parent()?.join(".git");
    // In a worktree it is a file that names the place.
    let own = match fs::read_to_string(&dot_git) {
        Ok(text) => dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => dot_git,
    };
    let head = read(&own.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref:").map(str::trim) else {
        return name(&head);
    };
    // Worktrees share the branches of the repository that they belong to.
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(text) => own.join(text.trim()),
        Err(_) => own,
    };
    if let Some(loose) = read(&common.join(reference)) {
        return name(&loose);
    }
    let packed = read(&common.join("packed-refs"))?;
    let line = packed.lines().find_map(|line| {
        let (commit, named) = line.split_once(' ')?;
        (named == reference).then_some(commit)
    });
    name(line?)
}
