//! Rules and the conventions of built sites, over each version of HTTP.

use std::sync::Arc;

use salver_assets::rules::{
    Action, Compat, Condition, Cors, FieldTest, PathCondition, Redirect, Rewrite, Rule, RuleSet,
};
use salver_assets::{Conventions, TrailingSlash};
use salver_server::{Builder, Server};

use crate::common::Site;
use crate::program::over::{Answer, Over, over_all};

fn value(answer: &Answer, name: &str) -> String {
    let values = answer.1.get_all(name).iter();
    let values: Vec<_> = values.map(|value| value.to_str().unwrap()).collect();
    values.join(" & ")
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.2).unwrap()
}

fn rules(rules: &[(Condition, Vec<Action>)]) -> Arc<RuleSet> {
    let rules = rules.iter().cloned().map(|(when, actions)| Rule {
        when,
        actions,
        ..Rule::default()
    });
    Arc::new(RuleSet::compile(&rules.collect::<Vec<_>>()).unwrap())
}

fn path(glob: &str) -> Condition {
    Condition {
        path: PathCondition::Glob(glob.to_owned()),
        ..Condition::default()
    }
}

async fn get(over: &Over<'_>, target: &str) -> Answer {
    over.ask("GET", target, &[], b"").await
}

#[test]
fn a_built_site_is_served_by_its_own_files() {
    let redirects = b"/old/* /new/:splat 301\n/shop id=:id /item/:id 302\n/app/* /app.html 200\n";
    let site = Site::with(&[
        (
            "_headers",
            b"/*\n  X-Frame-Options: DENY\n/a.css\n  Cache-Control: max-age=5\n",
        ),
        ("_redirects", redirects),
        ("404.html", b"<p>lost"),
        ("app.html", b"<p>app"),
        ("about.html", b"<p>about"),
        ("a.css", b"a {}"),
    ]);
    let builder = || {
        let server: Builder = Server::builder();
        server
            .directory("/", site.root())
            .conventions(Conventions::default())
            .clean_urls(TrailingSlash::Auto)
    };
    over_all(builder, async |over| {
        // Twice, for what is made ready at the second request.
        for _ in 0..3 {
            let css = get(&over, "/a.css").await;
            assert_eq!((css.0, text(&css)), (200, "a {}"));
            assert_eq!(value(&css, "x-frame-options"), "DENY");
            assert_eq!(value(&css, "cache-control"), "max-age=5");
            let moved = get(&over, "/old/a%20b?c=d").await;
            assert_eq!(
                (moved.0, &*value(&moved, "location")),
                (301, "/new/a%20b?c=d")
            );
            let item = get(&over, "/shop?id=7").await;
            assert_eq!((item.0, &*value(&item, "location")), (302, "/item/7?id=7"));
            assert_eq!(get(&over, "/shop").await.0, 404);
            let app = get(&over, "/app/x").await;
            assert_eq!((app.0, text(&app)), (200, "<p>app"));
            let lost = get(&over, "/nothing").await;
            assert_eq!((lost.0, text(&lost)), (404, "<p>lost"));
            assert_eq!(value(&lost, "x-frame-options"), "DENY");
            assert_eq!(value(&lost, "etag"), "");
            let head = over
                .ask("HEAD", "/nothing", &[("range", "bytes=0-1")], b"")
                .await;
            assert_eq!((head.0, &*value(&head, "content-length")), (404, "7"));
            assert_eq!(text(&get(&over, "/about").await), "<p>about");
            let page = get(&over, "/about.html").await;
            assert_eq!((page.0, &*value(&page, "location")), (308, "/about"));
            for hidden in ["/_headers", "/_redirects"] {
                assert_eq!(text(&get(&over, hidden).await), "<p>lost");
            }
        }
    });
}

#[test]
fn rules_that_ask_the_request() {
    let site = Site::with(&[("a", b"alpha"), ("small", b"a"), ("private", b"secret")]);
    let host = Condition {
        hosts: vec!["a".to_owned()],
        ..path("/host")
    };
    let saving = Condition {
        fields: vec![("Save-Data".to_owned(), FieldTest::Is("on".to_owned()))],
        ..path("/a")
    };
    let redirect = Action::Redirect(Redirect {
        status: 307,
        location: "/a".to_owned(),
        keeps_query: false,
        unless_file: false,
    });
    let rewrite = Action::Rewrite(Rewrite {
        status: 200,
        to: vec!["/small".to_owned()],
        unless_file: false,
    });
    let cors = Action::Cors(Cors {
        origins: vec!["https://b.test".to_owned()],
        ..Cors::default()
    });
    let rules = rules(&[
        (host, vec![redirect]),
        (saving, vec![rewrite]),
        (path("/private"), vec![Action::Deny(403)]),
        (path("/**"), vec![cors]),
    ]);
    let builder = || {
        let server: Builder = Server::builder();
        server.directory("/", site.root()).rules(Arc::clone(&rules))
    };
    over_all(builder, async |over| {
        for _ in 0..3 {
            let moved = get(&over, "/host").await;
            // Over HTTP/3 the client of the tests names another host.
            assert_eq!(
                moved.0,
                if matches!(over, Over::Http3(_)) {
                    404
                } else {
                    307
                }
            );
            let big = get(&over, "/a").await;
            assert_eq!(
                (text(&big), &*value(&big, "vary")),
                ("alpha", "origin & save-data")
            );
            let small = over.ask("GET", "/a", &[("save-data", "on")], b"").await;
            assert_eq!(
                (text(&small), &*value(&small, "vary")),
                ("a", "origin & save-data")
            );
            assert_eq!(get(&over, "/private").await.0, 403);
            let origin = ("origin", "https://b.test");
            let shared = over.ask("GET", "/a", &[origin], b"").await;
            assert_eq!(
                value(&shared, "access-control-allow-origin"),
                "https://b.test"
            );
            let asks = ("access-control-request-method", "GET");
            let preflight = over.ask("OPTIONS", "/a", &[origin, asks], b"").await;
            assert_eq!(preflight.0, 204);
            assert_eq!(
                value(&preflight, "access-control-allow-methods"),
                "GET, HEAD"
            );
        }
    });
}

#[test]
fn a_preflight_is_answered_by_rules_before_a_handler() {
    let site = Site::with(&[("a", b"alpha")]);
    let rules = rules(&[(path("/a"), vec![Action::Cors(Cors::default())])]);
    let builder = || {
        let server: Builder = Server::builder();
        let server = server.directory("/", site.root()).rules(Arc::clone(&rules));
        server.handler(|_| async { http::Response::new("handler") })
    };
    over_all(builder, async |over| {
        let asks = [
            ("origin", "https://b.test"),
            ("access-control-request-method", "GET"),
        ];
        for (target, expected) in [("/a", 204), ("/b", 200)] {
            let answer = over.ask("OPTIONS", target, &asks, b"").await;
            assert_eq!(answer.0, expected, "{target}");
        }
        let shared = get(&over, "/a").await;
        assert_eq!(value(&shared, "access-control-allow-origin"), "*");
    });
}

#[test]
fn hosts_are_conditions_of_files_too() {
    let site = Site::with(&[
        (
            "_headers",
            b"https://a/*\n  X-Host: a\nhttps://b/*\n  X-Host: b\n",
        ),
        ("x", b"x"),
    ]);
    let builder = || {
        let server: Builder = Server::builder();
        let compat = Compat::Cloudflare;
        server
            .directory("/", site.root())
            .conventions(Conventions { compat })
    };
    over_all(builder, async |over| {
        for _ in 0..2 {
            let expected = if matches!(over, Over::Http3(_)) {
                ""
            } else {
                "a"
            };
            assert_eq!(value(&get(&over, "/x").await, "x-host"), expected);
        }
    });
}

#[test]
fn the_files_follow_the_disk() {
    let site = Site::with(&[("x", b"x")]);
    let builder = || {
        let server: Builder = Server::builder();
        server
            .directory("/", site.root())
            .conventions(Conventions::default())
    };
    over_all(builder, async |over| {
        for (headers, expected) in [("/*\n  X-A: 1\n", "1"), ("/*\n  X-A: 2\n", "2"), ("", "")] {
            site.write("_headers", headers.as_bytes());
            let mut found = String::new();
            while found != expected {
                found = value(&get(&over, "/x").await, "x-a");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    });
}
