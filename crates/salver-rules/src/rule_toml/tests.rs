use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::compiled::CompiledRule;

#[derive(Deserialize)]
struct Rules {
    rule: Vec<RuleToml>,
}

fn parse(text: &str) -> Result<Rule, String> {
    let rules: Rules =
        toml::from_str(&format!("[[rule]]\n{text}")).map_err(|error| error.message().to_owned())?;
    let rule = Rule::try_from(rules.rule[0].clone()).map_err(|fault| fault.to_string())?;
    CompiledRule::compile(&rule).map_err(|fault| fault.to_string())?;
    Ok(rule)
}

#[test]
fn every_key_is_a_rule_that_is_rendered_back() {
    let check = |text: &str, expected: &[Action]| {
        let rule = parse(text).unwrap();
        assert_eq!(rule.actions, expected, "{text}");
        let rendered = render_rules(std::slice::from_ref(&rule)).unwrap();
        let body = rendered
            .strip_prefix("[[site.rule]]\n")
            .unwrap()
            .replace("[site.rule.", "[rule.");
        assert_eq!(parse(&body).unwrap(), rule, "{rendered}");
    };
    let text = |text: &str| text.to_owned();
    check(
        "path = \"/a/**\"\nset = { X-A = \"1\" }",
        &[Action::Set(text("X-A"), text("1"))],
    );
    check(
        "append = { Link = [\"</a>\", \"</b>\"] }\nremove = [\"Server\"]",
        &[
            Action::Remove(text("Server")),
            Action::Append(text("Link"), text("</a>")),
            Action::Append(text("Link"), text("</b>")),
        ],
    );
    check(
        "cache-control = \"no-store\"",
        &[Action::CacheControl(text("no-store"))],
    );
    check("cors = true", &[Action::Cors(Cors::default())]);
    check(
        "cors = { origins = [\"https://a.org\"], credentials = true }",
        &[Action::Cors(Cors {
            origins: vec![text("https://a.org")],
            credentials: true,
            ..Cors::default()
        })],
    );
    check("security = true", &[Action::Security(Security::default())]);
    check(
        "security = { framing = \"deny\", referrer-policy = false }",
        &[Action::Security(Security {
            framing: Framing::Deny,
            referrer_policy: None,
            ..Security::default()
        })],
    );
    check(
        "disposition = \"attachment\"\nfilename = \"a.pdf\"",
        &[Action::Disposition(Disposition::Attachment(Some(text(
            "a.pdf",
        ))))],
    );
    check(
        "disposition = \"inline\"",
        &[Action::Disposition(Disposition::Inline)],
    );
    check(
        "error-page = { 404 = \"/404.html\" }",
        &[Action::ErrorPage(404, text("/404.html"))],
    );
    check(
        "from = \"/a/:x\"\nredirect = \"/b/:x\"\nkeep-query = false\nif-missing = true",
        &[Action::Redirect(Redirect {
            status: 301,
            location: text("/b/:x"),
            keeps_query: false,
            unless_file: true,
        })],
    );
    check(
        "rewrite = [\"/a\", \"/b\"]\nstatus = 404\nif-missing = false",
        &[Action::Rewrite(Rewrite {
            status: 404,
            to: vec![text("/a"), text("/b")],
            unless_file: false,
        })],
    );
    check(
        "rewrite = \"/index.html\"",
        &[Action::Rewrite(Rewrite {
            status: 200,
            to: vec![text("/index.html")],
            unless_file: true,
        })],
    );
    check("deny = true", &[Action::Deny(403)]);
    check("deny = 410", &[Action::Deny(410)]);
    let hash = format!("$2b$12${}", "a".repeat(53));
    check(
        &format!("basic-auth = {{ realm = \"r\", users = {{ alice = \"{hash}\" }} }}"),
        &[Action::BasicAuth(BasicAuth {
            realm: text("r"),
            users: vec![User {
                name: text("alice"),
                hash: hash.clone(),
            }],
        })],
    );
}

#[test]
fn conditions() {
    let text = "deny = true\nscheme = \"http\"\nhost = [\"*.a.org\"]\nmethod = [\"GET\"]\nquery = { id = \":id\", a = \"1\", b = true, c = false }\nfield = { x = \"1\", y = true, z = false }\nfield-contains = { accept = \"webp\" }";
    let rule = parse(text).unwrap();
    assert_eq!(rule.when.scheme, Some(Scheme::Http));
    assert_eq!(
        rule.when.query,
        [
            ("a".to_owned(), QueryTest::Is("1".to_owned())),
            ("b".to_owned(), QueryTest::Present),
            ("c".to_owned(), QueryTest::Absent),
            ("id".to_owned(), QueryTest::Capture("id".to_owned())),
        ]
    );
    assert_eq!(
        rule.when.fields[3],
        ("accept".to_owned(), FieldTest::Contains("webp".to_owned()))
    );
    let rendered = render_rules(std::slice::from_ref(&rule)).unwrap();
    let body = rendered
        .strip_prefix("[[site.rule]]\n")
        .unwrap()
        .replace("[site.rule.", "[rule.");
    assert_eq!(parse(&body).unwrap(), rule, "{rendered}");
    assert_eq!(
        parse("coding = [\"br\"]\nset = { a = \"b\" }")
            .unwrap()
            .when
            .codings,
        [ContentCoding::Brotli]
    );
}

#[test]
fn faults() {
    let check = |text: &str, expected: &str| {
        let fault = parse(text).unwrap_err();
        assert!(fault.contains(expected), "{text}: {fault}");
    };
    check("paths = \"/a\"", "unknown field `paths`");
    check(
        "path = \"/a\"\nfrom = \"/a\"\ndeny = true",
        "both path and from",
    );
    check("path = \"/a\"", "does nothing");
    check("deny = false", "does nothing");
    check("deny = true\nstatus = 404", "nothing that they belong to");
    check(
        "rewrite = \"/a\"\nkeep-query = true",
        "nothing that they belong to",
    );
    check("set = { a = \"1\" }\nfilename = \"x\"", "filename without");
    check(
        "coding = [\"lzma\"]\nset = { a = \"1\" }",
        "not a content coding",
    );
    check("error-page = { abc = \"/a\" }", "not a status");
    check("redirect = \"/a\"\ndeny = true", "does so again");
    check("cors = { origin = [] }", "did not match");
}

#[test]
fn a_hash_is_not_shown() {
    let rule: RuleToml =
        toml::from_str("basic-auth = { realm = \"r\", users = { alice = \"secret\" } }").unwrap();
    assert!(!format!("{rule:?}").contains("secret"));
}

/// The schema of a rule is what `docs/` has, from which salver-config makes that of the whole file.
/// `SALVER_REWRITE=1` writes it anew.
#[test]
fn the_schema_is_that_of_the_keys() {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    // Within another schema, where a reference would lead elsewhere.
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<RuleToml>();
    schema.remove("title");
    let text = format!("{:#}\n", schema.as_value());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rule.schema.json");
    if std::env::var_os("SALVER_REWRITE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/rule.schema.json is another: SALVER_REWRITE=1 cargo test -p salver-rules writes it anew"
    );
}
