//! What the documents tell people to type: run where that can be, and else read as the program would.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::common::documents::{Document, all, root};
use crate::common::{PATIENCE, Running, site, stop};
use salver::flags::Cli;

/// The texts of all blocks in a language, in all documents.
fn blocks(language: &str) -> Vec<String> {
    let documents = all();
    let found = documents.iter().flat_map(|one| one.blocks(language));
    found.collect()
}

/// The block in a language that has this in it.
fn block(language: &str, part: &str) -> String {
    let mut all = blocks(language).into_iter();
    all.find(|block| block.contains(part)).expect(part)
}

/// A file at the top of the repository.
fn file(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The words of a command line, but for its comment, and without where its output goes.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" # ").next().unwrap();
    let words = shell_words::split(&line.replace("$(pidof nginx)", "7 8")).unwrap();
    let own = words
        .into_iter()
        .take_while(|word| word != ">" && word != "|");
    own.collect()
}

/// The names in `NAME=value NAME=value`.
fn check_variables(assignments: &str) {
    let flags = salver_config::table().iter().map(|entry| entry.row.flag);
    let known: Vec<_> = flags.map(salver_config::variable).collect();
    for assignment in assignments.split_whitespace() {
        let (name, _) = assignment.split_once('=').unwrap();
        assert!(known.iter().any(|known| known == name), "{assignment}");
    }
}

/// The commands of a program in the blocks of the documents, each in one line.
fn commands(program: &str) -> Vec<String> {
    let begin = format!("{program} ");
    let blocks = blocks("sh").into_iter();
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", " ")).collect();
    let lines = joined.iter().flat_map(|block| block.lines());
    let lines = lines.filter(|line| line.starts_with(&begin));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_documents_is_understood() {
    let commands = commands("salver");
    for line in &commands {
        let words = words(line);
        // The quick start's directory is nobody's here.
        let words = words
            .into_iter()
            .map(|word| word.replace("path/to/site", "."));
        let read = Cli::read(words);
        assert!(read.is_ok(), "{line}: {read:?}");
    }
    assert!(commands.len() >= 30, "{commands:#?}");
}

#[test]
fn targets_and_examples_that_documents_name_are_there() {
    let makefile = file("Makefile");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#']))
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    let named = commands("make");
    for line in &named {
        let words = words(line);
        assert!(targets.contains(&*words[1]), "{line}");
    }
    assert!(named.len() >= 10, "{named:#?}");
    let named = commands("cargo run");
    for line in &named {
        let words = words(line);
        let after = |flag: &str| {
            let at = words.iter().position(|word| word == flag)?;
            words.get(at + 1).cloned()
        };
        let package = after("-p").unwrap();
        let path = match after("--example") {
            Some(example) => format!("crates/{package}/examples/{example}.rs"),
            None => format!("examples/{package}/src/main.rs"),
        };
        assert!(root().join(&path).is_file(), "{line}: there is no {path}");
    }
    assert!(named.len() >= 3, "{named:#?}");
}

#[test]
fn blocks_of_rust_are_compiled() {
    let compiled = file("docs/lib.rs");
    for document in all() {
        // The contract that ARCHITECTURE.md shows is the engine's in short; each crate compiles its own page.
        if document.path == "ARCHITECTURE.md" || document.path.starts_with("crates/") {
            continue;
        }
        if document.text.contains("```rust") {
            let name = document.path.trim_start_matches("docs/");
            assert!(
                compiled.contains(&format!("{name}\")]")),
                "docs/lib.rs leaves out {name}"
            );
        }
    }
    assert!(!Document::read("README.md").blocks("rust").is_empty());
}

#[test]
fn a_link_that_is_switched_by_rename_shows_the_next_release() {
    let recipe = block("sh", "ln -s releases/43");
    let root = site(&[
        ("releases/42/index.html", "the old one"),
        ("releases/43/index.html", "the new one"),
    ]);
    let current = root.path().join("current");
    symlink("releases/42", &current).unwrap();
    let server = Running::start(&current, &["--revalidate", "50ms"]);
    assert_eq!(server.get("/", "").2, b"the old one");
    let mut lines = recipe.lines();
    let switch = lines.find(|line| line.starts_with("ln ")).unwrap();
    let switch = switch.replace("/srv", root.path().to_str().unwrap());
    let status = Command::new("sh").args(["-e", "-c", &switch]).status();
    assert!(status.unwrap().success(), "{switch}");
    let begun = Instant::now();
    while server.get("/", "").2 != b"the new one" {
        assert!(begun.elapsed() < PATIENCE, "the old release stays");
    }
    stop(server);
}

/// What a coded file decodes to.
fn decoded(program: &str, path: &Path) -> Vec<u8> {
    let output = Command::new(program).args(["-d", "-c"]).arg(path).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}: make deps installs it"));
    assert!(output.status.success(), "{path:?}: {output:?}");
    output.stdout
}

#[test]
fn compressing_ahead_can_be_repeated_and_mends_what_is_stale() {
    let recipe = block("sh", "salver compress dist");
    let text = "alpha beta gamma ".repeat(200);
    let names = [
        "index.html",
        "a/app.js",
        "a/b c.css",
        "data.json",
        "x.mjs",
        "logo.svg",
    ];
    let files = names.map(|name| (format!("dist/{name}"), text.clone()));
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let root = site(&files);
    let dist = root.path().join("dist");
    fs::write(dist.join("photo.jpg"), &text).unwrap();
    fs::write(dist.join("small.js"), "1").unwrap();
    let run = || {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &recipe]).current_dir(root.path());
        let program = Path::new(env!("CARGO_BIN_EXE_salver")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        shell.env("PATH", format!("{}:{path}", program.display()));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && said.is_empty(),
            "{said}: make deps installs brotli"
        );
    };
    run();
    // Another release: each has changed, its siblings have not.
    let changed = text.replace("beta", "BETA");
    for name in names {
        fs::write(dist.join(name), &changed).unwrap();
    }
    run();
    for name in names {
        for (program, suffix) in [("brotli", "br"), ("gzip", "gz"), ("zstd", "zst")] {
            let sibling = dist.join(format!("{name}.{suffix}"));
            assert_eq!(
                decoded(program, &sibling),
                changed.as_bytes(),
                "{sibling:?}"
            );
        }
    }
    let all = |directory: &Path| fs::read_dir(directory).unwrap().count();
    assert_eq!(
        all(&dist),
        4 * 4 + 3,
        "no picture, and nothing of what was coded"
    );
    let server = Running::start(&dist, &[]);
    for (coding, target) in [("br", "/"), ("gzip", "/a/b%20c.css")] {
        let (status, head, _) = server.get(target, &format!("Accept-Encoding: {coding}\r\n"));
        let field = format!("content-encoding: {coding}\r\n");
        assert_eq!(status, 200);
        assert!(head.to_ascii_lowercase().contains(&field), "{head}");
    }
    stop(server);
}

#[test]
fn units_name_flags_and_variables_that_there_are() {
    let units = blocks("ini");
    assert_eq!(units.len(), 2, "the unit, and what HTTPS adds to it");
    for line in units.iter().flat_map(|unit| unit.lines()) {
        if let Some(assignments) = line.strip_prefix("Environment=") {
            check_variables(assignments);
        }
        if let Some(start) = line.strip_prefix("ExecStart=") {
            let read = Cli::read(words(start));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }
    let secure = &units[1];
    for part in ["CAP_NET_BIND_SERVICE", "LoadCredential=", "SALVER_PORT=443"] {
        assert!(secure.contains(part), "{part}");
    }
    // What is loaded is what is named.
    for file in ["fullchain.pem", "privkey.pem"] {
        assert!(
            secure.contains(&format!("LoadCredential={file}:/")),
            "{file}"
        );
        assert!(secure.contains(&format!("=%d/{file}")), "{file}");
    }
}

#[test]
fn the_container_starts_the_server_and_takes_nothing_that_was_built() {
    let dockerfile = file("Dockerfile");
    let line = |begin: &str| {
        let mut lines = dockerfile.lines();
        lines
            .find_map(|line| line.strip_prefix(begin))
            .expect(begin)
    };
    check_variables(line("ENV "));
    let entry: Vec<String> = serde_json::from_str(line("ENTRYPOINT ")).unwrap();
    let flags = ["--spa".to_owned()];
    let read = Cli::read(entry.into_iter().chain(flags));
    assert!(read.is_ok(), "{read:?}");
    // The image is the same as the one that is made without Docker.
    let settings = |text: &str| {
        let begins = ["FROM scratch", "COPY"];
        let of_image = text.lines().skip_while(|line| *line != "FROM scratch");
        let others = of_image.filter(|line| !begins.iter().any(|begin| line.starts_with(begin)));
        others.map(str::to_owned).collect::<Vec<_>>()
    };
    let packed = settings(&file("packaging/oci/Containerfile"));
    assert_eq!(settings(&dockerfile), packed);
    assert!(packed.iter().any(|line| line.starts_with("HEALTHCHECK ")));
    assert!(dockerfile.contains("packaging/binary.sh"), "{dockerfile}");
    let ignored = file(".dockerignore");
    let ignored: Vec<&str> = ignored.lines().collect();
    for name in [".git", "**/target", "**/node_modules"] {
        assert!(ignored.contains(&name), "{name}");
    }
    // Of the server's build nothing is left out.
    for needed in [
        "crates",
        "Cargo.toml",
        "Cargo.lock",
        "docs",
        "examples",
        "packaging",
        "scripts",
    ] {
        assert!(!ignored.contains(&needed), "{needed}");
    }
}
