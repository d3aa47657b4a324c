//! The boundaries within the crates: how long a file may be, which imports form a circle, and which files may
//! do what only they do.

mod code;
mod imports;

use std::fs;
use std::path::{Path, PathBuf};

use code::Code;
use imports::Modules;

/// The lines that a file may have, tests included. Past them it has a second job.
const MOST_LINES: usize = 500;

/// The folders of all crates.
fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(folder).unwrap();
    folders.map(|entry| entry.unwrap().path()).collect()
}

/// The files of Rust beneath a folder, each with its path in it.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(path, text)| (format!("{name}/{path}"), text)));
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

#[test]
fn no_file_is_too_long() {
    let mut seen = 0;
    for krate in crates() {
        for folder in ["src", "tests"].map(|folder| krate.join(folder)) {
            for (path, text) in files(&folder) {
                let lines = text.lines().count();
                let path = folder.join(path);
                assert!(
                    lines <= MOST_LINES,
                    "{}: {lines} lines: find its second job",
                    path.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// Neither an import within `src`, seen as that of one of its files or folders, nor one within any folder
/// beneath leads back to where it came from: see [`imports`]. Code that is compiled for tests alone is left out.
#[test]
fn imports_form_no_circle() {
    for krate in crates() {
        let circle = Modules::read(&krate.join("src")).circle();
        assert_eq!(circle, None, "{}", krate.display());
    }
}

/// Checks that of the files beneath `src` only those say one of `words` that are listed, each for a reason, and
/// that each of these does.
fn only(krate: &str, words: &[&str], listed: &[(&str, &str)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = files(&folder.join(krate).join("src"));
    assert!(!files.is_empty());
    let mut said = Vec::new();
    for (path, text) in files {
        let code = Code::read(&text);
        // A file of tests is part of no program, and what measures ways to send is part of no server.
        let is_apart = path.ends_with("tests.rs") || path.starts_with("strategies/");
        if is_apart || !words.iter().any(|word| code.has(word)) {
            continue;
        }
        assert!(
            listed.iter().any(|(listed, _)| *listed == path),
            "{krate}/src/{path} has one of {words:?}; those that may: {listed:?}"
        );
        said.push(path);
    }
    for (listed, _) in listed {
        assert!(
            said.iter().any(|path| path == listed),
            "{listed} has none of {words:?}"
        );
    }
}

#[test]
fn few_files_send_bytes() {
    let calls = [
        ". poll_write (",
        ". poll_write_vectored (",
        ". write_all (",
        ". write_chunks (",
        "send_file (",
        "send_more (",
    ];
    let may = [
        ("transmit.rs", "answers over HTTP/1.1 and HTTP/2"),
        ("http3/request/sending.rs", "answers over HTTP/3"),
        ("http3/request.rs", "100 (Continue)"),
        ("http3/control_stream.rs", "the control stream of HTTP/3"),
        (
            "single_response.rs",
            "the one answer of a connection that gets no other",
        ),
    ];
    only("salver-server", &calls, &may);
}

#[test]
fn few_files_open_others() {
    let calls = [
        "File :: open",
        "File :: options",
        "File :: create",
        "OpenOptions",
        "fs :: read",
        "fs :: read_dir",
        "fs :: read_link",
        "fs :: read_to_string",
        "fs :: metadata",
        "fs :: symlink_metadata",
        "openat (",
        "openat2 (",
        "SYS_openat2",
        "open_at (",
        "open_resolved (",
    ];
    let codings = "codings that are kept: files of its own, that nobody can ask for";
    only(
        "salver-assets",
        &calls,
        &[
            ("codings/directory.rs", codings),
            ("durable.rs", "how both of these write their files"),
            (
                "source/previous/content.rs",
                "files that a tree had: files of its own, found by their digest",
            ),
        ],
    );
    only(
        "salver-os",
        &calls,
        &[
            ("beneath.rs", "from a path to a file"),
            ("file_calls.rs", "the call by which it does that"),
            ("file_calls/linux.rs", "the call that confines by itself"),
            ("windows/beneath.rs", "the same on Windows"),
            (
                "metadata/windows.rs",
                "what a path names, to ask for its metadata",
            ),
            (
                "resource_limits.rs",
                "limits of this process, beneath /proc and /sys",
            ),
            ("unix_socket.rs", "if a socket was left behind"),
        ],
    );
    let may = [
        ("admission.rs", "a descriptor in reserve"),
        ("unix_socket.rs", "whether a socket is still its own"),
    ];
    only("salver-server", &calls, &may);
    only(
        "salver-tls",
        &calls,
        &[("pair.rs", "certificates and keys")],
    );
}

#[test]
fn every_crate_obeys_the_lints() {
    for krate in crates() {
        let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap();
        let lints = "[lints]\nworkspace = true\n";
        assert!(manifest.contains(lints), "{}", krate.display());
    }
}
