//! Passwords: rules that want one, over each version of HTTP.

use std::sync::Arc;

use salver_assets::rules::{
    Action, BasicAuth, Condition, Cors, PathCondition, Rule, RuleSet, User,
};
use salver_server::{Builder, Server};

use crate::common::client::{Client, request};
use crate::common::{Running, Site, settings};
use crate::program::over::{ANY_PORT, Answer, over_all};

/// `open sesame` by libargon2 and by libxcrypt, at the least cost that there is.
const ARGON2: &str = "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$zl7V9C596JtSXWShZ2Tfc7QVGFpgGIXeJjaZ2scNEC0";
const BCRYPT: &str = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";

/// `alice:open sesame`, `bob:open sesame`, `alice:x`.
const ALICE: (&str, &str) = ("authorization", "Basic YWxpY2U6b3BlbiBzZXNhbWU=");
const BOB: (&str, &str) = ("authorization", "Basic Ym9iOm9wZW4gc2VzYW1l");
const WRONG: (&str, &str) = ("authorization", "Basic YWxpY2U6eA==");

fn rule(glob: &str, actions: Vec<Action>) -> Rule {
    Rule {
        when: Condition {
            path: PathCondition::Glob(glob.to_owned()),
            ..Condition::default()
        },
        actions,
        ..Rule::default()
    }
}

fn rules() -> Arc<RuleSet> {
    let user = |name: &str, hash: &str| User {
        name: name.to_owned(),
        hash: hash.to_owned(),
    };
    let auth = BasicAuth {
        realm: "Staff \"only\"".to_owned(),
        users: vec![user("alice", ARGON2), user("bob", BCRYPT)],
    };
    let cors = Cors {
        origins: vec!["https://b.test".to_owned()],
        ..Cors::default()
    };
    let rules = [
        rule(
            "/private/**",
            vec![Action::BasicAuth(auth), Action::Cors(cors)],
        ),
        rule(
            "/private/**",
            vec![Action::ErrorPage(401, "/401.html".to_owned())],
        ),
    ];
    Arc::new(RuleSet::compile(&rules).unwrap())
}

fn site() -> Site {
    let site = Site::new();
    std::fs::create_dir(site.path("private")).unwrap();
    site.write("private/app.3f9a1c2b.js", b"secret");
    site.write("401.html", b"<p>who?");
    site.write("open", b"open");
    site
}

fn value<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer
        .1
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[test]
fn who_has_no_password_gets_nothing() {
    let site = site();
    let builder = || {
        let server: Builder = Server::builder();
        server.directory("/", site.root()).rules(rules())
    };
    over_all(builder, async |over| {
        const SECRET: &str = "/private/app.3f9a1c2b.js";
        for _ in 0..2 {
            for (path, fields) in [
                (SECRET, &[][..]),
                ("/private/%61pp.3f9a1c2b.js", &[]),
                ("//private/x/../app.3f9a1c2b.js", &[]),
                ("/private/nothing", &[]),
                ("/private/", &[]),
                (SECRET, &[("authorization", "Bearer x")]),
            ] {
                let answer = over.ask("GET", path, fields, b"").await;
                assert_eq!((answer.0, &*answer.2), (401, &b"<p>who?"[..]), "{path}");
                assert_eq!(value(&answer, "cache-control"), "no-cache");
                assert_eq!(
                    value(&answer, "www-authenticate"),
                    "Basic realm=\"Staff \\\"only\\\"\", charset=\"UTF-8\""
                );
            }
            for who in [ALICE, BOB] {
                let answer = over.ask("GET", SECRET, &[who], b"").await;
                assert_eq!((answer.0, &*answer.2), (200, &b"secret"[..]));
                let caches = value(&answer, "cache-control");
                assert_eq!(caches, "private, max-age=31536000, immutable");
                let missing = over.ask("GET", "/private/nothing", &[who], b"").await;
                assert_eq!(missing.0, 404);
            }
            assert_eq!(over.ask("GET", "/open", &[], b"").await.0, 200);
        }
        assert_eq!(over.ask("GET", SECRET, &[WRONG], b"").await.0, 401);
        // A preflight never has a password.
        let asks = [
            ("origin", "https://b.test"),
            ("access-control-request-method", "GET"),
        ];
        assert_eq!(over.ask("OPTIONS", SECRET, &asks, b"").await.0, 204);
        assert_eq!(over.ask("OPTIONS", SECRET, &[], b"").await.0, 401);
    });
}

#[test]
fn attempts_are_limited() {
    let site = site();
    let server: Builder = Server::builder();
    let server = server.directory("/", site.root()).rules(rules());
    let server = server.settings(settings()).listen(ANY_PORT).build();
    let server = Running::start(server.unwrap());
    let mut client = Client::new(server.address);
    let mut ask = |(name, value): (&str, &str)| {
        let line = format!("{name}: {value}\r\n");
        client.send(request("GET", "/private/app.3f9a1c2b.js", &line));
        client.answer()
    };
    assert_eq!(ask(ALICE).status, 200);
    for _ in 0..10 {
        assert_eq!(ask(WRONG).status, 401);
    }
    let limited = ask(WRONG);
    assert_eq!(limited.status, 429);
    let seconds: u64 = limited.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&seconds));
    assert_eq!(ask(BOB).status, 429, "not even a right one is tried");
    assert_eq!(ask(ALICE).status, 200, "who has entered stays");
}
