//! Files that are right and files that are wrong. `scripts/settings.sh` has another validator judge the same ones by the
//! schema.

use std::fs;
use std::path::Path;

use crate::common::{DIRECTORY, environment, file, resolve};

const VARIABLES: [(&str, &str); 2] = [("PORT", "8080"), ("ROOT", "/srv")];

/// The samples of a folder, by name.
fn samples(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(folder);
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Lines without what stands behind `#`.
fn without_comments(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| line.split(" #").next().unwrap().to_owned());
    lines.filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn what_is_right_is_taken_and_printed_as_what_it_is() {
    let all = samples("right");
    assert!(all.len() >= 4);
    for (name, text) in all {
        let found =
            resolve(&[], &VARIABLES, Some(&text)).unwrap_or_else(|said| panic!("{name}: {said}"));
        let printed = found.print(Path::new(DIRECTORY));
        let again = resolve(&[], &[], Some(&printed))
            .unwrap_or_else(|said| panic!("{name}: {said}\n{printed}"));
        assert_eq!(
            without_comments(&again.print(Path::new(DIRECTORY))),
            without_comments(&printed),
            "{name}"
        );
        assert_eq!(
            format!("{:?}", again.server),
            format!("{:?}", found.server),
            "{name}"
        );
        assert_eq!(again.sites.len(), found.sites.len(), "{name}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_was_expected() {
    let all = samples("wrong");
    assert!(all.len() >= 25);
    for (name, text) in all {
        let expected = text.lines().next().unwrap().strip_prefix("# ").unwrap();
        let said = resolve(&[], &VARIABLES, Some(&text)).unwrap_err();
        assert!(
            said.starts_with(&format!("salver.toml{expected}")),
            "{name}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{name}: {said}");
    }
}

/// A path within a directory as it is printed, with the platform's separator.
fn quoted(directory: &str, path: &str) -> String {
    format!("{:?}", Path::new(directory).join(path))
}

#[test]
fn each_value_is_printed_with_its_origin() {
    let text = "root = 'dist'\nworkers = 3\n[[mount]]\nprefix = '/a'\npath = 'b'\ncache = false\n\
                [[rule]]\npath = '/x'\nauth = { users = { me = 'hash' } }\n";
    let words = ["--port", "81,82", "--no-http3"];
    let printed = resolve(&words, &[("SALVER_SPA", "true")], Some(text))
        .unwrap()
        .print(Path::new(DIRECTORY));
    let root = quoted(DIRECTORY, "dist");
    for line in [
        "port = [81, 82] # --port",
        "http3 = false # --no-http3",
        "http1 = true # default",
        "spa = true # SALVER_SPA",
        "workers = 3 # salver.toml:2",
        &format!("root = {root} # salver.toml:1"),
        "# max-file: 32KiB, or 1MiB with TLS or a bucket, where the kernel cannot send from files",
        "send-timeout = \"30s\" # default",
        "[[mount]] # salver.toml:3",
        "cache = false",
        "[[rule]] # salver.toml:7",
        "auth = { users = \"(not shown)\" }",
    ] {
        assert!(
            printed.lines().any(|found| found == line),
            "{line}: {printed}"
        );
    }
}

#[test]
fn paths_are_printed_so_that_they_lead_there_from_anywhere() {
    let words = ["a", "--mount", "/b=c,/d=/e", "--tls-cert=f"];
    let variables = [("SALVER_TLS_KEY", "g")];
    let printed = resolve(&words, &variables, None)
        .unwrap()
        .print(Path::new("/here"));
    let here = |path| quoted("/here", path);
    for line in [
        format!("root = {} # PATH", here("a")),
        format!("path = {}", here("c")),
        "path = \"/e\"".to_owned(),
        format!("certificate = [{}] # --tls-cert", here("f")),
        format!("key = [{}] # SALVER_TLS_KEY", here("g")),
    ] {
        assert!(
            printed.lines().any(|found| found == line),
            "{line}: {printed}"
        );
    }
    let printed = resolve(&[], &[], None).unwrap().print(Path::new("/here"));
    assert!(
        printed.contains("root = \"/here\" # default\n"),
        "{printed}"
    );
}

#[test]
fn a_mark_at_the_beginning_is_no_fault() {
    let found = resolve(&[], &[], Some("\u{feff}port = 81")).unwrap();
    assert_eq!(found.server.port[..], [81]);
}

proptest::proptest! {
    #[test]
    fn no_file_is_too_much(text in "(\\[{0,2}(site|cache|limits|x)\\]{0,2}\n|(root|port|size|mount|hosts|spa|a\\.b) = ('x'|1|true|\\[\\]|\\{\\}|\\[1, 'x'\\])\n){0,8}") {
        let environment = environment(&[]);
        if let Ok(file) = file(&text, &environment) {
            let layers = salver_config::Layers {
                typed: &salver_config::Typed::default(),
                environment: &environment,
                file: Some(&file),
                machine: salver_config::Machine::default(),
            };
            match salver_config::Configuration::resolve(&layers) {
                // What is right can be printed and read again.
                Ok(found) => {
                    let printed = found.print(Path::new(DIRECTORY));
                    proptest::prop_assert!(resolve(&[], &[], Some(&printed)).is_ok(), "{}", printed);
                }
                Err(faults) => proptest::prop_assert!(!faults.is_empty()),
            }
        }
    }
}
