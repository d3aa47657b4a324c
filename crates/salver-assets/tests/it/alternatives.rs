//! Alternatives by Accept: who gets which, under which tag and type; and that none harms its original.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use salver_assets::rules::{
    Action, Condition, FieldTest, PathCondition, QueryTest, Rule, RuleSet, Scheme,
};
use salver_assets::{
    Alternative, Config, Method, Mount, RequestDetails, RequestPath, SiblingCheck,
};

use crate::common::{Answer, Site, Tree, coded, config_of, directory, memory, request, seen};
use crate::siblings::disk::{Call, Disk, State, Trouble};

const SECOND: Duration = Duration::from_secs(1);

/// What Chromium sends for a picture.
const BROWSER: &str = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";

fn config(mount: Mount) -> Config {
    Config {
        negotiate: Alternative::ALL.to_vec(),
        ..config_of(mount)
    }
}

fn files(files: &[(&str, &[u8])]) -> Site {
    Site::new(config(Mount::tree("/", memory(files))))
}

/// The answer to a request with this Accept and further fields.
fn ask(site: &Site, method: Method, target: &str, accept: &str, more: &[(&str, &str)]) -> Answer {
    let lines = [("accept", accept)];
    let lines = lines.iter().filter(|(_, value)| !value.is_empty());
    let lines = lines.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let details = RequestDetails::new(Scheme::Https, b"a", b"GET", lines);
    let mut request = request(method, target, more);
    request.details = Some(&details);
    seen(&site.plan(&request))
}

fn get(site: &Site, target: &str, accept: &str) -> Answer {
    ask(site, Method::Get, target, accept, &[])
}

/// Content, type and Vary.
fn told(answer: &Answer) -> (String, String, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let field = |name| answer.field(name).to_owned();
    (answer.text(), field("Content-Type"), field("Vary"))
}

fn check(answer: &Answer, content: &str, media_type: &str, vary: &str) {
    let expected = (content.to_owned(), media_type.to_owned(), vary.to_owned());
    assert_eq!(told(answer), expected);
}

#[test]
fn who_names_a_type_gets_it() {
    let site = files(&[
        ("photo.jpg", b"jpeg"),
        ("photo.avif", b"avif"),
        ("photo.webp", b"webp"),
        ("some.png", b"png"),
        ("some.webp", b"webp of some"),
        ("alone.jpg", b"alone"),
        ("page.html", b"<p>page"),
        ("page.md", b"# page"),
        ("index.html", b"<p>index"),
        ("index.md", b"# index"),
    ]);
    // Cold, and from the cache.
    for _ in 0..2 {
        for _ in 0..2 {
            let html = "text/html; charset=utf-8";
            check(
                &get(&site, "/photo.jpg", BROWSER),
                "avif",
                "image/avif",
                "Accept",
            );
            check(
                &get(&site, "/photo.jpg", "image/webp,*/*"),
                "webp",
                "image/webp",
                "Accept",
            );
            for other in [
                "",
                "*/*",
                "image/*",
                "image/jpeg, image/avif;q=0.5",
                "text/html",
            ] {
                check(
                    &get(&site, "/photo.jpg", other),
                    "jpeg",
                    "image/jpeg",
                    "Accept",
                );
            }
            check(
                &get(&site, "/some.png", BROWSER),
                "webp of some",
                "image/webp",
                "Accept",
            );
            check(&get(&site, "/some.png", ""), "png", "image/png", "Accept");
            check(
                &get(&site, "/alone.jpg", BROWSER),
                "alone",
                "image/jpeg",
                "",
            );
            // By its own name it is a file like others.
            check(
                &get(&site, "/photo.avif", "image/jpeg"),
                "avif",
                "image/avif",
                "",
            );
            let markdown = "text/markdown; charset=utf-8";
            let agent = "text/markdown, text/html, */*";
            check(
                &get(&site, "/page.html", agent),
                "# page",
                markdown,
                "Accept",
            );
            check(&get(&site, "/", agent), "# index", markdown, "Accept");
            check(
                &get(&site, "/", "text/html,*/*;q=0.8"),
                "<p>index",
                html,
                "Accept",
            );
        }
        site.advance(SECOND);
    }
}

#[test]
fn each_has_a_tag_of_its_own_and_is_a_whole_resource() {
    let site = files(&[("photo.jpg", b"jpeg!"), ("photo.avif", b"avif")]);
    let avif = get(&site, "/photo.jpg", BROWSER);
    let jpeg = get(&site, "/photo.jpg", "");
    assert_ne!(avif.field("ETag"), jpeg.field("ETag"));
    let conditional = |accept: &str, tag: &str| {
        let fields = [("If-None-Match", tag)];
        ask(&site, Method::Get, "/photo.jpg", accept, &fields)
    };
    let unchanged = conditional(BROWSER, avif.field("ETag"));
    assert_eq!((unchanged.status, unchanged.field("Vary")), (304, "Accept"));
    assert_eq!(conditional(BROWSER, jpeg.field("ETag")).status, 200);
    assert_eq!(conditional("", avif.field("ETag")).text(), "jpeg!");
    let part = ask(
        &site,
        Method::Get,
        "/photo.jpg",
        BROWSER,
        &[("Range", "bytes=1-2")],
    );
    assert_eq!((part.status, &*part.text()), (206, "vi"));
    let head = ask(&site, Method::Head, "/photo.jpg", BROWSER, &[]);
    assert_eq!((head.status, head.field("Content-Length")), (200, "4"));
    // Errors about it depend on Accept as well.
    let beyond = ask(
        &site,
        Method::Get,
        "/photo.jpg",
        BROWSER,
        &[("Range", "bytes=9-")],
    );
    assert_eq!((beyond.status, beyond.field("Vary")), (416, "Accept"));
    let beyond = ask(
        &site,
        Method::Get,
        "/photo.jpg",
        "",
        &[("Range", "bytes=9-")],
    );
    assert_eq!((beyond.status, beyond.field("Vary")), (416, "Accept"));
}

#[test]
fn codings_go_together_with_it() {
    let (page, markdown) = (b"<p>page ".repeat(200), b"# page ".repeat(200));
    let tree = Tree::new();
    tree.write("page.html", &page);
    tree.write("page.html.gz", coded(&page, "gz"));
    tree.write("page.md", &markdown);
    tree.write("page.md.br", coded(&markdown, "br"));
    let site = Site::new(config(Mount::tree("/", directory(&tree.path("")))));
    let ask = |accept: &str, coding: &str| {
        let answer = ask(
            &site,
            Method::Get,
            "/page.html",
            accept,
            &[("Accept-Encoding", coding)],
        );
        assert_eq!(answer.field("Vary"), "Accept, Accept-Encoding");
        let field = |name| answer.field(name).to_owned();
        (
            field("Content-Type"),
            field("Content-Encoding"),
            field("ETag"),
        )
    };
    let kinds = [
        ("", "br"),
        ("", "gzip"),
        ("text/markdown", "gzip"),
        ("text/markdown", "br"),
    ];
    let answers = kinds.map(|(accept, coding)| ask(accept, coding));
    let codings = answers.each_ref().map(|(_, coding, _)| &**coding);
    assert_eq!(codings, ["", "gzip", "", "br"]);
    assert!(answers[3].0.starts_with("text/markdown") && answers[1].0.starts_with("text/html"));
    for (number, answer) in answers.iter().enumerate() {
        assert!(
            answers[..number].iter().all(|other| other.2 != answer.2),
            "{answers:?}"
        );
    }
    let refused = self::ask(
        &site,
        Method::Get,
        "/page.html",
        "",
        &[("Accept-Encoding", "identity;q=0")],
    );
    assert_eq!(
        (refused.status, refused.field("Vary")),
        (406, "Accept, Accept-Encoding")
    );
}

#[test]
fn it_comes_changes_and_goes_with_the_disk() {
    let tree = Tree::new();
    tree.write("photo.jpg", "jpeg");
    let site = Site::new(config(Mount::tree("/", directory(&tree.path("")))));
    let seen = || told(&get(&site, "/photo.jpg", BROWSER)).0;
    assert_eq!(seen(), "jpeg");
    tree.write("photo.avif", "avif");
    site.advance(SECOND);
    assert_eq!(seen(), "avif");
    tree.write("photo.avif", "other");
    site.advance(SECOND);
    assert_eq!(seen(), "other");
    std::fs::remove_file(tree.path("photo.avif")).unwrap();
    assert_eq!(seen(), "other", "it was looked at a moment ago");
    site.advance(SECOND);
    assert_eq!(seen(), "jpeg");
    // Without a look at the original, which says that it is there: nobody waits for one.
    tree.write("photo.avif", "again");
    site.advance(SECOND);
    assert_eq!(seen(), "again");
    site.engine.clear();
    assert_eq!(told(&get(&site, "/photo.jpg", "")).0, "jpeg");
    std::fs::remove_file(tree.path("photo.avif")).unwrap();
    assert_eq!(seen(), "jpeg");
    std::fs::remove_file(tree.path("photo.jpg")).unwrap();
    tree.write("photo.avif", "alone");
    site.advance(SECOND);
    assert_eq!(get(&site, "/photo.jpg", BROWSER).status, 404);
}

#[test]
fn invalidating_either_reaches_both() {
    let source = memory(&[("photo.jpg", b"jpeg")]);
    let site = Site::new(config(Mount::tree("/", Arc::clone(&source) as _)));
    let seen = || told(&get(&site, "/photo.jpg", BROWSER)).0;
    let invalidate = |path: &str| {
        site.engine
            .invalidate(&RequestPath::parse(path.as_bytes()).unwrap())
    };
    assert_eq!(seen(), "jpeg");
    source.insert("photo.avif", "avif", 0);
    invalidate("/photo.avif");
    assert_eq!(seen(), "avif");
    source.insert("photo.avif", "other", 0);
    invalidate("/photo.avif");
    assert_eq!(seen(), "other");
    source.insert("photo.avif", "third", 0);
    invalidate("/photo.jpg");
    assert_eq!(seen(), "third");
}

/// A site on a disk that has trouble.
fn troubled(far: bool) -> (Site, Arc<State>, Tree) {
    let tree = Tree::new();
    tree.write("photo.jpg", "jpeg");
    tree.write("photo.avif", "avif");
    tree.write("photo.webp", "webp");
    let state = Arc::new(State::default());
    let disk = Disk {
        files: directory(&tree.path("")),
        far,
        state: Arc::clone(&state),
    };
    (
        Site::new(config(Mount::tree("/", Arc::new(disk)))),
        state,
        tree,
    )
}

#[test]
fn one_that_cannot_be_had_leaves_the_original() {
    for far in [false, true] {
        for call in [Call::Stat, Call::Open] {
            for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
                let (site, state, _tree) = troubled(far);
                state.have("photo.avif", call, Some(Trouble::Fails(kind)));
                for _ in 0..2 {
                    let seen = told(&get(&site, "/photo.jpg", BROWSER)).0;
                    // One that is not seen leaves the next best.
                    let expected = if call == Call::Stat { "webp" } else { "jpeg" };
                    assert_eq!(seen, expected, "{call:?} {kind:?}");
                    assert_eq!(told(&get(&site, "/photo.jpg", "image/webp")).0, "webp");
                    assert_eq!(told(&get(&site, "/photo.jpg", "")).0, "jpeg");
                    site.advance(SECOND);
                }
                state.have("photo.avif", call, None);
                site.advance(SECOND);
                assert_eq!(told(&get(&site, "/photo.jpg", BROWSER)).0, "avif");
            }
        }
    }
}

#[test]
fn one_whose_look_hangs_is_not_waited_for() {
    let (site, state, _tree) = troubled(true);
    site.engine
        .hand_sibling_checks_to(|check: SiblingCheck| drop(std::thread::spawn(|| check.perform())));
    state.have("photo.avif", Call::Stat, Some(Trouble::Hangs));
    assert_eq!(told(&get(&site, "/photo.jpg", BROWSER)).0, "webp");
    assert_eq!(told(&get(&site, "/photo.jpg", "")).0, "jpeg");
    state.have("photo.avif", Call::Stat, None);
    let end = std::time::Instant::now() + Duration::from_secs(120);
    while told(&get(&site, "/photo.jpg", BROWSER)).0 != "avif" {
        assert!(std::time::Instant::now() < end, "it is never seen");
        site.advance(SECOND);
    }
}

#[test]
fn rules_hold_for_what_is_chosen() {
    let rule = |when: Condition, name: &str, value: &str| Rule {
        when,
        actions: vec![Action::Set(name.to_owned(), value.to_owned())],
        ..Rule::default()
    };
    let path = || PathCondition::Glob("/photo.jpg".to_owned());
    let always = Condition {
        path: path(),
        ..Condition::default()
    };
    let asked = Condition {
        path: path(),
        query: vec![("x".to_owned(), QueryTest::Present)],
        fields: vec![("accept".to_owned(), FieldTest::Present)],
        ..Condition::default()
    };
    let all: [&[Rule]; 2] = [
        &[rule(always.clone(), "X-A", "1")],
        &[rule(always, "X-A", "1"), rule(asked, "X-B", "2")],
    ];
    for rules in all {
        let count = rules.len();
        let rules = Arc::new(RuleSet::compile(rules).unwrap());
        let source = memory(&[
            ("photo.jpg", b"jpeg"),
            ("photo.avif", b"avif"),
            ("other.jpg", b"o"),
            ("other.avif", b"a"),
        ]);
        let site = Site::new(config(
            Mount::tree("/", Arc::clone(&source) as _).with_rules(rules),
        ));
        for _ in 0..2 {
            let answer = get(&site, "/photo.jpg", BROWSER);
            assert_eq!((&*answer.text(), answer.field("x-a")), ("avif", "1"));
            assert!(
                answer
                    .field("Vary")
                    .split(", ")
                    .any(|name| name.eq_ignore_ascii_case("accept")),
                "{answer:?}"
            );
            let answer = get(&site, "/photo.jpg?x", BROWSER);
            let second = if answer.field("x-b").is_empty() { 1 } else { 2 };
            assert_eq!((&*answer.text(), second), ("avif", count));
            assert_eq!(get(&site, "/photo.jpg", "").text(), "jpeg");
            assert_eq!(get(&site, "/other.jpg", BROWSER).text(), "a");
            // What is gone meanwhile leaves the original, whatever rules decide.
            source.remove("photo.avif");
            site.engine.clear();
            assert_eq!(get(&site, "/photo.jpg", BROWSER).text(), "jpeg");
            source.insert("photo.avif", "avif", 0);
            site.engine.clear();
        }
    }
}

#[test]
fn without_the_setting_nothing_is_looked_for() {
    let site = Site::of(&[("photo.jpg", b"jpeg"), ("photo.avif", b"avif")]);
    check(&get(&site, "/photo.jpg", BROWSER), "jpeg", "image/jpeg", "");
    assert!(!site.engine.may_need_details() && !site.engine.reads_request_fields());
}
