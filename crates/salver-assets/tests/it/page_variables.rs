//! Pages with variables: what is sent of them, under which tag, and how it follows the disk.

use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Config, Conventions, Mount, PageVariables};

use crate::common::{Answer, Site, Tree, coded, config_of, directory, memory};

fn variables(list: &[(&str, &str)]) -> Arc<PageVariables> {
    let list = list
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
    Arc::new(PageVariables::new(list).unwrap())
}

/// A site of a tree whose pages see `API`.
fn site(tree: &Tree, value: &str, change: impl FnOnce(&mut Config)) -> Site {
    let mount = Mount::tree("/", directory(&tree.path("")));
    let mut config = config_of(mount.with_page_variables(variables(&[("API", value)])));
    change(&mut config);
    Site::new(config)
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text())
}

#[test]
fn what_is_put_in_has_a_tag_of_its_own_and_no_time() {
    let tree = Tree::new();
    tree.write("index.html", "<p title=[[env.API]]>[[env.API]]");
    let one = site(&tree, "a&b", |_| {});
    let two = site(&tree, "c", |_| {});
    // Cold, from the cache, and compared with the disk.
    for _ in 0..3 {
        let answer = one.get("/", &[]);
        assert_eq!(told(&answer), (200, "<p title=a&#38;b>a&#38;b".to_owned()));
        assert_eq!(answer.field("Last-Modified"), "");
        assert_eq!(
            answer.field("Content-Length"),
            answer.body.len().to_string()
        );
        assert_ne!(answer.field("ETag"), two.get("/", &[]).field("ETag"));
        let tag = answer.field("ETag").to_owned();
        assert!(tag.starts_with('"'), "{tag}");
        assert_eq!(one.get("/", &[("If-None-Match", &tag)]).status, 304);
        assert_eq!(two.get("/", &[("If-None-Match", &tag)]).status, 200);
        // What was put in may be another since.
        let since = [("If-Modified-Since", "Fri, 31 Dec 2100 23:59:59 GMT")];
        assert_eq!(one.get("/", &since).status, 200);
        let part = one.get("/", &[("Range", "bytes=0-1")]);
        assert_eq!(told(&part), (206, "<p".to_owned()));
        assert_eq!(
            one.head("/", &[]).field("Content-Length"),
            answer.body.len().to_string()
        );
        one.advance(Duration::from_secs(1));
    }
}

#[test]
fn precompressed_siblings_are_of_pages_without_placeholders_only() {
    let tree = Tree::new();
    let plain = b"<p>plain</p>".repeat(100);
    let page = [&plain[..], b"[[env.API]]"].concat();
    for (name, content) in [("plain.html", &plain), ("page.html", &page)] {
        tree.write(name, content);
        tree.write(&format!("{name}.br"), coded(content, "br"));
    }
    tree.write("script.js", "[[env.API]]");
    let site = site(&tree, "/v1", |_| {});
    for _ in 0..2 {
        let ask = |path: &str| site.get(path, &[("Accept-Encoding", "br")]);
        let answer = ask("/plain.html");
        assert_eq!(
            (answer.field("Content-Encoding"), answer.field("Vary")),
            ("br", "Accept-Encoding")
        );
        assert!(!answer.field("Last-Modified").is_empty());
        let answer = ask("/page.html");
        assert_eq!(
            (answer.field("Content-Encoding"), answer.field("Vary")),
            ("", "")
        );
        assert!(answer.text().ends_with("/v1"));
        assert_eq!(ask("/script.js").text(), "[[env.API]]", "no page");
        site.advance(Duration::from_secs(1));
    }
}

#[test]
fn pages_follow_the_disk() {
    let tree = Tree::new();
    tree.write("a.html", "[[env.API]] one");
    let site = site(&tree, "x", |_| {});
    let seen = || site.get("/a.html", &[]).text();
    assert_eq!(seen(), "x one");
    tree.write("a.html", "two, and [[env.API]]");
    site.advance(Duration::from_secs(1));
    assert_eq!(seen(), "two, and x");
    tree.write("a.html", "none");
    site.advance(Duration::from_secs(1));
    assert_eq!(seen(), "none");
    assert!(!site.get("/a.html", &[]).field("Last-Modified").is_empty());
    tree.write("a.html", "[[env.API]]");
    site.advance(Duration::from_secs(1));
    assert_eq!(seen(), "x");
}

/// The length of a page and of what it comes to may be one: no open file is taken for it.
#[test]
fn a_page_is_sent_from_memory_whatever_is_kept() {
    let changes: [fn(&mut Config); 3] = [
        |_| {},
        |config| config.cache = false,
        |config| config.cache_max_file = 0,
    ];
    for change in changes {
        let tree = Tree::new();
        let filler = "x".repeat(100_000);
        tree.write("long.html", format!("{filler}[[env.API]]"));
        let value = "same-length";
        assert_eq!(value.len(), "[[env.API]]".len());
        let plain = Mount::tree("/plain", directory(&tree.path("")));
        let site = site(&tree, value, |config| {
            change(config);
            config.mounts.push(plain);
        });
        for _ in 0..3 {
            assert!(
                site.get("/plain/long.html", &[])
                    .text()
                    .ends_with("[[env.API]]")
            );
            assert_eq!(
                site.get("/long.html", &[]).text(),
                format!("{filler}{value}")
            );
            let part = site.get("/long.html", &[("Range", "bytes=-6")]);
            assert_eq!(part.text(), "length");
        }
    }
}

#[test]
fn pages_that_are_too_long_are_sent_as_they_are() {
    let tree = Tree::new();
    let long = format!("[[env.API]]{}", " ".repeat(1024 * 1024));
    tree.write("long.html", &long);
    let site = site(&tree, "x", |_| {});
    assert_eq!(site.get("/long.html", &[]).text(), long);
}

#[test]
fn the_pages_of_errors_and_fallbacks_have_them_too() {
    let files: [(&str, &[u8]); 2] = [
        ("404.html", b"no [[env.API]]"),
        ("app.html", b"app [[env.API]]"),
    ];
    let mount =
        || Mount::tree("/", memory(&files)).with_page_variables(variables(&[("API", "<>")]));
    let site = Site::new(config_of(mount().with_conventions(Conventions::default())));
    let answer = site.get("/none", &[]);
    assert_eq!(told(&answer), (404, "no &#60;&#62;".to_owned()));
    assert_eq!(
        (answer.field("ETag"), answer.field("Content-Length")),
        ("", "13")
    );
    let site = Site::new(config_of(mount().with_fallback("app.html")));
    assert_eq!(
        told(&site.get("/any/where", &[])),
        (200, "app &#60;&#62;".to_owned())
    );
}
