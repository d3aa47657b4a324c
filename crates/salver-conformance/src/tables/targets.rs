//! Forms of the request target (RFC 9112 section 3.2).

use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    absolute(fixture, rows);
    refused(rows);
    queries(fixture, rows);
}

fn line(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: example.com\r\n\r\n")
}

fn absolute(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9112 3.2.2";
    for target in [
        "http://example.com/ten.txt",
        "HTTP://example.com/ten.txt",
        "hTTp://EXAMPLE.com/ten.txt",
        "https://example.com/ten.txt",
        "http://example.com:80/ten.txt",
        "http://example.com:/ten.txt",
        "http://127.0.0.1:8080/ten.txt",
        "http://[::1]/ten.txt",
        "http://[::1]:8080/ten.txt",
        "http://other.example/ten.txt",
        "http://example.com/ten.txt?query",
        "http://example.com/./ten.txt",
        "http://example.com//ten.txt",
        "http://example.com/nested/../ten.txt",
        "http://example.com/t%65n.txt",
    ] {
        let name = format!("absolute form: {target}");
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw(section, name, line(target), expect));
    }
    for target in [
        "http://example.com",
        "http://example.com/",
        "http://example.com?query",
    ] {
        let name = format!("absolute form without a path: {target}");
        let expect = Expectation::whole(fixture, "index.html");
        rows.push(Exchange::raw(section, name, line(target), expect));
    }
    for (target, location, query) in [
        ("http://example.com/with-index", "/with-index/", None),
        (
            "http://evil.com/with-index?a=b",
            "/with-index/",
            Some("a=b"),
        ),
        ("http://example.com//evil.com", "/evil.com/", None),
    ] {
        let name = format!("a redirect of {target} names no host");
        let expect = Expectation::redirect(location, query);
        rows.push(Exchange::raw(section, name, line(target), expect));
    }
    let old = "GET http://example.com/ten.txt HTTP/1.0\r\n\r\n";
    let expect = Expectation::whole(fixture, "ten.txt").closed();
    rows.push(Exchange::raw(section, "absolute form of 1.0", old, expect));
    let bare = "GET http://example.com/ten.txt HTTP/1.1\r\n\r\n";
    let expect = Expectation::status(400).closed();
    rows.push(Exchange::raw(
        "RFC 9112 3.2",
        "absolute form without Host",
        bare,
        expect.clone(),
    ));
    let wrong = "GET http://example.com/ten.txt HTTP/1.1\r\nHost: a b\r\n\r\n";
    rows.push(Exchange::raw(
        "RFC 9112 3.2",
        "absolute form with a bad Host",
        wrong,
        expect,
    ));
    let outside = line("http://example.com/../secret.txt");
    let expect = Expectation::status(400).kept_or_closed();
    rows.push(Exchange::raw(
        section,
        "absolute form to above the root",
        outside,
        expect,
    ));
    let missing = line("http://example.com/none");
    let expect = Expectation::status(404);
    rows.push(Exchange::raw(
        section,
        "absolute form of nothing",
        missing,
        expect,
    ));
}

fn refused(rows: &mut Vec<Exchange>) {
    let section = "RFC 9112 3.2";
    for target in [
        "ten.txt",
        "./ten.txt",
        "../secret.txt",
        "?query",
        "#fragment",
        "*",
        "**",
        "*/ten.txt",
        "http:",
        "http:/ten.txt",
        "http:///ten.txt",
        "http://",
        "http://?query",
        "http://user@example.com/ten.txt",
        "http://user:secret@example.com/ten.txt",
        "http://@example.com/ten.txt",
        "http://exa mple.com/ten.txt",
        "http://[::1/ten.txt",
        "http://example.com:port/ten.txt",
        "example.com:80",
        "example.com",
        "\\ten.txt",
        "/ten.txt#fragment",
        "/#",
        "//example.com/ten.txt#x",
    ] {
        let name = format!("the target {target}");
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(section, name, line(target), expect));
    }
    for target in [
        "ftp://example.com/ten.txt",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ] {
        let name = format!("another scheme: {target}");
        let expect = Expectation::status(400).or(404).or(421).kept_or_closed();
        rows.push(Exchange::raw(section, name, line(target), expect));
    }
    for (name, text) in [
        ("HEAD *", "HEAD * HTTP/1.1\r\nHost: h\r\n\r\n"),
        (
            "OPTIONS without a slash",
            "OPTIONS ten.txt HTTP/1.1\r\nHost: h\r\n\r\n",
        ),
        ("OPTIONS **", "OPTIONS ** HTTP/1.1\r\nHost: h\r\n\r\n"),
    ] {
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(section, name, text, expect));
    }
}

fn queries(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for query in [
        "",
        "a=b",
        "a=b&c=d",
        "?",
        "a?b",
        "/",
        "../../secret.txt",
        "%",
        "%zz",
        "%00",
        "%2e%2e%2f",
        "v=1.2.3",
        "a=%20",
        "a[]=b",
        "+",
        "http://evil.com/",
        "//evil.com",
        "a=b;c=d",
        "=",
        "&",
        "%0d%0aX-Injected:%201",
        "'",
    ] {
        let name = format!("a query changes nothing: {query}");
        let request = get(format!("/ten.txt?{query}"));
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::semantic("RFC 3986 3.4", name, request, expect));
    }
    for query in ["\u{fc}", "|", "`", "{}", "^", "\\", "\"", "<>"] {
        // No URI has these, but they do no harm: refusing them is right too.
        let name = format!("a query that is none: {query}");
        let request = get(format!("/ten.txt?{query}"));
        let expect = Expectation::whole(fixture, "ten.txt")
            .or(400)
            .kept_or_closed();
        rows.push(Exchange::semantic("RFC 3986 3.4", name, request, expect));
    }
    let request = get("/ten.txt%3Fquery");
    let expect = Expectation::status(404);
    let name = "an encoded question mark begins no query";
    rows.push(Exchange::semantic("RFC 3986 3.4", name, request, expect));
    let request = get("/?x=/ten.txt");
    let expect = Expectation::whole(fixture, "index.html");
    rows.push(Exchange::semantic(
        "RFC 3986 3.4",
        "a query of the root",
        request,
        expect,
    ));
}
