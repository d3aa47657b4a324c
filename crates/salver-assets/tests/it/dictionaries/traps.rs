//! Requests that must have nothing to do with dictionaries, and names that no pattern can have.

use super::*;

/// The answer to a GET as who has `old`, with these fields in the place of the usual ones.
fn get_with(site: &Site, old: &str, fields: &[(&str, &str)], context: SecureContext<'_>) -> Answer {
    let all = [("Accept-Encoding", BROWSER), ("Available-Dictionary", old)];
    let all: Vec<_> = all.iter().chain(fields).copied().collect();
    let mut request = request(Method::Get, "/app.8b1d90e4.js", &all);
    request.secure_context = context;
    site.ask(&request)
}

#[test]
fn who_could_not_read_the_answer_gets_nothing_of_it() {
    let tree = Tree::new();
    let (site, old, new) = deployed(&tree);
    until(&site, "/app.8b1d90e4.js", BROWSER, &old, "dcb");
    let old = &*available(&old);
    let check = |fields: &[(&str, &str)], context, is_offered: bool, expected: bool| {
        let answer = get_with(&site, old, fields, context);
        let (coding, offer) = (coding(&answer), answer.field("Use-As-Dictionary"));
        let vary = match is_offered {
            true => "Accept-Encoding, Available-Dictionary",
            false => "Accept-Encoding",
        };
        assert_eq!(answer.status, 200);
        assert_eq!(coding == "dcb", expected, "{fields:?} {context:?}");
        assert_eq!(!offer.is_empty(), is_offered, "{fields:?} {context:?}");
        assert_eq!(answer.field("Vary"), vary, "{fields:?} {context:?}");
        assert!(coding == "dcb" || coding == "br" || answer.body == new);
    };
    let tls = SecureContext::Secure;
    check(&[OWN], tls, true, true);
    check(&[("Sec-Fetch-Site", "none")], tls, true, true);
    // In the clear, but to this machine.
    check(&[OWN], SecureContext::ByHost(b"localhost:8080"), true, true);
    check(&[OWN], SecureContext::ByHost(b"[::1]"), true, true);
    check(&[OWN], SecureContext::ByHost(b"example.org"), false, false);
    check(
        &[OWN],
        SecureContext::ByHost(b"localhost.example.org"),
        false,
        false,
    );
    check(&[OWN], SecureContext::Insecure, false, false);
    // Of another site.
    let cross = ("Sec-Fetch-Site", "cross-site");
    check(&[cross], tls, false, false);
    check(&[cross, ("Sec-Fetch-Mode", "no-cors")], tls, false, false);
    check(
        &[
            ("Sec-Fetch-Site", "same-site"),
            ("Sec-Fetch-Mode", "no-cors"),
        ],
        tls,
        false,
        false,
    );
    check(&[cross, ("Sec-Fetch-Mode", "cors")], tls, false, false);
    check(&[OWN, OWN], tls, false, false);
    check(&[("Sec-Fetch-Site", "new-word")], tls, false, false);
    // From no browser that has dictionaries, or from a cache that asks for such.
    check(&[], tls, true, false);
}

#[test]
fn pages_of_other_origins_get_it_where_all_may_read_it() {
    let (old, new) = (script(1), script(2));
    let files = [("app.3f9a1c2b.js", &*old), ("app.8b1d90e4.js", &*new)];
    let rules = headers("/*\n  Access-Control-Allow-Origin: *\n");
    let mount = Mount::tree("/", memory(&files)).with_rules(rules);
    let site = Site::new(config(mount));
    send(&site, "/app.3f9a1c2b.js");
    until(&site, "/app.8b1d90e4.js", BROWSER, &old, "dcb");
    let cross = ("Sec-Fetch-Site", "cross-site");
    for (mode, expected) in [("cors", "dcb"), ("no-cors", "")] {
        let fields = [cross, ("Sec-Fetch-Mode", mode)];
        let answer = get_with(&site, &available(&old), &fields, SecureContext::Secure);
        let found = Some(coding(&answer)).filter(|coding| *coding == "dcb");
        assert_eq!(found.unwrap_or_default(), expected, "{mode}");
    }
}

#[test]
fn other_values_than_that_of_a_known_version_are_ignored() {
    let tree = Tree::new();
    let (site, old, new) = deployed(&tree);
    until(&site, "/app.8b1d90e4.js", BROWSER, &old, "dcb");
    let made = site.engine.statistics().codings_made;
    let right = available(&old);
    let bare = right.trim_matches(':');
    for wrong in [
        String::new(),
        ":".to_owned(),
        "::".to_owned(),
        bare.to_owned(),
        format!(":{bare}"),
        format!("{bare}:"),
        format!("\"{bare}\""),
        right.replace('=', ""),
        right.to_lowercase(),
        // Two lines are joined so (RFC 9110 section 5.3): the value of no client.
        format!("{right}, {right}"),
        format!("{right};a"),
        format!(" {right}"),
        available(&new),
        available(b"something else"),
        ":".repeat(10_000),
    ] {
        let answer = get_with(&site, &wrong, &[OWN], SecureContext::Secure);
        assert_eq!(answer.status, 200, "{wrong}");
        assert!(matches!(coding(&answer), "" | "br"), "{wrong}");
        idle(&site);
    }
    // Nothing is made because of them but a coding for all.
    assert!(site.engine.statistics().codings_made <= made + 1);
}

#[test]
fn only_versions_of_the_same_name_count() {
    let tree = Tree::new();
    let (old, new) = (script(1), script(2));
    tree.write("app.3f9a1c2b.js", &old);
    tree.write("other/app.3f9a1c2b.js", script(3));
    tree.write("app.3f9a1c2b.css", script(4));
    tree.write("app2.3f9a1c2b.js", script(5));
    tree.write("app.8b1d90e4.js", &new);
    let site = site(&tree);
    for path in [
        "/other/app.3f9a1c2b.js",
        "/app.3f9a1c2b.css",
        "/app2.3f9a1c2b.js",
    ] {
        send(&site, path);
    }
    for other in [script(1), script(3), script(4), script(5)] {
        for _ in 0..2 {
            let answer = get(&site, "/app.8b1d90e4.js", "dcb, dcz", &other);
            assert_eq!(coding(&answer), "");
            idle(&site);
        }
    }
}

#[test]
fn names_with_a_meaning_in_patterns() {
    let tree = Tree::new();
    let check = |name: &str, target: &str, expected: Option<&str>| {
        if cfg!(windows) && name.contains(['*', '?', '"', ':', '\\']) {
            return;
        }
        tree.write(name, script(1));
        let site = site(&tree);
        let answer = send(&site, &format!("/{target}"));
        let field = answer.field("Use-As-Dictionary");
        let pattern = field
            .strip_prefix("match=\"")
            .and_then(|rest| rest.split('"').next());
        assert_eq!(pattern, expected, "{name}");
        tree.remove(name);
    };
    check("a+b.3f9a1c2b.js", "a+b.3f9a1c2b.js", Some("a\\\\+b.*.js"));
    check(
        "a(1).3f9a1c2b.js",
        "a(1).3f9a1c2b.js",
        Some("a\\\\(1\\\\).*.js"),
    );
    check("a*.3f9a1c2b.js", "a*.3f9a1c2b.js", Some("a\\\\*.*.js"));
    check(
        "a{b}.3f9a1c2b.js",
        "a%7Bb%7D.3f9a1c2b.js",
        Some("a%7Bb%7D.*.js"),
    );
    check("a?.3f9a1c2b.js", "a%3F.3f9a1c2b.js", Some("a%3F.*.js"));
    check("a b.3f9a1c2b.js", "a%20b.3f9a1c2b.js", Some("a%20b.*.js"));
    check("a\"b.3f9a1c2b.js", "a%22b.3f9a1c2b.js", Some("a%22b.*.js"));
    check("a:b.3f9a1c2b.js", "a:b.3f9a1c2b.js", None);
    check("[a].3f9a1c2b.js", "[a].3f9a1c2b.js", None);
    check("a\\b.3f9a1c2b.js", "a%5Cb.3f9a1c2b.js", None);
    // Nothing but a fingerprint, and none.
    check("3f9a1c2b5d6e7f80.js", "3f9a1c2b5d6e7f80.js", None);
    check("app.js", "app.js", None);
}

#[test]
fn what_may_not_be_kept_or_changed_is_no_dictionary() {
    let rule = |text: &str| {
        let mount = Mount::tree("/", memory(&[("app.3f9a1c2b.js", &*script(1))]));
        let site = Site::new(config(mount.with_rules(headers(text))));
        site.get("/app.3f9a1c2b.js", &[OWN])
            .field("Use-As-Dictionary")
            .to_owned()
    };
    assert!(!rule("/*\n  X-A: b\n").is_empty());
    assert_eq!(rule("/*\n  Cache-Control: no-store\n"), "");
    assert_eq!(rule("/*\n  Cache-Control: public, no-transform\n"), "");
    // Where it is off there is none either.
    let mount = || Mount::tree("/", memory(&[("app.3f9a1c2b.js", &*script(1))]));
    for (compress, dictionaries) in [(true, false), (false, true)] {
        let site = Site::new(Config {
            compress,
            dictionaries,
            ..config(mount())
        });
        let answer = site.get("/app.3f9a1c2b.js", &[OWN]);
        assert_eq!(answer.field("Use-As-Dictionary"), "");
        assert!(!answer.field("Vary").contains("Dictionary"));
    }
    // What is too short for it, and what does not get smaller.
    let files = [
        ("a.3f9a1c2b.js", &b"short"[..]),
        ("b.3f9a1c2b.png", &[0; 5000]),
    ];
    let site = Site::new(config(Mount::tree("/", memory(&files))));
    for path in ["/a.3f9a1c2b.js", "/b.3f9a1c2b.png"] {
        assert_eq!(
            site.get(path, &[OWN]).field("Use-As-Dictionary"),
            "",
            "{path}"
        );
    }
}
