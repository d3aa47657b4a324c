//! A configuration file as a person uses it: served, checked, printed; and what is written from the same table.

use std::path::Path;

use crate::common::{Running, addr_in, run, salver, site, stop};

/// A folder with `salver.toml`, a root with a page, and what else is given.
fn folder(configuration: &str, more: &[(&str, &str)]) -> tempfile::TempDir {
    let files = [("salver.toml", configuration), ("dist/index.html", "page")];
    site(&[&files[..], more].concat())
}

/// What `salver check` answers for the file of a folder: exit code, standard output, standard error.
fn check(folder: &Path, more: &[&str]) -> (i32, String, String) {
    let path = folder.join("salver.toml");
    run(&[&["check", "-c", path.to_str().unwrap()], more].concat())
}

#[test]
fn a_file_says_what_is_served_and_flags_win() {
    let text = "root = 'dist'\nspa = true\nprecompressed = 'none'\n\
                [[mount]]\nprefix = '/more'\npath = 'other'\n";
    let folder = folder(text, &[("other/a.txt", "a")]);
    let server = Running::by_file(folder.path(), &[]);
    // The root is beside the file, whatever the current directory is.
    assert_eq!(server.get("/", "").2, b"page");
    assert_eq!(server.get("/any/where", "").0, 200);
    assert_eq!(server.get("/more/a.txt", "").2, b"a");
    stop(server);
    let server = Running::by_file(folder.path(), &["--spa=false"]);
    assert_eq!(server.get("/any/where", "").0, 404);
    stop(server);
}

#[test]
fn the_environment_names_a_file_and_is_put_into_it() {
    let folder = folder(
        "[[site]]\nroot = '${SALVER_TEST_ROOT}'\nspa = '${NONE:true}'\n",
        &[],
    );
    let mut command = salver();
    command.args(["serve", "--port", "0"]);
    command.env("SALVER_CONFIG", folder.path().join("salver.toml"));
    command.env("SALVER_TEST_ROOT", "dist");
    let mut server = Running::spawn(command);
    server.addr = addr_in(&server.wait_for_line("://"));
    assert_eq!(server.get("/any/where", "").2, b"page");
    stop(server);
}

#[test]
fn the_url_of_a_bucket_is_no_path_beside_the_file() {
    for text in [
        "root = 's3://bucket/site'\n[[mount]]\nprefix = '/more'\npath = 's3://other/x'\n",
        "store = 's3://bucket/site'\n",
    ] {
        let folder = folder(text, &[]);
        let (code, _, said) = check(folder.path(), &[]);
        if cfg!(feature = "object-store") {
            assert_eq!(code, 0, "{said}");
            continue;
        }
        assert_eq!(code, 2, "{said}");
        for part in ["\"s3://bucket/site\"", "--features object-store"] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[test]
fn a_file_that_nobody_named_is_not_read() {
    let folder = folder("prot = 1", &[]);
    let output = salver()
        .arg("check")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("nothing is wrong: 1 site\n"), "{said}");
}

#[test]
fn every_fault_is_said_with_its_line_and_misuse_is_2() {
    let expect = |text: &str, more: &[&str], lines: &[&str]| {
        let folder = folder(text, &[]);
        let (code, out, said) = check(folder.path(), more);
        assert_eq!((code, &*out), (2, ""), "{said}");
        let found: Vec<_> = said
            .lines()
            .filter(|line| !line.starts_with("note: "))
            .collect();
        assert_eq!(found.len(), lines.len(), "{said}");
        for (found, part) in found.iter().zip(lines) {
            assert!(
                found.starts_with("salver: ") && found.contains(part),
                "{part}: {said}"
            );
        }
    };
    expect(
        "root = 'dist'\nprot = 80",
        &[],
        &["salver.toml:2: prot is not known: is port meant?"],
    );
    expect(
        "root = 'dist'\nprot = 80\n[limits]\ndrain = '1s'\nsend-timeout = '5'",
        &[],
        &[
            "salver.toml:2: prot",
            "salver.toml:4: limits.drain is not known: is drain meant?",
            "salver.toml:5: limits.send-timeout = 5: time unit needed",
            "3 faults",
        ],
    );
    expect("root = 'nowhere'", &[], &["nowhere\" does not exist"]);
    expect("root = 'dist'", &["--port", "80,80"], &["are one port"]);
    expect(
        "[[site]]\nroot = 'dist'\nhosts = ['a.test']\n[[site]]\nroot = 'gone'\n\
         [[site.mount]]\nprefix = 'x'\npath = 'y'\n",
        &[],
        &["salver.toml:6: mount = "],
    );
    // Each site is looked at.
    expect(
        "[[site]]\nroot = 'dist'\nhosts = ['a.test']\n[[site]]\nroot = 'gone'\n",
        &[],
        &["gone\" does not exist"],
    );
    expect(
        "root = 'dist'\n[tls]\ncertificate = 'no.pem'\nkey = 'no.key'\n",
        &[],
        &["no.pem"],
    );
    expect(
        "root = 'dist'\n[tls]\nkey = 'no.key'\n",
        &[],
        &["salver.toml:3): give each certificate its key"],
    );
    expect("root =", &[], &["salver.toml:1: not TOML: "]);
    let (code, _, said) = run(&["check", "-c", "/nowhere/at/all.toml"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("does not exist") && said.lines().count() == 1,
        "{said}"
    );
    // Serving says the first and how to hear of the rest.
    let folder = folder("prot = 80\ntrop = 80", &[]);
    let path = folder.path().join("salver.toml");
    let (code, _, said) = run(&["serve", "-c", path.to_str().unwrap()]);
    assert_eq!((code, said.lines().count()), (2, 1), "{said}");
    assert!(
        said.contains("salver.toml:1: prot") && said.contains("and 1 more: `salver check`"),
        "{said}"
    );
}

#[test]
fn certificates_and_keys_are_looked_at() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let text = "root = 'dist'\ntls = { certificate = 'cert.pem', key = 'key.pem' }\n";
    let right = folder(text, &[("cert.pem", &cert), ("key.pem", &key)]);
    let (code, _, said) = check(right.path(), &[]);
    assert_eq!(code, 0, "{said}");
    let wrong = folder(text, &[("cert.pem", &cert), ("key.pem", "no key")]);
    let (code, _, said) = check(wrong.path(), &[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("key.pem"), "{said}");
}

#[test]
fn what_is_printed_says_where_each_value_is_from_and_means_the_same() {
    let folder = folder("root = 'dist'\ndrain = '7s'\n", &[]);
    let path = folder.path().join("salver.toml");
    let output = salver()
        .args(["check", "--print", "--workers", "3", "-c"])
        .arg(&path)
        .env("SALVER_INDEX", "a.html,b.html")
        .env("SALVER_DRIAN", "1s")
        .output()
        .unwrap();
    let (out, said) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "workers = 3 # --workers\n".to_owned(),
        "index = [\"a.html\", \"b.html\"] # SALVER_INDEX\n".to_owned(),
        format!("drain = \"7s\" # {}:2\n", path.display()),
        "port = [8080] # default\n".to_owned(),
        format!("root = \"{}\"", folder.path().join("dist").display()),
    ] {
        assert!(out.contains(&part), "{part}: {out}");
    }
    assert!(said.contains("is SALVER_DRAIN meant?"), "{said}");
    let again = self::folder(&out, &[]);
    let (code, printed, said) = check(again.path(), &["--print"]);
    assert_eq!(code, 0, "{said}");
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split(" # ").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(plain(&printed), plain(&out));
}

#[test]
fn the_manual_and_completions_are_printed() {
    let begins = |arguments: &[&str], begin: &str, parts: &[&str]| {
        let (code, out, said) = run(arguments);
        assert_eq!((code, &*said), (0, ""), "{arguments:?}");
        assert!(out.starts_with(begin), "{arguments:?}: {out}");
        for part in parts {
            assert!(out.contains(part), "{arguments:?}: {part}");
        }
    };
    let page = [
        "limits.send\\-timeout",
        "\\-\\-send\\-timeout",
        "SALVER_",
        ".SH NAME",
    ];
    begins(&["man"], "", &page);
    begins(
        &["man", "bench", "load"],
        "",
        &["salver\\-bench\\-load", "\\-\\-rate"],
    );
    begins(
        &["completions", "bash"],
        "_salver()",
        &["--send-timeout", "complete "],
    );
    begins(
        &["completions", "zsh"],
        "#compdef salver",
        &["--send-timeout"],
    );
    begins(
        &["completions", "fish"],
        "",
        &["send-timeout", "complete -c salver"],
    );
    let (code, _, said) = run(&["man", "nothing"]);
    assert_eq!((code, said.lines().count()), (2, 1), "{said}");
    let (code, _, said) = run(&["completions", "tcsh"]);
    assert_eq!((code, said.lines().count()), (2, 1), "{said}");
}
