//! `[[site.rule]]` and `[site.error-pages]` as a person writes them: each action, over HTTP/1.1 and HTTP/2.

use std::path::Path;

use tempfile::TempDir;

use crate::common::curl::{Answer, VERSIONS, curl};
use crate::common::{Running, run, site, stop};

/// A folder with `salver.toml` and a root.
fn folder(configuration: &str) -> TempDir {
    site(&[
        ("salver.toml", configuration),
        ("dist/index.html", "<p>home"),
        ("dist/a.txt", "alpha"),
        ("dist/b.txt", "beta"),
        ("dist/docs/page.html", "<p>page"),
        ("dist/private/x.txt", "secret"),
        ("dist/.hidden", "hidden"),
        ("dist/e/400.html", "<p>bad"),
        ("dist/e/404.html", "<p>lost"),
        ("dist/e/405.html", "<p>no"),
        ("dist/e/gone.html", "<p>gone"),
        ("dist/e/own.html", "<p>own"),
    ])
}

fn ask(server: &Running, version: &str, target: &str, more: &[&str]) -> Answer {
    let url = format!("http://{}{target}", server.addr);
    curl(&[&[version, &url], more].concat())
}

/// Serves by this file, and checks over each version; each twice, so that the second is from the cache.
fn over_all(configuration: &str, check: impl Fn(&dyn Fn(&str, &[&str]) -> Answer)) {
    let folder = folder(configuration);
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        for _ in 0..2 {
            check(&|target, more| ask(&server, version, target, more));
        }
    }
    stop(server);
}

#[test]
fn fields_are_set_appended_and_removed() {
    let text = "[[site]]\nroot = 'dist'\n\
                [[site.rule]]\npath = '/*.txt'\nset = { X-One = '1', Content-Language = 'de' }\n\
                append = { Link = ['</a>; rel=x', '</b>; rel=y'] }\nremove = ['X-Content-Type-Options']\n\
                cache-control = 'public, max-age=77'\n\
                [[site.rule]]\nfrom = '/docs/:name'\nset = { X-Name = ':name' }\n\
                [[site.rule]]\npath = '/b.txt'\nset = { X-One = '2' }\ndisposition = 'attachment'\nfilename = 'B 2.txt'\n";
    over_all(text, |ask| {
        let a = ask("/a.txt", &[]);
        assert_eq!((a.status, &*a.content), (200, "alpha"));
        assert_eq!(
            (&*a.field("x-one"), &*a.field("content-language")),
            ("1", "de")
        );
        assert_eq!(a.field("link"), "</a>; rel=x, </b>; rel=y");
        assert_eq!(a.field("x-content-type-options"), "");
        assert_eq!(a.field("cache-control"), "public, max-age=77");
        let b = ask("/b.txt", &[]);
        assert_eq!(b.field("x-one"), "2");
        let disposition = b.field("content-disposition");
        assert!(
            disposition.starts_with("attachment; ") && disposition.contains("B 2.txt"),
            "{disposition}"
        );
        assert_eq!(ask("/docs/page.html", &[]).field("x-name"), "page.html");
        assert_eq!(ask("/", &[]).field("x-one"), "");
        let tag = a.field("etag");
        let again = ask("/a.txt", &["--header", &format!("If-None-Match: {tag}")]);
        assert_eq!((again.status, &*again.field("x-one")), (304, "1"));
        let head = ask("/a.txt", &["--head"]);
        assert_eq!(
            (head.status, &*head.field("x-one"), &*head.content),
            (200, "1", "")
        );
        let part = ask("/a.txt", &["--header", "Range: bytes=1-2"]);
        assert_eq!(
            (part.status, &*part.field("x-one"), &*part.content),
            (206, "1", "lp")
        );
    });
}

#[test]
fn one_switch_sets_what_keeps_browsers_safe() {
    let text = "[[site]]\nroot = 'dist'\n[[site.rule]]\npath = '/**'\nsecurity = true\n\
                [[site.rule]]\npath = '/a.txt'\nsecurity = { framing = 'deny', referrer-policy = false }\n";
    over_all(text, |ask| {
        let page = ask("/", &[]);
        assert!(
            page.field("content-security-policy")
                .contains("default-src 'self'")
        );
        assert_eq!(page.field("x-frame-options"), "SAMEORIGIN");
        assert_eq!(page.field("x-content-type-options"), "nosniff");
        assert_eq!(
            page.field("referrer-policy"),
            "strict-origin-when-cross-origin"
        );
        assert!(page.field("permissions-policy").contains("camera=()"));
        assert_eq!(ask("/a.txt", &[]).field("x-frame-options"), "DENY");
        assert_eq!(ask("/none", &[]).field("x-frame-options"), "SAMEORIGIN");
    });
    // Without a rule the type is what it says it is all the same.
    over_all("root = 'dist'\n", |ask| {
        assert_eq!(ask("/", &[]).field("x-content-type-options"), "nosniff");
    });
}

#[test]
fn other_origins_may_read_what_is_shared() {
    let text = "[[site]]\nroot = 'dist'\n[[site.rule]]\npath = '/a.txt'\ncors = true\n\
                [[site.rule]]\npath = '/b.txt'\n\
                cors = { origins = ['https://b.test'], methods = ['GET'], max-age = 5, credentials = true }\n";
    over_all(text, |ask| {
        assert_eq!(ask("/a.txt", &[]).field("access-control-allow-origin"), "*");
        let from = |origin: &str| {
            let answer = ask("/b.txt", &["--header", &format!("Origin: {origin}")]);
            assert!(answer.field("vary").contains("origin"), "{answer:?}");
            answer.field("access-control-allow-origin")
        };
        assert_eq!(from("https://b.test"), "https://b.test");
        assert_eq!(from("https://c.test"), "");
        let asks = "Access-Control-Request-Method: GET";
        let origin = "Origin: https://b.test";
        let preflight = ask(
            "/b.txt",
            &["--request", "OPTIONS", "--header", asks, "--header", origin],
        );
        assert_eq!(preflight.status, 204);
        assert_eq!(preflight.field("access-control-max-age"), "5");
        assert_eq!(preflight.field("access-control-allow-credentials"), "true");
    });
}

#[test]
fn routes_lead_elsewhere() {
    let text = "[[site]]\nroot = 'dist'\n\
                [[site.rule]]\nfrom = '/old/:slug'\nredirect = '/docs/:slug'\nstatus = 308\n\
                [[site.rule]]\npath = '/plain'\nredirect = 'https://x.test/'\nkeep-query = false\n\
                [[site.rule]]\npath = '/a.txt'\nhost = ['other.test']\nredirect = '/b.txt'\nstatus = 302\n\
                [[site.rule]]\npath = '/try/**'\nrewrite = ['/none.txt', '/b.txt', '/a.txt']\n\
                [[site.rule]]\npath = '/gone/**'\nrewrite = '/e/gone.html'\nstatus = 410\nif-missing = false\n\
                [[site.rule]]\npath = '/by-query'\nquery = { big = true }\nrewrite = '/a.txt'\nif-missing = false\n\
                [[site.rule]]\npath = '/by-method'\nmethod = ['HEAD']\ndeny = 451\n\
                [[site.rule]]\npath = '/by-field'\nfield = { Save-Data = 'on' }\nrewrite = '/b.txt'\n\
                [[site.rule]]\npath = '/docs/page.html'\nrewrite = '/a.txt'\n\
                [[site.rule]]\npath = '/private/**'\ndeny = true\n";
    over_all(text, |ask| {
        let to = |target: &str, more: &[&str]| {
            let answer = ask(target, more);
            (answer.status, answer.field("location"))
        };
        let moved = |status, location: &str| (status, location.to_owned());
        assert_eq!(to("/old/x?y=1", &[]), moved(308, "/docs/x?y=1"));
        assert_eq!(to("/old/%0d%0aX:%20y", &[]).0, 308);
        assert_eq!(to("/plain?y=1", &[]), moved(301, "https://x.test/"));
        let other = ["--header", "Host: OTHER.test:81"];
        assert_eq!(to("/a.txt", &other), moved(302, "/b.txt"));
        assert_eq!(ask("/a.txt", &[]).content, "alpha");
        assert_eq!(ask("/try/it", &[]).content, "beta");
        let gone = ask("/gone/x", &[]);
        assert_eq!((gone.status, &*gone.content), (410, "<p>gone"));
        assert_eq!(ask("/by-query?big=1", &[]).content, "alpha");
        assert_eq!(ask("/by-query", &[]).status, 404);
        assert_eq!(ask("/by-method", &["--head"]).status, 451);
        assert_eq!(ask("/by-method", &[]).status, 404);
        let saving = ask("/by-field", &["--header", "Save-Data: on"]);
        assert_eq!(
            (&*saving.content, &*saving.field("vary")),
            ("beta", "save-data")
        );
        // A file goes before a rewrite that does not say otherwise.
        assert_eq!(ask("/docs/page.html", &[]).content, "<p>page");
        let denied = ask("/private/x.txt", &[]);
        assert_eq!(denied.status, 403);
        assert!(!denied.content.contains("secret"));
    });
}

#[test]
fn a_password_opens_what_is_closed() {
    // `open sesame`, at the least cost that there is.
    let text = "[[site]]\nroot = 'dist'\n\
                [[site.rule]]\npath = '/private/**'\nerror-page = { 401 = '/e/own.html' }\n\
                [site.rule.basic-auth]\nrealm = 'Staff'\n[site.rule.basic-auth.users]\n\
                alice = '$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$zl7V9C596JtSXWShZ2Tfc7QVGFpgGIXeJjaZ2scNEC0'\n";
    over_all(text, |ask| {
        let closed = ask("/private/x.txt", &[]);
        assert_eq!((closed.status, &*closed.content), (401, "<p>own"));
        assert!(
            closed
                .field("www-authenticate")
                .starts_with("Basic realm=\"Staff\"")
        );
        let open = ask("/private/x.txt", &["--user", "alice:open sesame"]);
        assert_eq!((open.status, &*open.content), (200, "secret"));
        assert!(open.field("cache-control").contains("private"), "{open:?}");
        assert_eq!(ask("/a.txt", &[]).content, "alpha");
    });
}

#[test]
fn errors_have_the_pages_of_the_site() {
    let text = "[[site]]\nroot = 'dist'\n\
                error-pages = { 400 = 'e/400.html', 403 = 'e/own.html', 404 = 'e/404.html', 405 = 'e/405.html' }\n\
                [[site.rule]]\npath = '/private/**'\ndeny = true\n\
                [[site.rule]]\npath = '/docs/**'\nerror-page = { 404 = '/e/gone.html' }\n";
    over_all(text, |ask| {
        let check = |target: &str, more: &[&str], status: u16, content: &str| {
            let answer = ask(target, more);
            assert_eq!(
                (answer.status, &*answer.content),
                (status, content),
                "{target}"
            );
            // What is wrong now may be right a moment later.
            assert_eq!(answer.field("cache-control"), "no-cache", "{target}");
            assert_eq!(answer.field("etag"), "", "{target}");
            answer
        };
        let lost = check("/none", &[], 404, "<p>lost");
        assert!(lost.field("content-type").starts_with("text/html"));
        check("/none?a=b", &[], 404, "<p>lost");
        check("/.hidden", &[], 404, "<p>lost");
        check("/a%2Fb", &[], 404, "<p>lost");
        check("/docs/none", &[], 404, "<p>gone");
        check("/private/x.txt", &[], 403, "<p>own");
        check("/%00", &[], 400, "<p>bad");
        check("/../x", &[], 400, "<p>bad");
        let refused = check("/a.txt", &["--request", "POST"], 405, "<p>no");
        assert_eq!(refused.field("allow"), "GET, HEAD, OPTIONS");
        check("/none", &["--request", "DELETE"], 405, "<p>no");
        let head = check("/none", &["--head"], 404, "");
        assert_eq!(head.field("content-length"), "7");
        // No condition and no range is about the page.
        check("/none", &["--header", "If-None-Match: *"], 404, "<p>lost");
        check("/none", &["--header", "Range: bytes=0-1"], 404, "<p>lost");
        // The page itself is a file.
        assert_eq!(ask("/e/404.html", &[]).status, 200);
        // A method that nobody knows has no page here.
        assert_eq!(ask("/a.txt", &["--request", "BREW"]).status, 501);
    });
}

#[test]
fn a_page_that_is_not_there_leaves_the_plain_answer() {
    let text = "[[site]]\nroot = 'dist'\nerror-pages = { 404 = 'none.html', 405 = 'none.html' }\n";
    over_all(text, |ask| {
        let lost = ask("/x", &[]);
        assert_eq!((lost.status, &*lost.content), (404, "404 Not Found\n"));
        let refused = ask("/a.txt", &["--request", "POST"]);
        assert_eq!(refused.status, 405);
        assert_eq!(refused.field("allow"), "GET, HEAD, OPTIONS");
    });
}

#[test]
fn rules_come_before_those_of_the_files_and_hold_for_mounts() {
    let text = "[[site]]\nroot = 'dist'\nmount = [{ prefix = '/more', path = 'dist/docs' }]\n\
                [[site.rule]]\npath = '/**'\nset = { X-Who = 'configuration' }\n\
                [[site.rule]]\npath = '/more/none'\nredirect = '/a.txt'\nstatus = 302\n";
    let folder = folder(text);
    std::fs::write(
        folder.path().join("dist/_headers"),
        "/*\n  X-Who: file\n  X-File: yes\n",
    )
    .unwrap();
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        let page = ask(&server, version, "/a.txt", &[]);
        assert_eq!(page.field("x-who"), "configuration");
        assert_eq!(page.field("x-file"), "yes");
        let more = ask(&server, version, "/more/page.html", &[]);
        assert_eq!(
            (&*more.field("x-who"), &*more.content),
            ("configuration", "<p>page")
        );
        assert_eq!(ask(&server, version, "/more/none", &[]).status, 302);
    }
    stop(server);
}

/// What `salver check` says of a file, but for its last line.
fn faults(folder: &Path) -> (i32, String) {
    let path = folder.join("salver.toml");
    let (code, _, said) = run(&["check", "-c", path.to_str().unwrap()]);
    (code, said)
}

#[test]
fn a_fault_in_a_rule_names_its_line_and_its_key() {
    let check = |rule: &str, line: usize, parts: &[&str]| {
        let text = format!("[[site]]\nroot = 'dist'\n[[site.rule]]\n{rule}");
        let folder = folder(&text);
        let (code, said) = faults(folder.path());
        assert_eq!((code, said.lines().count()), (2, 1), "{rule}: {said}");
        for part in [&format!("salver.toml:{line}: rule"), parts[0], parts[1]] {
            assert!(said.contains(part), "{part}: {said}");
        }
    };
    check("path = '/x'\n", 3, &["does nothing", "give it an action"]);
    check("path = 5\ndeny = true\n", 4, &["rule.path", "a glob"]);
    check(
        "path = '/x'\nredirct = '/y'\n",
        5,
        &["redirct is not known", "is redirect meant?"],
    );
    check(
        "path = '/x'\nzzz = 1\n",
        5,
        &["rule.zzz is not known", "docs/sites.md"],
    );
    check("path = '/x'\ndeny = 200\n", 5, &["rule.deny", "200"]);
    check("path = '/x'\ndeny = 'no'\n", 5, &["rule.deny", "a status"]);
    check(
        "path = '/x'\nredirect = '/y'\nstatus = 404\n",
        6,
        &["rule.status", "301"],
    );
    check("path = '/[x'\ndeny = true\n", 4, &["rule.path", "x"]);
    check(
        "path = '/x'\nset = { 'a b' = 'c' }\n",
        5,
        &["rule.set", "a b"],
    );
    check(
        "path = '/x'\ncors = { origin = ['*'] }\n",
        5,
        &["rule.cors.origin", "unknown field"],
    );
    check(
        "path = '/x'\n[site.rule.basic-auth]\nrealm = 'x'\nusers = 'hunter2'\n",
        5,
        &["rule.basic-auth", "realm"],
    );
    // All of them are said, and what is a secret is not.
    let text = "[[site]]\nroot = 'dist'\n[[site.rule]]\npath = '/x'\n[[site.rule]]\npath = '/y'\n\
                basic-auth = { realm = 'x', users = { a = 'hunter2' } }\n";
    let (code, said) = faults(folder(text).path());
    assert_eq!((code, said.lines().count()), (2, 3), "{said}");
    assert!(
        said.contains("salver.toml:3: rule") && said.contains("salver.toml:7: rule.basic-auth"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
    let text = "[[site]]\nroot = 'dist'\nerror-pages = { 404 = 'none.html' }\n";
    let (code, said) = faults(folder(text).path());
    assert!(code == 0 && said.contains("none.html is not in "), "{said}");
}
