use proptest::prelude::*;
use salver_semantics::ContentCoding;

use super::*;
use crate::cors::Cors;
use crate::field_change::FieldChange;
use crate::outcome::Route;
use crate::pattern::Dialect;
use crate::rule::{
    Action, BasicAuth, Condition, FieldTest, PathCondition, QueryTest, Redirect, Rewrite, Scheme,
    User,
};

fn pattern(text: &str) -> Condition {
    let path = PathCondition::Pattern(text.to_owned(), Dialect::Anywhere);
    Condition {
        path,
        ..Condition::default()
    }
}

fn rule(when: Condition, action: Action) -> Rule {
    Rule {
        when,
        actions: vec![action],
        ..Rule::default()
    }
}

fn redirect(location: &str) -> Action {
    Action::Redirect(Redirect {
        status: 301,
        location: location.to_owned(),
        keeps_query: true,
        unless_file: false,
    })
}

fn set(name: &str, value: &str) -> Action {
    Action::Set(name.to_owned(), value.to_owned())
}

/// The route of a request for a target of `example.org`, as a line; `fields` are `name: value`.
fn route(rules: &[Rule], method: &str, target: &str, fields: &[(&str, &str)]) -> String {
    let rules = RuleSet::compile(rules).unwrap();
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let field = |name: &str| {
        fields
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_bytes())
    };
    let request = Request {
        scheme: Scheme::Https,
        host: b"www.example.org",
        method: method.as_bytes(),
        query: query.map(str::as_bytes),
        field: &field,
    };
    match rules.for_request(path.as_bytes(), &request).route() {
        None => "none".to_owned(),
        Some(Route::Redirect {
            status, location, ..
        }) => {
            format!("{status} {}", location.for_query(request.query).unwrap())
        }
        Some(Route::Rewrite { status, paths, .. }) => {
            let paths: Vec<_> = paths
                .iter()
                .map(|path| String::from_utf8_lossy(path))
                .collect();
            format!("{status} {}", paths.join(" "))
        }
        Some(Route::Deny { status }) => status.to_string(),
        Some(Route::Preflight { fields }) => format!("{fields:?}"),
    }
}

#[test]
fn the_first_route_counts() {
    let rules = [
        rule(pattern("/a/:x"), redirect("/b/:x")),
        rule(pattern("/a/*"), Action::Deny(403)),
        rule(
            pattern("/app/*"),
            Action::Rewrite(Rewrite {
                status: 200,
                to: vec!["/app/:splat.html".to_owned(), "/app/index.html".to_owned()],
                unless_file: true,
            }),
        ),
        rule(pattern("/loop/*"), redirect("/loop/:splat")),
        rule(pattern("/loop/*"), Action::Deny(410)),
    ];
    let check =
        |target: &str, expected: &str| assert_eq!(route(&rules, "GET", target, &[]), expected);
    check("/a/1?q=2", "301 /b/1?q=2");
    check("/a/1/2", "403");
    check("/app/x", "200 /app/x.html /app/index.html");
    check("/loop/x", "410");
    check("/", "none");
}

#[test]
fn what_a_request_fills_in_leads_nowhere_else() {
    let rules = [
        rule(pattern("/host/:h"), redirect("https://:h.example.org/")),
        rule(pattern("/*"), redirect("/b/:splat?x=:splat")),
    ];
    let check =
        |target: &str, expected: &str| assert_eq!(route(&rules, "GET", target, &[]), expected);
    check("/host/evil.org#", "404");
    check("/host/evil.org\\@", "404");
    check("/host/ok", "301 https://ok.example.org/");
    check("/\r\nx: y&z", "301 /b/%0D%0Ax:%20y&z?x=%0D%0Ax:%20y%26z");
    check(&format!("/{}", "x".repeat(9_000)), "414");
}

#[test]
fn conditions_on_the_request() {
    let mut german = pattern("/");
    german.fields = vec![(
        "Accept-Language".to_owned(),
        FieldTest::Contains("de".to_owned()),
    )];
    let mut by_id = pattern("/store");
    by_id.query = vec![("id".to_owned(), QueryTest::Capture("id".to_owned()))];
    let mut sub = pattern("/sub/*");
    sub.hosts = vec![":sub.example.org".to_owned()];
    let rules = [
        rule(german, redirect("/de/")),
        rule(by_id, redirect("/item/:id")),
        rule(sub, redirect("/:sub/:splat")),
    ];
    let check = |target: &str, fields: &[_], expected: &str| {
        assert_eq!(route(&rules, "GET", target, fields), expected);
    };
    check("/", &[("accept-language", "de-AT, en")], "301 /de/");
    check("/", &[], "none");
    check("/store?id=7%2F8", &[], "301 /item/7/8?id=7%2F8");
    check("/store", &[], "none");
    check("/sub/x", &[], "301 /www/x");
    let compiled = RuleSet::compile(&rules).unwrap();
    assert!(compiled.has_request_conditions());
    assert!(compiled.for_path(b"/store").has_request_conditions());
    assert!(!compiled.for_path(b"/other").has_request_conditions());
    assert_eq!(compiled.for_path(b"/store").unconditional().route(), None);
}

#[cfg(feature = "globs")]
#[test]
fn fields_by_path_are_ready_before_any_request() {
    let mut brotli = pattern("/*");
    brotli.codings = vec![ContentCoding::Brotli];
    let glob = |text: &str| Condition {
        path: PathCondition::Glob(text.to_owned()),
        ..Condition::default()
    };
    let rules = [
        rule(Condition::default(), set("X-A", "1")),
        rule(
            glob("/assets/**"),
            Action::CacheControl("max-age=9".to_owned()),
        ),
        rule(
            pattern("/assets/:name"),
            Action::Append("X-A".to_owned(), ":name".to_owned()),
        ),
        rule(brotli, set("X-Coding", "br")),
        rule(pattern("/bare"), Action::Remove("X-A".to_owned())),
    ];
    let rules = RuleSet::compile(&rules).unwrap();
    assert!(!rules.has_request_conditions());
    let check = |path: &str, coding, expected: &[(&str, &str)]| {
        let changes = rules
            .for_path(path.as_bytes())
            .unconditional()
            .fields(coding);
        let mut fields = vec![("x-a".to_owned(), "the server's".to_owned())];
        FieldChange::apply(&changes, &mut fields);
        let expected: Vec<_> = expected
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(fields, expected, "{path}");
    };
    check("/x", ContentCoding::Identity, &[("x-a", "1")]);
    check(
        "/x",
        ContentCoding::Brotli,
        &[("x-a", "1"), ("x-coding", "br")],
    );
    check(
        "/assets/a b",
        ContentCoding::Gzip,
        &[
            ("x-a", "1"),
            ("x-a", "a%20b"),
            ("cache-control", "max-age=9"),
        ],
    );
    check("/bare", ContentCoding::Identity, &[]);
}

#[test]
fn other_origins() {
    let any = rule(pattern("/any/*"), Action::Cors(Cors::default()));
    let named = Cors {
        origins: vec!["https://app.org".to_owned()],
        ..Cors::default()
    };
    let rules = [any, rule(pattern("/named/*"), Action::Cors(named))];
    let compiled = RuleSet::compile(&rules).unwrap();
    assert!(!compiled.for_path(b"/any/x").has_request_conditions());
    let fields = |path: &'static [u8]| {
        compiled
            .for_path(path)
            .unconditional()
            .fields(ContentCoding::Identity)
    };
    let star = FieldChange::new("access-control-allow-origin", true, vec!["*".to_owned()]);
    assert_eq!(fields(b"/any/x"), [star]);
    assert_eq!(
        fields(b"/named/x"),
        [FieldChange::new("vary", false, vec!["origin".to_owned()])]
    );
    let of = |origin: &'static str| {
        let field = move |name: &str| (name == "origin").then_some(origin.as_bytes());
        let request = Request {
            scheme: Scheme::Http,
            host: b"",
            method: b"GET",
            query: None,
            field: &field,
        };
        compiled.for_request(b"/named/x", &request).changes_fields()
    };
    assert!(of("https://app.org"));
    assert!(!of("https://evil.org"));
    let preflight = [
        ("origin", "https://app.org"),
        ("access-control-request-method", "GET"),
    ];
    assert!(route(&rules, "OPTIONS", "/named/x", &preflight).contains("https://app.org"));
    assert!(
        !route(
            &rules,
            "OPTIONS",
            "/named/x",
            &[("origin", "https://evil.org"), preflight[1]]
        )
        .contains("evil")
    );
    assert_eq!(route(&rules, "OPTIONS", "/named/x", &[]), "none");
}

#[test]
fn request_fields_that_are_read() {
    let of = |actions: Vec<Action>, fields: &[&str]| {
        let is_there = |name: &&str| ((*name).to_owned(), FieldTest::Present);
        let rules = [Rule {
            when: Condition {
                fields: fields.iter().map(is_there).collect(),
                ..pattern("/a/*")
            },
            actions,
            ..Rule::default()
        }];
        let rules = RuleSet::compile(&rules).unwrap();
        let names = rules.for_path(b"/a/b").request_fields().join(" ");
        assert_eq!(rules.for_path(b"/b").request_fields(), [""; 0]);
        (names, rules.reads_request_fields())
    };
    let x = || vec![set("x", "1")];
    assert_eq!(of(x(), &[]), (String::new(), false));
    assert_eq!(
        of(x(), &["Save-Data", "DPR"]),
        ("dpr save-data".to_owned(), true)
    );
    // That of a preflight is no condition.
    assert_eq!(
        of(vec![Action::Cors(Cors::default())], &[]),
        (String::new(), true)
    );
}

#[test]
fn passwords_and_error_pages() {
    let auth = |realm: &str| {
        let hash = format!("$2b$12${}", "a".repeat(53));
        let users = vec![User {
            name: "alice".to_owned(),
            hash,
        }];
        Action::BasicAuth(BasicAuth {
            realm: realm.to_owned(),
            users,
        })
    };
    let rules = [
        rule(pattern("/admin/*"), auth("first")),
        rule(
            pattern("/*"),
            Action::ErrorPage(404, "/404.html".to_owned()),
        ),
        rule(
            pattern("/:lang/*"),
            Action::ErrorPage(404, "/:lang/404.html".to_owned()),
        ),
    ];
    let rules = RuleSet::compile(&rules).unwrap();
    let admin = rules.for_path(b"/admin/x").unconditional();
    assert_eq!(admin.basic_auth().unwrap().realm, "first");
    assert_eq!(admin.error_page(404).unwrap(), b"/admin/404.html");
    let root = rules.for_path(b"/x").unconditional();
    assert!(root.basic_auth().is_none());
    assert_eq!(root.error_page(404).unwrap(), b"/404.html");
    assert_eq!(root.error_page(500), None);
}

#[test]
fn a_fault_says_which_rule() {
    let mut wrong = rule(pattern("/a"), Action::Deny(200));
    wrong.place = crate::Place::Line(7);
    let fault = RuleSet::compile(&[rule(pattern("/a"), Action::Deny(404)), wrong]).unwrap_err();
    assert!(fault.to_string().starts_with("line 7: "), "{fault}");
    let many = vec![rule(pattern("/a"), Action::Deny(404)); MOST_RULES + 1];
    assert!(RuleSet::compile(&many).is_err());
}

proptest! {
    /// The index finds exactly the rules that match when asked one by one.
    #[test]
    fn the_index_finds_what_matches(
        patterns in proptest::collection::vec(("/[ab:*/]{0,6}", 0..3usize), 0..20),
        path in "/[abA/]{0,8}",
    ) {
        let dialects = [Dialect::Anywhere, Dialect::Segments, Dialect::HeaderSegments];
        let rules: Vec<Rule> = patterns.into_iter().map(|(text, which)| {
            let path = PathCondition::Pattern(text, dialects[which]);
            rule(Condition { path, ..Condition::default() }, Action::Deny(404))
        }).filter(|rule| CompiledRule::compile(rule).is_ok()).collect();
        let all = RuleSet::compile(&rules).unwrap();
        let one_by_one = all.rules.iter().filter(|rule| match &rule.path {
            CompiledPath::Pattern(pattern) => pattern.captures(path.as_bytes()).is_some(),
            _ => true,
        });
        prop_assert_eq!(all.for_path(path.as_bytes()).matched.len(), one_by_one.count());
    }
}
