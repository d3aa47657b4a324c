//! What the README tells people to type: run where that can be, and else read as the program would.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Running, site, stop};
use salver::flags::{Cli, command};
use salver::variables::{self, Variables};

const README: &str = include_str!("../../../../README.md");
const DOCKERFILE: &str = include_str!("../../../../Dockerfile");
const IGNORED: &str = include_str!("../../../../.dockerignore");

/// The text of all blocks in a language.
fn blocks(language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let parts = README.split(&begin).skip(1);
    let text = |part: &str| part.split("```").next().unwrap().to_owned();
    parts.map(text).collect()
}

/// The block in a language that has this in it.
fn block(language: &str, part: &str) -> String {
    let mut all = blocks(language).into_iter();
    all.find(|block| block.contains(part)).expect(part)
}

/// The words of a command line, but for its redirections and comments.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" # ").next().unwrap();
    shell_words::split(&line.replace("$(pidof nginx)", "7 8")).unwrap()
}

/// The names in `NAME=value NAME=value`.
fn check_variables(assignments: &str) {
    let command = command();
    let serve = command.find_subcommand("serve").unwrap();
    let known: Vec<_> = serve.get_arguments().filter_map(variables::name).collect();
    for assignment in assignments.split_whitespace() {
        let (name, _) = assignment.split_once('=').unwrap();
        assert!(known.iter().any(|known| known == name), "{assignment}");
    }
}

#[test]
fn every_command_of_the_readme_is_understood() {
    let mut count = 0;
    for block in blocks("sh") {
        let joined = block.replace("\\\n", " ");
        for line in joined.lines().filter(|line| line.starts_with("salver ")) {
            let words = words(line);
            // The quick start's directory is nobody's here.
            let words = words
                .into_iter()
                .map(|word| word.replace("path/to/site", "."));
            let read = Cli::read(words, &Variables::default());
            assert!(read.is_ok(), "{line}: {read:?}");
            count += 1;
        }
    }
    assert!(count >= 12, "{count} commands");
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
    let recipe = block("sh", "brotli");
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
        for (program, suffix) in [("brotli", "br"), ("gzip", "gz")] {
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
        4 * 3 + 3,
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
            let read = Cli::read(words(start), &Variables::default());
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
    let line = |begin: &str| {
        let mut lines = DOCKERFILE.lines();
        lines
            .find_map(|line| line.strip_prefix(begin))
            .expect(begin)
    };
    check_variables(line("ENV "));
    let entry: Vec<String> = serde_json::from_str(line("ENTRYPOINT ")).unwrap();
    let flags = ["--spa".to_owned()];
    let read = Cli::read(entry.into_iter().chain(flags), &Variables::default());
    assert!(read.is_ok(), "{read:?}");
    let ignored: Vec<&str> = IGNORED.lines().collect();
    for name in [".git", "**/target", "**/node_modules"] {
        assert!(ignored.contains(&name), "{name}");
    }
    // Of the server's build nothing is left out.
    for needed in ["crates", "Cargo.toml", "Cargo.lock", "docs", "examples"] {
        assert!(!ignored.contains(&needed), "{needed}");
    }
}
