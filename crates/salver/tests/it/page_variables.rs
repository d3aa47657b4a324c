//! `[site.env]`: variables for pages, by a script and in placeholders, over HTTP/1.1 and HTTP/2.

use std::path::Path;

use crate::common::curl::{VERSIONS, curl};
use crate::common::{Running, addr_in, run, salver, site, stop};

/// What a stranger could have put into the name of a branch, say.
const HOSTILE: &str = "\"></script><script>alert('1')</script>\\";

fn serve(folder: &Path, variables: &[(&str, &str)]) -> Running {
    let mut command = salver();
    command.args(["serve", "--port", "0", "-c"]);
    command.arg(folder.join("salver.toml"));
    command.envs(variables.iter().copied());
    let mut server = Running::spawn(command);
    server.addr = addr_in(&server.wait_for_line("://"));
    server
}

#[test]
fn one_built_site_in_many_environments() {
    let folder = site(&[
        (
            "salver.toml",
            "[[site]]\nroot = 'dist'\nspa = true\n[site.env]\nvariables = ['API_URL', 'BRANCH', 'NOT_SET']\n\
             script = '/env.js'\nplaceholders = true\n",
        ),
        (
            "dist/index.html",
            "<!doctype html><meta name=branch content=\"[[env.BRANCH]]\"><title>[[env.BRANCH]]</title>\n\
             <script>const api = \"[[env.API_URL]]\", none = \"[[env.NOT_SET]]\", home = \"[[env.HOME]]\";</script>\n\
             <body onload=\"f('[[env.BRANCH]]')\">",
        ),
        (
            "dist/env.js",
            "globalThis.env = {}; // of the developer's machine\n",
        ),
        ("dist/plain.html", "<p>plain"),
    ]);
    let mut tags = Vec::new();
    for (api, branch) in [("https://a.test/v1?x=1", "main"), ("/b", HOSTILE)] {
        let mut server = serve(
            folder.path(),
            &[("API_URL", api), ("BRANCH", branch), ("HOME", "/secret")],
        );
        for version in VERSIONS {
            let ask = |target: &str, more: &[&str]| {
                let url = format!("http://{}{target}", server.addr);
                curl(&[&[version, &url], more].concat())
            };
            for _ in 0..2 {
                let script = ask("/env.js", &[]);
                assert_eq!(
                    script.field("content-type"),
                    "text/javascript; charset=utf-8"
                );
                assert_eq!(script.field("cache-control"), "no-cache");
                let (begin, end) = ("globalThis.env = Object.freeze(", ");\n");
                let json = script
                    .content
                    .strip_prefix(begin)
                    .unwrap()
                    .strip_suffix(end)
                    .unwrap();
                let told: serde_json::Value = serde_json::from_str(json).unwrap();
                assert_eq!(told, serde_json::json!({"API_URL": api, "BRANCH": branch}));
                assert!(!json.contains('<'), "{json}");
                let page = ask("/some/where", &[]);
                assert_eq!((page.status, &*page.field("last-modified")), (200, ""));
                assert!(
                    !page.content.contains("secret"),
                    "nobody listed HOME: {}",
                    page.content
                );
                assert_eq!(
                    page.content.matches("<script>").count(),
                    1,
                    "{}",
                    page.content
                );
                assert!(
                    page.content
                        .contains("none = \"\", home = \"[[env.HOME]]\"")
                );
                assert!(page.content.contains("onload=\"f('[[env.BRANCH]]')\""));
                if branch == "main" {
                    assert!(
                        page.content
                            .contains("content=\"main\"><title>main</title>")
                    );
                    assert!(
                        page.content
                            .contains("api = \"https://a.test/v1?x\\u003d1\"")
                    );
                }
                let tag = page.field("etag");
                let again = ask("/", &["-H", &format!("If-None-Match: {tag}")]);
                assert_eq!(again.status, 304);
                tags.push(tag);
                assert_eq!(ask("/plain.html", &[]).content, "<p>plain");
            }
        }
        server.wait_for_line("the variable NOT_SET is not set");
        let said = stop(server);
        assert!(said.contains("[[env.BRANCH]] stays as it is"), "{said}");
        assert!(
            said.contains("[[env.HOME]] stays as it is: pages may not see"),
            "{said}"
        );
        assert!(
            !said.contains("/secret") && !said.contains("alert"),
            "{said}"
        );
    }
    tags.dedup();
    assert_eq!(
        tags.len(),
        2,
        "each environment has a tag of its own: {tags:?}"
    );
}

#[test]
fn what_cannot_be_meant_is_said() {
    let check = |env: &str, code: i32, part: &str| {
        let text = format!("[[site]]\nroot = 'dist'\n[site.env]\n{env}");
        let folder = site(&[("salver.toml", &*text), ("dist/index.html", "page")]);
        let file = folder.path().join("salver.toml");
        let (found, _, said) = run(&["check", "-c", file.to_str().unwrap()]);
        assert!(found == code && said.contains(part), "{found}: {said}");
    };
    check(
        "variables = ['PATH']\nscript = '/env'\n",
        2,
        "does not end in .js",
    );
    check(
        "variables = ['PATH']\n",
        0,
        "does nothing without env.script",
    );
    check(
        "script = '/env.js'\n",
        0,
        "does nothing without env.variables",
    );
    check(
        "variables = ['A B']\nplaceholders = true\n",
        2,
        "not the name of a variable",
    );
    check(
        "variables = ['SALVER_NONE']\nplaceholders = true\n",
        0,
        "SALVER_NONE is not set",
    );
}
