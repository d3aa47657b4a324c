//! What a program's rule says of Cache-Control, on whichever answer, and how often it is asked.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Site, coded, config_of, memory, request};
use salver_assets::source::{KnownDigests, Metadata, Opened};
use salver_assets::{
    CacheControl, Config, MemorySource, Method, Mount, Patience, Source, Step, View,
};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Says the path itself, as a directive, but for `/named/`; and notes what it was asked.
fn site(mounts: Vec<Mount>) -> (Site, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let rule = move |path: &str| {
        notes.lock().unwrap().push(path.to_owned());
        (!path.starts_with("/named/")).then(|| format!("path=\"{path}\""))
    };
    let config = Config {
        mounts,
        cache_control: CacheControl::by_path(rule),
        ..Config::default()
    };
    (Site::new(config), asked)
}

#[test]
fn every_answer_of_a_file_carries_what_the_rule_says_of_its_path() {
    let script = b"let a = 1; ".repeat(100);
    let tree = memory(&[
        ("index.html", b"home"),
        ("app.js", &script),
        ("app.js.br", &coded(&script, "br")),
        ("blog/index.html", b"blog"),
        ("a b.txt", b"spaced"),
        ("named/x.3f9a1c2b.js", b"x"),
        ("named/x.js", b"x"),
    ]);
    let (site, _) = site(vec![
        Mount::tree("/", tree.clone()).with_fallback("index.html"),
        Mount::tree("/m/", tree.clone()),
        Mount::file("/icon", tree, "a b.txt"),
    ]);
    let check = |path: &str, fields: &[(&str, &str)], status: u16, of: &str| {
        for answer in [site.get(path, fields), site.get(path, fields)] {
            let expected = match of {
                of if of.starts_with('/') => format!("path=\"{of}\""),
                of => of.to_owned(),
            };
            assert_eq!(
                (answer.status, answer.field("Cache-Control")),
                (status, &*expected),
                "{path} {fields:?}"
            );
        }
    };
    const BR: (&str, &str) = ("Accept-Encoding", "br");
    const ANY: (&str, &str) = ("If-None-Match", "*");
    check("/app.js", &[], 200, "/app.js");
    check("/app.js", &[BR], 200, "/app.js");
    check("/app.js", &[("Range", "bytes=0-1")], 206, "/app.js");
    check("/app.js", &[("Range", "bytes=0-1,5-6")], 206, "/app.js");
    check("/app.js", &[ANY], 304, "/app.js");
    check("/app.js", &[BR, ANY], 304, "/app.js");
    check("/app.js.br", &[], 200, "/app.js.br");
    check("/", &[], 200, "/index.html");
    check("/blog/", &[], 200, "/blog/index.html");
    check("/a%20b.txt", &[], 200, "/a b.txt");
    check("/.//a%20b.txt", &[], 200, "/a b.txt");
    check("/m/blog/", &[], 200, "/m/blog/index.html");
    check("/icon", &[], 200, "/icon");
    // The fallback of an application is its file, wherever it is asked for.
    check("/some/where", &[], 200, "/index.html");
    // Where the rule says nothing the name decides.
    check("/named/x.3f9a1c2b.js", &[], 200, IMMUTABLE);
    check("/named/x.js", &[], 200, "no-cache");
    // Errors and redirects are not the file's.
    check("/none.txt", &[], 404, "no-cache");
    check("/blog", &[], 308, "no-cache");
    check("/app.js", &[("Range", "bytes=9999-")], 416, "no-cache");
    check("/app.js", &[("If-Match", "\"x\"")], 412, "no-cache");
    check("/%00", &[], 400, "no-cache");
}

#[test]
fn the_rule_is_asked_when_a_file_is_loaded_and_never_for_a_request() {
    let script = b"let a = 1; ".repeat(100);
    let source = memory(&[("a.js", &script), ("a.js.gz", &coded(&script, "gz"))]);
    let (site, asked) = site(vec![Mount::tree("/", source.clone())]);
    for round in 1..=3 {
        for _ in 0..10 {
            site.get("/a.js", &[]);
            site.get("/a.js", &[("Accept-Encoding", "gzip")]);
            site.get("/none", &[]);
        }
        // A look that finds nothing new asks nothing either.
        site.advance(Duration::from_secs(60));
        site.get("/a.js", &[]);
        assert_eq!(asked.lock().unwrap().len(), round, "once for both codings");
        source.insert("a.js", script.clone(), round.try_into().unwrap());
        site.advance(Duration::from_secs(60));
    }
}

#[test]
fn what_is_no_value_is_not_sent() {
    let config = Config {
        cache_control: CacheControl::by_path(|path| {
            Some(match path {
                "/split" => "max-age=1\r\nSet-Cookie: a=b",
                "/empty" => "",
                _ => "max-age=1",
            })
        }),
        ..config_of(Mount::tree(
            "/",
            memory(&[("split", b"s"), ("empty", b"e"), ("right", b"r")]),
        ))
    };
    let site = Site::new(config);
    for (path, expected) in [
        ("/split", "no-store"),
        ("/empty", "no-store"),
        ("/right", "max-age=1"),
    ] {
        let answer = site.get(path, &[]);
        assert_eq!(
            (answer.status, answer.field("Cache-Control")),
            (200, expected)
        );
    }
}

#[test]
fn names_beside_a_file_decide_where_its_own_leaves_a_doubt() {
    let tree = memory(&[
        ("assets/index-DiwrgTda.js", b"a"),
        ("assets/index-Bx3f9_aP.css", b"b"),
        ("assets/logo-Cq7Xw2_9.svg", b"c"),
        ("assets/x-DataGrid.js", b"d"),
        ("alone/index-DiwrgTda.js", b"e"),
        ("docs/report-v2_Final.pdf", b"f"),
        ("docs/contract-2ndDraft.pdf", b"g"),
        ("index-DiwrgTda.js", b"h"),
        ("DiwrgTda.js", b"i"),
    ]);
    let (site, _) = site(vec![
        Mount::tree("/named/", tree.clone()),
        Mount::tree("/named/_nuxt/", tree.clone()),
        Mount::file("/named/file.js", tree, "assets/index-DiwrgTda.js"),
    ]);
    for (path, expected) in [
        ("assets/index-DiwrgTda.js", IMMUTABLE),
        ("assets/index-Bx3f9_aP.css", IMMUTABLE),
        ("assets/logo-Cq7Xw2_9.svg", IMMUTABLE),
        ("assets/x-DataGrid.js", "no-cache"),
        ("alone/index-DiwrgTda.js", "no-cache"),
        ("docs/report-v2_Final.pdf", "no-cache"),
        ("docs/contract-2ndDraft.pdf", "no-cache"),
        ("index-DiwrgTda.js", "no-cache"),
        ("DiwrgTda.js", "no-cache"),
        // A tree that is served where Nuxt has its own.
        ("_nuxt/DiwrgTda.js", IMMUTABLE),
        // By the name of the file, whatever it is called here.
        ("file.js", IMMUTABLE),
    ] {
        let answer = site.get(&format!("/named/{path}"), &[]);
        let value = answer.field("Cache-Control");
        assert_eq!((answer.status, value), (200, expected), "{path}");
    }
}

/// A source that notes which directories are listed, and how many names are wanted.
#[derive(Debug)]
struct Listed {
    source: Arc<MemorySource>,
    lists: Lists,
}

type Lists = Arc<Mutex<Vec<(Vec<u8>, usize)>>>;

struct ListedView(Arc<dyn View>, Lists);

impl Source for Listed {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let view = self.source.view(patience)?;
        Ok(Arc::new(ListedView(view, Arc::clone(&self.lists))))
    }
}

impl View for ListedView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.0.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.0.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.list(path)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        self.1.lock().unwrap().push((path.to_vec(), most));
        self.0.names(path, most)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        self.0.known(path)
    }
}

#[test]
fn a_directory_is_listed_once_for_a_doubtful_name_and_never_where_nobody_may_wait() {
    let files = MemorySource::new();
    for path in [
        "d/index-DiwrgTda.js",
        "d/index-Bx3f9_aP.css",
        "d/app.3f9a1c2b.js",
        "d/app.js",
    ] {
        files.insert(path, path.as_bytes().to_vec(), 0);
    }
    let source = Arc::new(files);
    let lists = Lists::default();
    let listed = Listed {
        source: Arc::clone(&source),
        lists: Arc::clone(&lists),
    };
    let site = Site::new(config_of(Mount::tree("/", Arc::new(listed))));
    let listed = || lists.lock().unwrap().len();

    // What leaves no doubt is loaded where it stands.
    for path in ["/d/app.3f9a1c2b.js", "/d/app.js"] {
        let Step::Load(load, _) = site.begin(&request(Method::Get, path, &[])) else {
            panic!("{path} is not loaded yet");
        };
        let outcome = load.perform(Patience::MustNotWait, site.now().instant);
        site.engine.finish(load, outcome.unwrap());
    }
    assert_eq!(listed(), 0);

    let request = request(Method::Get, "/d/index-DiwrgTda.js", &[]);
    let step = site.begin(&request);
    let Step::Load(load, _) = &step else {
        panic!("it is not loaded yet");
    };
    let outcome = load.perform(Patience::MustNotWait, site.now().instant);
    assert!(outcome.is_err(), "reading a directory may wait");
    assert_eq!(listed(), 0);
    site.follow(&request, step);
    assert_eq!(*lists.lock().unwrap(), [(b"d".to_vec(), 256)]);

    // No request, and no look that finds the file as it was, lists it again.
    for _ in 0..10 {
        for _ in 0..10 {
            let answer = site.get("/d/index-DiwrgTda.js", &[]);
            assert_eq!(answer.field("Cache-Control"), IMMUTABLE);
        }
        site.advance(Duration::from_secs(60));
    }
    assert_eq!(listed(), 1);

    // What is found beside it then holds until it changes itself.
    source.remove("d/index-Bx3f9_aP.css");
    source.remove("d/app.3f9a1c2b.js");
    site.advance(Duration::from_secs(60));
    let value = |expected: &str| {
        let answer = site.get("/d/index-DiwrgTda.js", &[]);
        assert_eq!(answer.field("Cache-Control"), expected);
    };
    value(IMMUTABLE);
    source.insert("d/index-DiwrgTda.js", &b"new"[..], 1);
    site.advance(Duration::from_secs(60));
    value("no-cache");
    assert_eq!(listed(), 2);
}
