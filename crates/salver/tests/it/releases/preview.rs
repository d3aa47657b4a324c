//! Previews: `salver deploy --preview`, and what shows them.

use super::Deployment;
use super::addresses::{ask, until_status};
use super::served::serve;
use crate::common::curl::VERSIONS;
use crate::common::{check_one_line, run, stop};

/// Deploys a preview; gives the JSON of it.
fn preview(site: &Deployment, name: &str, more: &[&str]) -> serde_json::Value {
    let mut words = site.words().to_vec();
    words.extend(["--preview", name, "--json"].map(str::to_owned));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let (code, out, said) = run(&words);
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_preview_has_an_address_until_it_expires() {
    let site = Deployment::new(&[("index.html", "site")]);
    site.deploy();
    let server = serve(&site, &["--release-addresses", "both"]);
    site.put("index.html", "preview");
    site.put("app.3f9a1c2b.js", "code of the preview");
    let made = preview(&site, "next", &["--expires", "1h"]);
    assert_eq!(made["preview"]["name"], "next");
    let release = made["release"].as_str().unwrap();
    until_status(&server, "next--a.test", "/", 200);
    for version in VERSIONS {
        for (host, target, status) in [
            ("next--a.test", "/", 200),
            ("a.test", "/_release/next/", 200),
            (&*format!("{release}--a.test"), "/app.3f9a1c2b.js", 200),
            ("a.test", "/app.3f9a1c2b.js", 404),
            ("other--a.test", "/", 404),
        ] {
            let answer = ask(&server, version, host, target, &[]);
            assert_eq!(answer.status, status, "{version} {host}{target}");
            let is_of_release = host != "a.test" || target.starts_with("/_release/");
            let noindex = if is_of_release { "noindex" } else { "" };
            assert_eq!(answer.field("x-robots-tag"), noindex, "{host}{target}");
        }
        let page = ask(&server, version, "next--a.test", "/", &[]);
        assert_eq!(
            (&*page.content, &*page.field("cache-control")),
            ("preview", "no-cache")
        );
        assert_eq!(ask(&server, version, "a.test", "/", &[]).content, "site");
    }
    // Another release by the same name, for a moment.
    site.put("index.html", "newer");
    preview(&site, "next", &["--expires", "1s"]);
    until_status(&server, "next--a.test", "/", 404);
    let answer = ask(&server, VERSIONS[0], "a.test", "/_release/next/", &[]);
    assert_eq!(answer.status, 404);
    assert_eq!(
        ask(&server, VERSIONS[0], "a.test", "/", &[]).content,
        "site"
    );
    let (_, out, _) = site.command(&["releases"], &[]);
    assert!(
        out.contains("\npreview next: ") && out.contains("expired at"),
        "{out}"
    );
    let pruned = site.json(&["prune"]);
    assert_eq!(pruned["previews"], serde_json::json!(["next"]));
    assert_eq!(pruned["releases"].as_array().unwrap().len(), 2);
    assert_eq!(site.json(&["releases"])["previews"], serde_json::json!([]));
    site.assert_sound();
    stop(server);
}

#[test]
fn a_preview_is_listed_compared_and_made_current() {
    let site = Deployment::new(&[("index.html", "site")]);
    let first = site.deploy()["release"].as_str().unwrap().to_owned();
    site.put("index.html", "preview");
    let mut words = site.words().to_vec();
    words.extend(["--preview", "pr-17"].map(str::to_owned));
    let (code, out, said) = run(&words);
    assert_eq!((code, &*said), (0, ""));
    assert!(out.contains(" is the preview pr-17 until "), "{out}");
    assert!(
        out.contains("shown at pr-17--HOST and /_release/pr-17/"),
        "{out}"
    );
    assert_eq!(site.current().as_deref(), Some(&*first));
    let list = site.json(&["releases"]);
    let [of_list] = &list["previews"].as_array().unwrap()[..] else {
        panic!("{list}")
    };
    assert_eq!(
        (&of_list["name"], &of_list["expired"]),
        (&"pr-17".into(), &false.into())
    );
    let (_, out, _) = site.command(&["releases"], &[]);
    assert!(
        out.lines().last().unwrap().starts_with("preview pr-17: "),
        "{out}"
    );
    let diff = site.json(&["diff", &first, "pr-17"]);
    assert_eq!(diff["changes"][0]["change"], "changed");
    let (code, _, said) = site.command(&["rollback"], &[]);
    assert_eq!(
        (code, said.contains("no release before")),
        (2, true),
        "{said}"
    );
    let current = site.json(&["rollback", "pr-17"]);
    assert_eq!(current["release"], of_list["release"]);
    let journal = site.json(&["releases", "--journal"]);
    let actions: Vec<_> = journal["journal"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["deploy", "preview", "rollback"]);
    site.assert_sound();
}

#[test]
fn what_cannot_be_a_preview_is_one_line() {
    let site = Deployment::new(&[("index.html", "site")]);
    let words = site.words();
    let check = |more: &[&str], code: i32, parts: &[&str]| {
        let mut all: Vec<&str> = words.iter().map(|word| &**word).collect();
        all.extend(more);
        check_one_line(&all, code, parts);
    };
    check(&["--preview", "next"], 2, &["without --preview first"]);
    site.deploy();
    for name in [
        "a--b",
        "Next",
        "xn",
        "-a",
        "a.b",
        "20251124-160000-e3b0c442",
    ] {
        check(&[&*format!("--preview={name}")], 2, &["it begins a host"]);
    }
    check(&["--preview", "next", "--expires", "0s"], 2, &["--expires"]);
    check(&["--expires", "1d"], 2, &["--preview"]);
}
