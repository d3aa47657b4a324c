use proptest::prelude::*;
use salver_semantics::ContentCoding;

use super::*;
use crate::field_change::FieldChange;
use crate::rule_set::RuleSet;

/// The fields that a file sets for a path of `www.example.org`, as `name: value` lines.
fn fields(compat: Compat, file: &str, path: &str) -> Vec<String> {
    let rules = RuleSet::compile(&parse_headers(file.as_bytes(), compat).rules).unwrap();
    let request = crate::Request {
        scheme: crate::Scheme::Https,
        host: b"www.example.org",
        method: b"GET",
        query: None,
        field: &|_| None,
    };
    let changes = rules
        .for_request(path.as_bytes(), &request)
        .fields(ContentCoding::Identity);
    let mut fields = vec![("x-own".to_owned(), "1".to_owned())];
    FieldChange::apply(&changes, &mut fields);
    fields
        .into_iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .filter(|line| line != "x-own: 1")
        .collect()
}

fn faults(compat: Compat, file: &str) -> Vec<String> {
    parse_headers(file.as_bytes(), compat)
        .faults
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn netlify_fields() {
    let check = |file: &str, path: &str, expected: &[&str]| {
        assert_eq!(fields(Compat::Netlify, file, path), expected, "{file}");
    };
    check("/*\n  X-A: 1", "/x", &["x-a: 1"]);
    check("/*\nX-A: 1\n/x\nX-A: 2", "/x", &["x-a: 2"]);
    check("/*\nX-A: 1,2 ,3\nX-A: 4", "/x", &["x-a: 1, 2, 3, 4"]);
    check(
        "\u{feff}/T/*\r\n\tX-A: a:b # c\r\n",
        "/t/y",
        &["x-a: a:b # c"],
    );
    check("/:p\nX-A: :p", "/x", &["x-a: :p"]);
}

#[test]
fn cloudflare_fields() {
    let check = |file: &str, path: &str, expected: &[&str]| {
        assert_eq!(fields(Compat::Cloudflare, file, path), expected, "{file}");
    };
    check("/*\n  X-A: 1\n/x\n  X-A: 2", "/x", &["x-a: 1, 2"]);
    check("/*\n  X-A: 1\n/x\n  ! X-A\n  X-B: 2", "/x", &["x-b: 2"]);
    check("/*\n  ! X-Own", "/x", &[]);
    check(
        "/x/:a/*\nLink: </:a/:splat>",
        "/x/1/2/3",
        &["link: </1/2/3>"],
    );
    check(
        "https://:sub.example.org/*\nX-A: :sub-:splat",
        "/q",
        &["x-a: www-q"],
    );
    check("https://other.org/*\nX-A: 1", "/q", &[]);
    check(
        "/x\nX-A: 1\n/*\nX-B: 1\n/x\nX-C: 1",
        "/x",
        &["x-c: 1", "x-b: 1"],
    );
    check("/x\nX-A: 1\nX-a: 2", "/x", &["x-a: 1, 2"]);
}

#[test]
fn netlify_faults() {
    let check = |file: &str, expected: &str| {
        let faults = faults(Compat::Netlify, file);
        assert!(
            faults.len() == 1 && faults[0].contains(expected),
            "{faults:?}"
        );
    };
    check(
        "X-A: 1\n/*\nX-B: 2",
        "line 1: the field \"X-A\" stands before any path",
    );
    check("/*\n! X-A", "line 2: \"! X-A\" has no colon");
    check("/*\n: x", "line 2: a field has no name");
    check("/*\nX-A:", "line 2: the field \"X-A\" has no value");
    check("/*\nContent-Length: 0", "line 2: the field content-length");
    check("/*\nX-A: a\rb", "line 2: \"a\\u{d}b\" is not a field value");
    check(
        "/*\n\nhttps://a.org/*",
        "line 3: \"https://a.org/*\" is not a path",
    );
    check("/*\nBasic-Auth: a:b", "line 2: Basic-Auth holds passwords");
}

#[test]
fn what_was_closed_by_a_password_stays_closed() {
    let parsed = parse_headers(
        b"/secret/*\nBasic-Auth: alice:secret\nX-A: 1",
        Compat::Netlify,
    );
    let rules = RuleSet::compile(&parsed.rules).unwrap();
    let outcome = rules.for_path(b"/secret/x").unconditional();
    assert_eq!(outcome.route(), Some(crate::Route::Deny { status: 403 }));
    let fields = format!(
        "{:?} {:?}",
        outcome.fields(ContentCoding::Identity),
        parsed.faults
    );
    assert!(!fields.contains("alice"));
}

#[test]
fn cloudflare_faults() {
    let check = |file: &str, expected: &str| {
        let faults = faults(Compat::Cloudflare, file);
        assert!(
            faults.len() == 1 && faults[0].contains(expected),
            "{faults:?}"
        );
    };
    check(
        "X-A: 1\n/*\nX-B: 2",
        "line 1: the field \"X-A\" stands before any path",
    );
    check("/*", "line 1: the path has no fields");
    check("/*/*\nX-A: 1", "line 1: \"/*/*\" has more than one splat");
    check("/:splat/*\nX-A: 1", "more than one splat");
    check(
        "http://a.org/*\nX-A: 1",
        "line 1: \"http://a.org/*\" is neither",
    );
    check("https://a.org:80/*\nX-A: 1", "has a port");
    check("/*\nX-A: 1\nX B: 1", "line 3: \"X B\" is not the name");
    check("/*\nX-A: 1\n!X-B", "line 3: \"!X-B\" has no colon");
    check("/*\nX-A: 1\n! X B", "line 3: \"X B\" is not the name");
    check(
        "/a\nX-A: 1\n/a\nX-A: 2",
        "line 3: the path \"/a\" stands here again",
    );
    check(
        &format!("/a\nX-A: {}", "x".repeat(2_000)),
        "line 2: the line has 2005 characters",
    );
    let many: String = (0..101).map(|at| format!("/{at}\nX-A: 1\n")).collect();
    check(&many, "line 201: Cloudflare reads 100 blocks");
    assert_eq!(
        parse_headers(many.as_bytes(), Compat::Cloudflare)
            .rules
            .len(),
        101
    );
}

#[test]
fn a_hostile_file_costs_little() {
    let many: String = std::iter::once("/*\n".to_owned())
        .chain((0..200_000).map(|at| format!("x{at}: y\n")))
        .collect();
    for compat in [Compat::Netlify, Compat::Cloudflare] {
        let parsed = parse_headers(many.as_bytes(), compat);
        assert_eq!(parsed.rules[0].actions.len(), MOST_ACTIONS - 1);
        assert_eq!(parsed.faults.len(), crate::limits::MOST_FAULTS + 1);
    }
}

proptest! {
    #[test]
    fn any_file_gives_rules_that_compile(file in "([/*:a! \n#.-]|https://|X-A: ){0,60}", netlify: bool) {
        let compat = if netlify { Compat::Netlify } else { Compat::Cloudflare };
        let parsed = parse_headers(file.as_bytes(), compat);
        prop_assert!(RuleSet::compile(&parsed.rules).is_ok());
        prop_assert!(parsed.faults.iter().all(|fault| !fault.to_string().contains('\n')));
    }

    #[test]
    fn no_bytes_make_it_panic(file: Vec<u8>, netlify: bool) {
        let compat = if netlify { Compat::Netlify } else { Compat::Cloudflare };
        prop_assert!(RuleSet::compile(&parse_headers(&file, compat).rules).is_ok());
    }
}
