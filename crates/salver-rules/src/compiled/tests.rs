use super::*;
use crate::rule::{Condition, Redirect, Rewrite, User};

fn compile_all(actions: Vec<Action>) -> Result<CompiledRule, Fault> {
    CompiledRule::compile(&Rule {
        actions,
        ..Rule::default()
    })
}

/// The fault of these actions holds this text.
fn check(actions: Vec<Action>, expected: &str) {
    let fault = compile_all(actions).unwrap_err().to_string();
    assert!(fault.contains(expected), "{fault}");
}

#[test]
fn faults() {
    check(vec![], "does nothing");
    check(
        vec![Action::Deny(404), Action::Deny(403)],
        "and does so again",
    );
    check(vec![Action::Deny(401)], "401 cannot be answered");
    check(vec![Action::Deny(302)], "302 cannot be answered");
    check(
        vec![Action::ErrorPage(200, "/a".to_owned())],
        "not the status of an error",
    );
    for about_one in [406, 412, 416] {
        check(
            vec![Action::ErrorPage(about_one, "/a".to_owned())],
            "have no page",
        );
    }
    check(
        vec![Action::Set("ETag".to_owned(), "x".to_owned())],
        "the server's own",
    );
    check(
        vec![Action::Set("x".to_owned(), "a\nb".to_owned())],
        "not a field value",
    );
    check(
        vec![Action::Append("x".to_owned(), "a".to_owned()); MOST_ACTIONS + 1],
        "too many actions",
    );
    let rewrite = |status, to: Vec<String>| {
        vec![Action::Rewrite(Rewrite {
            status,
            to,
            unless_file: true,
        })]
    };
    check(rewrite(200, vec![]), "no path");
    check(
        rewrite(301, vec!["/a".to_owned()]),
        "301 cannot be answered",
    );
    let redirect = |status| {
        let location = "/a".to_owned();
        vec![Action::Redirect(Redirect {
            status,
            location,
            keeps_query: true,
            unless_file: false,
        })]
    };
    check(redirect(300), "not the status of a redirect");
    assert!(compile_all(redirect(308)).is_ok());
}

#[test]
fn a_rule_for_a_coding_changes_fields_only() {
    let when = Condition {
        codings: vec![ContentCoding::Brotli],
        ..Condition::default()
    };
    let rule = |action| Rule {
        when: when.clone(),
        actions: vec![action],
        ..Rule::default()
    };
    assert!(CompiledRule::compile(&rule(Action::Set("x-a".to_owned(), "1".to_owned()))).is_ok());
    assert!(CompiledRule::compile(&rule(Action::Deny(404))).is_err());
}

#[test]
fn passwords_are_hashes() {
    let check = |name: &str, hash: &str, expected: bool| {
        let users = vec![User {
            name: name.to_owned(),
            hash: hash.to_owned(),
        }];
        let auth = BasicAuth {
            realm: "x".to_owned(),
            users,
        };
        assert_eq!(
            compile_all(vec![Action::BasicAuth(auth)]).is_ok(),
            expected,
            "{name} {hash}"
        );
    };
    let bcrypt = format!("$2b$12${}", "a".repeat(53));
    check("alice", &bcrypt, true);
    check(
        "alice",
        "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g",
        true,
    );
    check("alice", "secret", false);
    check("alice", "$argon2i$v=19$m=1,t=1,p=1$a$b", false);
    check("al:ice", &bcrypt, false);
    check("", &bcrypt, false);
}

#[test]
fn a_hash_is_not_shown() {
    let user = User {
        name: "alice".to_owned(),
        hash: "$2b$12$secret".to_owned(),
    };
    assert_eq!(format!("{user:?}"), "User { name: \"alice\", .. }");
}

#[test]
fn dispositions() {
    let check = |name: &str, expected: &str| {
        assert_eq!(
            disposition_value(&Disposition::Attachment(Some(name.to_owned()))),
            expected
        );
    };
    check("a b.pdf", "attachment; filename=\"a b.pdf\"");
    check(
        "\"\r\n/é",
        "attachment; filename=\"_____\"; filename*=UTF-8''%22%0D%0A%2F%C3%A9",
    );
    assert_eq!(
        disposition_value(&Disposition::Attachment(None)),
        "attachment"
    );
    assert_eq!(disposition_value(&Disposition::Inline), "inline");
}
