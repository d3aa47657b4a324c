//! Rules and conventions: fields, routes, pages of errors, clean URLs, and files of rules that change.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use salver_assets::rules::{
    Action, Condition, Cors, FieldChange, FieldTest, PathCondition, QueryTest, Redirect, Rewrite,
    Rule, RuleSet, Scheme,
};
use salver_assets::source::{Metadata, Opened};
use salver_assets::{
    ContentCoding, Conventions, Method, Mount, Patience, RequestDetails, Source, View,
};

use crate::common::{Answer, Site, config_of, memory, request, seen};
use crate::conventions::netlify;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

fn ruled(rules: &[Rule], files: &[(&str, &[u8])]) -> Site {
    let rules = Arc::new(RuleSet::compile(rules).unwrap());
    Site::new(config_of(Mount::tree("/", memory(files)).with_rules(rules)))
}

fn rule(path: &str, actions: Vec<Action>) -> Rule {
    Rule {
        when: Condition {
            path: PathCondition::Glob(path.to_owned()),
            ..Condition::default()
        },
        actions,
        ..Rule::default()
    }
}

fn set(name: &str, value: &str) -> Action {
    Action::Set(name.to_owned(), value.to_owned())
}

/// The answer to a request with details, which begins again where it is asked for them.
fn ask(site: &Site, method: &str, host: &str, target: &str, fields: &[(&str, &str)]) -> Answer {
    let lines = fields
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let details = RequestDetails::new(Scheme::Https, host.as_bytes(), method.as_bytes(), lines);
    let known = ["Accept-Encoding", "Range", "If-None-Match"];
    let fields: Vec<_> = fields
        .iter()
        .copied()
        .filter(|(name, _)| known.contains(name))
        .collect();
    let mut request = request(Method::from_token(method.as_bytes()), target, &fields);
    request.details = Some(&details);
    seen(&site.plan(&request))
}

pub(crate) fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let fields = answer.fields.iter();
    let fields = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    fields.map(|(_, value)| &**value).collect()
}

pub(crate) fn status_and_location(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.field("Location"))
}

#[test]
fn a_hit_evaluates_no_rule() {
    let rules: Vec<_> = (0..100)
        .map(|number| rule("/**", vec![set(&format!("X-{number}"), "1")]))
        .collect();
    let site = ruled(&rules, &[("a", b"alpha")]);
    let first = site.get("/a", &[]);
    assert_eq!(first.field("x-99"), "1");
    let evaluated = site.engine.statistics().rulings;
    for _ in 0..10 {
        assert_eq!(site.get("/a", &[]), first);
        site.advance(MINUTE);
    }
    let statistics = site.engine.statistics();
    assert_eq!(statistics.rulings, evaluated);
    assert_eq!(
        statistics.revalidations, 9,
        "they hold for the same file, too"
    );
}

#[test]
fn rules_name_pages_by_status() {
    let rules = [
        rule("/private/**", vec![Action::Deny(403)]),
        rule("/gone", vec![Action::Deny(410)]),
        rule(
            "/**",
            vec![Action::ErrorPage(403, "/e/403.html".to_owned())],
        ),
        rule(
            "/**",
            vec![Action::ErrorPage(404, "/e/404.html".to_owned())],
        ),
    ];
    let site = ruled(
        &rules,
        &[
            ("e/403.html", b"no"),
            ("e/404.html", b"where"),
            ("private/x", b"x"),
            ("gone", b"g"),
        ],
    );
    let check = |path: &str, expected: (u16, &str)| {
        let answer = site.get(path, &[]);
        assert_eq!((answer.status, &*answer.text()), expected, "{path}");
    };
    check("/private/x", (403, "no"));
    check("/nothing", (404, "where"));
    check("/gone", (410, "410 Gone\n"));
}

/// A tree in which nobody may look at one file, nor open `_headers` while that is locked.
#[derive(Debug)]
struct Locking(Arc<dyn Source>, Arc<AtomicBool>);

struct LockingView(Arc<dyn View>, bool);

impl Source for Locking {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let locked = self.1.load(Ordering::Relaxed);
        Ok(Arc::new(LockingView(self.0.view(patience)?, locked)))
    }
}

impl View for LockingView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        match path {
            b"locked" => Err(io::ErrorKind::PermissionDenied.into()),
            path => self.0.stat(path, patience),
        }
    }
    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        match path {
            b"_headers" if self.1 => Err(io::ErrorKind::PermissionDenied.into()),
            path => self.0.open(path, patience),
        }
    }
    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.list(path)
    }
}

#[test]
fn a_load_that_fails_has_its_page_if_that_does_not_fail_too() {
    for (page, expected) in [("/403.html", "sorry"), ("/locked", "403 Forbidden\n")] {
        let rules = [rule(
            "/**",
            vec![Action::ErrorPage(403, page.to_owned()), set("X-A", "1")],
        )];
        let rules = Arc::new(RuleSet::compile(&rules).unwrap());
        let source = Arc::new(Locking(memory(&[("403.html", b"sorry")]), Arc::default()));
        let site = Site::new(config_of(Mount::tree("/", source).with_rules(rules)));
        for _ in 0..2 {
            let answer = site.get("/locked", &[]);
            assert_eq!((answer.status, &*answer.text()), (403, expected));
            assert_eq!(answer.field("x-a") == "1", expected == "sorry");
        }
    }
}

#[test]
fn files_that_cannot_be_read_leave_the_rules_and_at_first_let_nobody_in() {
    let files = memory(&[("_headers", b"/*\n  X-A: 1\n"), ("a", b"alpha")]);
    let locked = Arc::new(AtomicBool::new(true));
    let source = Locking(Arc::clone(&files) as Arc<_>, Arc::clone(&locked));
    let mount = Mount::tree("/", Arc::new(source)).with_conventions(Conventions::default());
    let site = Site::new(config_of(mount));
    assert_eq!(site.get("/a", &[]).status, 403);
    locked.store(false, Ordering::Relaxed);
    assert_eq!(site.get("/a", &[]).field("x-a"), "1");
    locked.store(true, Ordering::Relaxed);
    files.insert("_headers", "/*\n  X-A: 2\n", 1);
    site.advance(MINUTE);
    let answer = site.get("/a", &[]);
    assert_eq!((answer.status, answer.field("x-a")), (200, "1"));
    locked.store(false, Ordering::Relaxed);
    site.advance(MINUTE);
    assert_eq!(site.get("/a", &[]).field("x-a"), "2");
}

#[test]
fn the_rules_of_the_configuration_come_first_and_have_the_last_word() {
    let files: [(&str, &[u8]); 4] = [
        ("_headers", b"/*\n  X-A: file\n  X-B: file\n"),
        ("_redirects", b"/r /file 301!\n/s /file 301!\n"),
        ("r", b""),
        ("a", b"alpha"),
    ];
    let redirect = Action::Redirect(Redirect {
        status: 302,
        location: "/configured".to_owned(),
        keeps_query: true,
        unless_file: false,
    });
    let rules = [
        rule("/r", vec![redirect]),
        rule("/**", vec![set("X-A", "configured")]),
    ];
    let mount = Mount::tree("/", memory(&files))
        .with_rules(Arc::new(RuleSet::compile(&rules).unwrap()))
        .with_conventions(Conventions::default());
    let site = Site::new(config_of(mount));
    assert_eq!(
        status_and_location(&site.get("/r", &[])),
        (302, "/configured")
    );
    assert_eq!(status_and_location(&site.get("/s", &[])), (301, "/file"));
    let answer = site.get("/a", &[]);
    assert_eq!(values(&answer, "x-a"), ["configured"]);
    assert_eq!(values(&answer, "x-b"), ["file"]);
}

#[test]
fn what_a_request_decides_is_asked_of_each() {
    let redirects = b"/store id=:id /item/:id 301\n/lang lang=de /de 200\n";
    let site = netlify(&[
        ("_redirects", redirects),
        ("store", b"store"),
        ("de", b"deutsch"),
        ("lang", b"any"),
    ]);
    let get = |target: &str| ask(&site, "GET", "a.test", target, &[]);
    assert_eq!(get("/store").text(), "store");
    // A file goes before it, as Netlify has it; a missing one does not.
    assert_eq!(get("/store?id=7").text(), "store");
    assert_eq!(get("/lang?lang=de").text(), "any");
    let site = netlify(&[
        (
            "_redirects",
            b"/store id=:id /item/:id 301!\n/lang lang=de /de 200!\n",
        ),
        ("store", b"store"),
        ("de", b"deutsch"),
        ("lang", b"any"),
    ]);
    let get = |target: &str| ask(&site, "GET", "a.test", target, &[]);
    assert_eq!(
        status_and_location(&get("/store?id=a%2fb")),
        (301, "/item/a/b?id=a%2fb")
    );
    assert_eq!(get("/store").text(), "store");
    assert_eq!(get("/lang?lang=de").text(), "deutsch");
    assert_eq!(get("/lang?lang=en").text(), "any");
    let loads = site.engine.statistics().loads;
    assert_eq!(get("/lang?lang=de").text(), "deutsch");
    assert_eq!(site.engine.statistics().loads, loads, "each is cached");
}

#[test]
fn fields_that_conditions_read_are_named_in_vary() {
    let condition = Condition {
        fields: vec![("Save-Data".to_owned(), FieldTest::Is("on".to_owned()))],
        ..Condition::default()
    };
    let small = Rule {
        when: condition,
        actions: vec![Action::Rewrite(Rewrite {
            status: 200,
            to: vec!["/small".to_owned()],
            unless_file: false,
        })],
        ..Rule::default()
    };
    let site = ruled(&[small], &[("big", b"big"), ("small", b"small")]);
    for (fields, expected) in [(&[("Save-Data", "on")][..], "small"), (&[], "big")] {
        let answer = ask(&site, "GET", "a.test", "/big", fields);
        assert_eq!(answer.text(), expected);
        assert!(values(&answer, "vary").contains(&"save-data"));
    }
}

#[test]
fn other_origins() {
    let cors = Cors {
        origins: vec!["https://b.test".to_owned()],
        ..Cors::default()
    };
    let site = ruled(
        &[rule("/api/**", vec![Action::Cors(cors)])],
        &[("api/x", b"x"), ("y", b"y")],
    );
    let origin = ("Origin", "https://b.test");
    let answer = ask(&site, "GET", "a.test", "/api/x", &[origin]);
    assert_eq!(
        values(&answer, "access-control-allow-origin"),
        ["https://b.test"]
    );
    assert!(values(&answer, "vary").contains(&"origin"));
    let other = ask(
        &site,
        "GET",
        "a.test",
        "/api/x",
        &[("Origin", "https://c.test")],
    );
    assert_eq!(values(&other, "access-control-allow-origin"), [""; 0]);
    assert!(values(&other, "vary").contains(&"origin"));
    let asks = ("Access-Control-Request-Method", "GET");
    let preflight = ask(&site, "OPTIONS", "a.test", "/api/x", &[origin, asks]);
    assert_eq!(preflight.status, 204);
    assert_eq!(
        values(&preflight, "access-control-allow-methods"),
        ["GET, HEAD"]
    );
    let plain = ask(&site, "OPTIONS", "a.test", "/y", &[origin, asks]);
    assert_eq!(
        (plain.status, plain.field("Allow")),
        (200, "GET, HEAD, OPTIONS")
    );
}

#[test]
fn hosts_and_queries_of_conditions() {
    let when = Condition {
        hosts: vec!["*.b.test".to_owned()],
        query: vec![("v".to_owned(), QueryTest::Present)],
        ..Condition::default()
    };
    let rules = [Rule {
        when,
        actions: vec![Action::Deny(403)],
        ..Rule::default()
    }];
    let site = ruled(&rules, &[("a", b"alpha")]);
    let status = |host: &str, target: &str| ask(&site, "GET", host, target, &[]).status;
    assert_eq!(status("x.b.test:8080", "/a?v"), 403);
    assert_eq!(status("x.b.test", "/a"), 200);
    assert_eq!(status("b.test", "/a?v"), 200);
}

#[test]
fn a_rewrite_may_lead_to_another_mount() {
    let rules = [rule(
        "/x",
        vec![Action::Rewrite(Rewrite {
            status: 200,
            to: vec!["/none".to_owned(), "/other/y".to_owned()],
            unless_file: true,
        })],
    )];
    let rules = Arc::new(RuleSet::compile(&rules).unwrap());
    let mut config = config_of(Mount::tree("/", memory(&[])).with_rules(rules));
    config
        .mounts
        .push(Mount::tree("/other", memory(&[("y", b"why")])));
    assert_eq!(Site::new(config).get("/x", &[]).text(), "why");
}

#[test]
fn nothing_is_kept_where_nothing_may_be() {
    let rules = [rule(
        "/**",
        vec![
            set("X-A", "1"),
            Action::Cors(Cors {
                origins: vec!["https://b.test".to_owned()],
                ..Cors::default()
            }),
        ],
    )];
    let rules = Arc::new(RuleSet::compile(&rules).unwrap());
    let mount = Mount::tree("/", memory(&[("a", b"alpha")])).with_rules(rules);
    let site = Site::new(config_of(mount.without_cache()));
    for _ in 0..3 {
        let answer = ask(
            &site,
            "GET",
            "a.test",
            "/a",
            &[("Origin", "https://b.test")],
        );
        assert_eq!((&*answer.text(), answer.field("x-a")), ("alpha", "1"));
    }
    assert_eq!(site.engine.statistics().entries, 0);
}

const NAMES: [&str; 6] = [
    "X-A",
    "X-B",
    "Cache-Control",
    "Link",
    "Content-Type",
    "Vary",
];
const GLOBS: [&str; 5] = ["/**", "/a/*", "*.js", "/a/x.js", "/b/**"];
const FILES: [(&str, &[u8]); 4] = [
    ("a/x.js", b"1"),
    ("a/y", b"2"),
    ("b/c/z.js", b"3"),
    ("w", b"4"),
];

fn random_rule() -> impl Strategy<Value = Rule> {
    (0..GLOBS.len(), 0..NAMES.len(), "[a-z]{1,5}", 0..3).prop_map(|(glob, name, value, kind)| {
        let name = NAMES[name].to_owned();
        let action = match kind {
            0 => Action::Set(name, value),
            1 => Action::Append(name, value),
            _ if name == "Vary" => Action::Append(name, value),
            _ => Action::Remove(name),
        };
        rule(GLOBS[glob], vec![action])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The head that is rendered is the plain one with what the rules come to, for each name in order.
    #[test]
    fn heads_are_as_the_rules_say(rules in proptest::collection::vec(random_rule(), 0..12)) {
        let plain = Site::of(&FILES);
        let compiled = RuleSet::compile(&rules).unwrap();
        let site = ruled(&rules, &FILES);
        for (file, _) in FILES {
            let path = format!("/{file}");
            let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
            let mut expected: Vec<_> = plain.get(&path, &[]).fields.iter().map(lower).collect();
            let changes = compiled.for_path(path.as_bytes()).unconditional().fields(ContentCoding::Identity);
            FieldChange::apply(&changes, &mut expected);
            let mut found: Vec<_> = site.get(&path, &[]).fields.iter().map(lower).collect();
            expected.sort_by(|(one, _), (other, _)| one.cmp(other));
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            prop_assert_eq!(found, expected);
        }
    }
}
