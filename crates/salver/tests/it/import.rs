//! `salver import`: what other hosts' files come to, and that the program takes it.

use std::path::Path;

use crate::common::curl::{VERSIONS, curl};
use crate::common::{Running, check_one_line, run, site, stop};

/// Imports a file of a folder into `salver.toml` beside it, and has that checked: what was written, and said.
fn imported(name: &str, content: &str, more: &[(&str, &str)]) -> (String, String) {
    let files = [
        (name, content),
        ("dist/index.html", "page"),
        ("dist/404.html", "none"),
    ];
    let folder = site(&[&files[..], more].concat());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let output = at("salver.toml");
    let (code, out, said) = run(&["import", &at(name), "-o", &output]);
    assert_eq!((code, &*out), (0, ""), "{said}");
    let (code, _, found) = run(&["check", "-c", &output]);
    assert_eq!(
        code,
        0,
        "{found}\n{}",
        std::fs::read_to_string(&output).unwrap()
    );
    (std::fs::read_to_string(&output).unwrap(), said)
}

#[test]
fn what_is_written_can_be_served() {
    let (text, said) = imported(
        "vercel.json",
        r#"{
  "outputDirectory": "dist",
  "cleanUrls": true,
  "redirects": [
    {"source": "/old/:path*", "destination": "/new/:path*?a=${HOME}", "permanent": true}
  ],
  "headers": [{"source": "/(.*)", "headers": [{"key": "X-A", "value": "${HOME} \"1\""}]}],
  "rewrites": [
    {"source": "/api/(.*)", "destination": "https://example.org/$1"}
  ],
  "crons": []
}"#,
        &[],
    );
    let has = |part: &str| assert!(text.contains(part), "{part}: {text}");
    has("# Made of vercel.json by `salver import`");
    has("[[site]]\nroot = \"dist\"\nclean-urls = \"auto\"\n");
    has("# line 5, redirects[0]\n[[site.rule]]\n");
    // Text, not a variable of whoever starts the server.
    has("?a=$${HOME}");
    has("# Not taken:\n# line 9, rewrites[0]: ");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    for (line, part) in lines
        .iter()
        .zip(["line 9, rewrites[0]: ", "line 11, crons: it is not taken"])
    {
        assert!(
            line.starts_with("not taken: ") && line.contains("vercel.json: "),
            "{line}"
        );
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn each_format_is_taken() {
    let check = |name: &str, content: &str, part: &str| {
        let (text, _) = imported(name, content, &[]);
        assert!(text.contains(part), "{name}: {text}");
    };
    check(
        "serve.json",
        r#"{"public": "dist", "redirects": [{"source": "/a", "destination": "/b"}]}"#,
        "redirect = \"/b\"",
    );
    check(
        "firebase.json",
        r#"{"hosting": {"public": "dist", "rewrites": [{"source": "**", "destination": "/index.html"}]}}"#,
        "rewrite = \"/index.html\"",
    );
    check(
        "staticwebapp.config.json",
        r#"{"globalHeaders": {"X-A": "1"}}"#,
        "root = \".\"\nclean-urls = \"auto\"\n",
    );
}

#[test]
fn without_output_it_is_printed_and_the_root_is_found_from_there() {
    let folder = site(&[
        ("serve.json", r#"{"public": "dist"}"#),
        ("dist/index.html", "page"),
    ]);
    let file = folder.path().join("serve.json");
    let (code, out, said) = run(&["import", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let root = folder.path().join("dist");
    assert!(
        out.contains(&format!("root = \"{}\"", root.display())),
        "{out}"
    );
}

#[test]
fn what_cannot_be_imported_is_one_line() {
    let folder = site(&[
        ("_headers", ""),
        ("a.json", "{}"),
        ("vercel.json", "{"),
        ("serve.json", "{}"),
        ("there.toml", "kept"),
    ]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    check_one_line(&["import", &at("none/serve.json")], 2, &["does not exist"]);
    check_one_line(&["import", &at("_headers")], 2, &["needs no import"]);
    check_one_line(&["import", &at("a.json")], 2, &["serve.json, vercel.json"]);
    check_one_line(&["import", &at("vercel.json")], 2, &["not JSON"]);
    check_one_line(
        &["import", &at("serve.json"), "-o", &at("there.toml")],
        2,
        &["is there already"],
    );
    assert_eq!(
        std::fs::read(Path::new(&at("there.toml"))).unwrap(),
        b"kept"
    );
}

#[test]
fn what_was_imported_is_served() {
    let file = r#"{"public": "dist", "directoryListing": false,
        "redirects": [{"source": "/old/:name", "destination": "/new/:name", "type": 302}],
        "rewrites": [{"source": "/app/**", "destination": "/app.html"}],
        "headers": [{"source": "**/*.js", "headers": [{"key": "X-A", "value": "${HOME}"}]}]}"#;
    let folder = site(&[
        ("serve.json", file),
        ("dist/index.html", "home"),
        ("dist/app.html", "app"),
        ("dist/about.html", "about"),
        ("dist/a.js", "script"),
    ]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (code, _, said) = run(&["import", &at("serve.json"), "-o", &at("salver.toml")]);
    assert_eq!((code, &*said), (0, ""));
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        let ask = |target: &str| curl(&[version, &format!("http://{}{target}", server.addr)]);
        let moved = ask("/old/x");
        assert_eq!((moved.status, &*moved.field("location")), (302, "/new/x"));
        assert_eq!(ask("/app/some/where").content, "app");
        assert_eq!(ask("/about").content, "about");
        assert_eq!(ask("/a.js").field("x-a"), "${HOME}");
        assert_eq!(ask("/").field("x-a"), "");
    }
    stop(server);
}
