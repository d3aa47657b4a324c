use proptest::prelude::*;

use super::*;
use crate::outcome::Route;
use crate::request::Request;
use crate::rule_set::RuleSet;

/// The route that a file gives a request for a target of `http://www.example.org`, as a line; `!` where it goes
/// before a file.
fn route(compat: Compat, file: &str, target: &str) -> String {
    let parsed = parse_redirects(file.as_bytes(), compat);
    let rules = RuleSet::compile(&parsed.rules).unwrap();
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let request = Request {
        scheme: Scheme::Http,
        host: b"www.example.org:8080",
        method: b"GET",
        query: query.map(str::as_bytes),
        field: &|_| None,
    };
    let mark = |unless_file| if unless_file { "" } else { "!" };
    match rules.for_request(path.as_bytes(), &request).route() {
        Some(Route::Redirect {
            status,
            location,
            unless_file,
        }) => {
            format!(
                "{status}{} {}",
                mark(unless_file),
                location.for_query(request.query).unwrap()
            )
        }
        Some(Route::Rewrite {
            status,
            paths,
            unless_file,
        }) => {
            format!(
                "{status}{} {}",
                mark(unless_file),
                String::from_utf8_lossy(&paths.concat())
            )
        }
        None => format!(
            "none {}",
            parsed
                .faults
                .iter()
                .map(ToString::to_string)
                .collect::<String>()
        ),
        other => format!("{other:?}"),
    }
}

#[test]
fn netlify() {
    let check = |file: &str, target: &str, expected: &str| {
        assert_eq!(route(Compat::Netlify, file, target), expected, "{file}");
    };
    check("/a /b", "/a", "301 /b");
    check("/a /b", "/a/", "301 /b");
    check("a /b", "/a", "301 /b");
    check("/a /b 302! # why", "/a?q=1", "302! /b?q=1");
    check("/news/* /blog/:splat", "/news/1/2", "301 /blog/1/2");
    check("/news/* /blog/:splat", "/news", "301 /blog/");
    check(
        "/n/:y/:m /b/:m-:y.html 200",
        "/n/24/12",
        "200 /b/12-24.html",
    );
    check("/* /index.html 200", "/x/y", "200 /index.html");
    check("/en/* /en/404.html 404", "/en/x", "404 /en/404.html");
    check("/app/* 200!", "/app/x", "200! /app/x");
    check(
        "/store id=:id /item/:id 308",
        "/store?id=7",
        "308 /item/7?id=7",
    );
    check("/store id=:id /item/:id", "/store", "none ");
    check("/store lang=de /de", "/store?lang=de", "301 /de?lang=de");
    check(
        "http://www.example.org/* https://example.org/:splat",
        "/x",
        "301 https://example.org/x",
    );
    check(
        "https://www.example.org/* https://example.org/:splat",
        "/x",
        "none ",
    );
    check(
        "http://example.org/* https://example.org/:splat",
        "/x",
        "none ",
    );
    check("/a /b\n/a /c", "/a", "301 /b");
    check("/a /a/\n/a/ /c 302", "/a/", "302 /c");
    check(
        "/a https://b.org/#frag",
        "/a?q",
        "301 https://b.org/?q#frag",
    );
}

#[test]
fn cloudflare() {
    let check = |file: &str, target: &str, expected: &str| {
        assert_eq!(route(Compat::Cloudflare, file, target), expected, "{file}");
    };
    check("/a /b", "/a?q=1", "302! /b?q=1");
    check("/a /b", "/a/", "none ");
    check(
        "a /b 301#x 302",
        "/a",
        "none line 1: the line has 4 words; write path, target and status; conditions are Netlify's, and not supported",
    );
    check("a /b 301 # x 302", "/a", "301! /b");
    check("/a /b#frag 303", "/a", "303! /b#frag");
    check("/a/../x /b/../y", "/x", "302! /y");
    check("/*/x /:splat 307", "/a/b/x", "307! /a/b");
    check("/p:x /q/:x", "/page", "302! /q/age");
    check("/* /x 301\n/a /b", "/a", "301! /x");
    check("/a /b 200", "/a", "200! /b");
    check("/a//b /c", "/a", "none ");
}

#[test]
fn netlify_faults() {
    let check = |line: &str, expected: &str| {
        let parsed = parse_redirects(format!("\n{line}\n/ok /fine").as_bytes(), Compat::Netlify);
        let faults: Vec<_> = parsed.faults.iter().map(ToString::to_string).collect();
        assert!(
            faults.len() == 1 && faults[0].starts_with("line 2: ") && faults[0].contains(expected),
            "{faults:?}"
        );
        assert_eq!(parsed.rules.len(), 1);
    };
    check("/a", "no target");
    check("/a b", "no target");
    check("/a 200", "no target");
    check("/a 301", "no target");
    check("/a x /b", "neither a target nor a query parameter");
    check(
        "/a /b 301 Country=de",
        "the condition \"Country=de\" is not supported",
    );
    check("/a /b 200! Role=admin", "not supported");
    check("/a /b 302 Language=de,en", "not supported");
    check("/a /b Language=de", "not a status");
    check("/a /b 401", "401 cannot be answered");
    check("/a /b 99999", "cannot be answered");
    check("/a https://b.org/ 200", "fetched from another server");
    check("/.netlify/x /b", "Netlify's own");
    check("/a*b /c", "not a whole segment");
    check("/a //evil.org", "another host");
    check("/:h https://:h/", "choose the host");
}

#[test]
fn cloudflare_faults() {
    let check = |line: &str, expected: &str| {
        let parsed = parse_redirects(
            format!("\n{line}\n/ok /fine").as_bytes(),
            Compat::Cloudflare,
        );
        let faults: Vec<_> = parsed.faults.iter().map(ToString::to_string).collect();
        assert!(
            faults.len() == 1 && faults[0].starts_with("line 2: ") && faults[0].contains(expected),
            "{faults:?}"
        );
        assert_eq!(parsed.rules.len(), 1);
    };
    check("/a", "1 words");
    check("/a /b 404", "no status \"404\"");
    check("/a /b 302!", "no status");
    check("/a http://b.org", "neither a path nor an https URL");
    check("https://a.org/ /b", "is a URL");
    check("/a https://b.org 200", "another server");
    check("/* /index.html 200", "leads back");
    check("/ /index", "leads back");
    check("/a //evil.org", "another host");
}

#[test]
fn cloudflare_limits_are_warnings() {
    let many: String = (0..2_001)
        .map(|at| format!("/{at} /x\n"))
        .chain((0..101).map(|at| format!("/{at}/* /x\n")))
        .collect();
    let parsed = parse_redirects(format!("{many}/7 /y\n").as_bytes(), Compat::Cloudflare);
    let faults: Vec<_> = parsed.faults.iter().map(ToString::to_string).collect();
    assert!(
        faults[0].starts_with("line 2001: Cloudflare takes 2000 literal paths"),
        "{faults:?}"
    );
    assert!(
        faults[1].starts_with("line 2102: Cloudflare takes 100 paths with placeholders"),
        "{faults:?}"
    );
    assert!(
        faults[2].starts_with("line 2103: the path \"/7\" stands here again"),
        "{faults:?}"
    );
    assert_eq!((faults.len(), parsed.rules.len()), (3, 2_102));
}

proptest! {
    #[test]
    fn any_file_gives_rules_that_compile(file in "([/*:a! \n#.=?-]|https://|/a |/b |20[0-9]|301){0,60}", netlify: bool) {
        let compat = if netlify { Compat::Netlify } else { Compat::Cloudflare };
        let parsed = parse_redirects(file.as_bytes(), compat);
        prop_assert!(RuleSet::compile(&parsed.rules).is_ok());
        prop_assert!(parsed.faults.iter().all(|fault| !fault.to_string().contains('\n')));
    }

    #[test]
    fn no_bytes_make_it_panic(file: Vec<u8>, netlify: bool) {
        let compat = if netlify { Compat::Netlify } else { Compat::Cloudflare };
        prop_assert!(RuleSet::compile(&parse_redirects(&file, compat).rules).is_ok());
    }
}
