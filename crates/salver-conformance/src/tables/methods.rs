//! Methods (RFC 9110 section 9).

use std::sync::Arc;

use crate::exchange::{Exchange, Request, head};
use crate::expect::{ContentRule, Expectation, FieldRule};
use crate::fixture::Fixture;

fn allowed(mut expect: Expectation) -> Expectation {
    for method in ["GET", "HEAD", "OPTIONS"] {
        expect = expect.rule("allow", FieldRule::Lists(method));
    }
    expect
}

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE"] {
        for target in ["/ten.txt", "/", "/with-index/"] {
            let name = format!("{method} of {target}");
            let expect = allowed(Expectation::status(405)).kept_or_closed();
            let request = Request::new(method, target);
            rows.push(Exchange::semantic("RFC 9110 15.5.6", name, request, expect));
        }
        let name = format!("{method} of nothing");
        let expect = Expectation::status(405).or(404).kept_or_closed();
        rows.push(Exchange::semantic(
            "RFC 9110 9.1",
            name,
            Request::new(method, "/none"),
            expect,
        ));
    }
    for method in [
        "BREW",
        "PROPFIND",
        "MKCOL",
        "get",
        "Get",
        "gET",
        "head",
        "GETT",
        "GE",
        "G",
        "options",
        "X-GET",
        "!#$%&'*+-.^_`|~",
        "123",
        "SEARCH",
        "LINK",
        "GET.",
        "PURGE",
        "post",
    ] {
        // RFC 9110 section 9.1: methods are case-sensitive.
        let name = format!("the unknown method {method}");
        let expect = Expectation::status(501).kept_or_closed();
        let request = Request::new(method, "/ten.txt");
        rows.push(Exchange::semantic("RFC 9110 15.6.2", name, request, expect));
    }
    options(rows);
    heads(fixture, rows);
    for target in [
        "example.com:443",
        "example.com:80",
        "127.0.0.1:22",
        "[::1]:443",
    ] {
        let text = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        let name = format!("CONNECT {target}");
        let expect = allowed(Expectation::status(405)).kept_or_closed();
        rows.push(Exchange::raw("RFC 9110 9.3.6", name, text, expect));
    }
    let trace = "TRACE /ten.txt HTTP/1.1\r\nHost: h\r\nCookie: secret=1\r\n\r\n";
    let expect = allowed(Expectation::status(405)).kept_or_closed();
    rows.push(Exchange::raw(
        "RFC 9110 9.3.8",
        "TRACE shows no fields",
        trace,
        expect,
    ));
    let content = Request::new("POST", "/ten.txt").content(b"a=b&c=d");
    let expect = allowed(Expectation::status(405)).kept_or_closed();
    rows.push(Exchange::semantic(
        "RFC 9110 9.3.3",
        "POST with content",
        content,
        expect,
    ));
}

fn options(rows: &mut Vec<Exchange>) {
    let mut expect = allowed(Expectation::status(200))
        .has("content-length", "0")
        .lacks("etag");
    expect.content = ContentRule::Empty;
    for target in [
        "/",
        "/ten.txt",
        "/with-index",
        "/with-index/",
        "/none",
        "/app.js?x",
        "/.env",
    ] {
        let name = format!("OPTIONS of {target}");
        let request = Request::new("OPTIONS", target);
        rows.push(Exchange::semantic(
            "RFC 9110 9.3.7",
            name,
            request,
            expect.clone(),
        ));
    }
    for (name, text) in [
        ("OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
        (
            "OPTIONS * with a length of zero",
            "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "OPTIONS in absolute form",
            "OPTIONS http://example.com/ HTTP/1.1\r\nHost: h\r\n\r\n",
        ),
        (
            "OPTIONS in absolute form without a path",
            "OPTIONS http://example.com HTTP/1.1\r\nHost: h\r\n\r\n",
        ),
    ] {
        rows.push(Exchange::raw("RFC 9110 9.3.7", name, text, expect.clone()));
    }
    let conditional = Request::new("OPTIONS", "/ten.txt").with("If-Match", "\"other\"");
    rows.push(Exchange::semantic(
        "RFC 9110 13.2.1",
        "preconditions don't apply to OPTIONS",
        conditional,
        expect.clone(),
    ));
    let ranged = Request::new("OPTIONS", "/ten.txt").with("Range", "bytes=0-0");
    rows.push(Exchange::semantic(
        "RFC 9110 14.2",
        "no range of OPTIONS",
        ranged,
        expect,
    ));
}

fn heads(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let whole = |name: &str| {
        let mut expect = Expectation::whole(fixture, name);
        expect.content = ContentRule::Exactly(Arc::from([]));
        expect
    };
    let section = "RFC 9110 9.3.2";
    for name in [
        "ten.txt",
        "empty.txt",
        "one.txt",
        "medium.bin",
        "big/three-mib.bin",
    ] {
        let request = head(format!("/{name}"));
        rows.push(Exchange::semantic(
            section,
            format!("HEAD of {name}"),
            request,
            whole(name),
        ));
    }
    for range in [
        "bytes=0-0",
        "bytes=-5",
        "bytes=2-",
        "bytes=0-1,4-5",
        "bytes=100-",
        "x=0-1",
    ] {
        // RFC 9110 section 14.2: Range is defined for GET only.
        let name = format!("HEAD with Range: {range}");
        let request = head("/ten.txt").with("Range", range);
        rows.push(Exchange::semantic(
            "RFC 9110 14.2",
            name,
            request,
            whole("ten.txt"),
        ));
    }
    let request = head("/ten.txt")
        .with("Range", "bytes=0-0")
        .with("If-Range", "${etag:/ten.txt}");
    let name = "HEAD with Range and If-Range";
    rows.push(Exchange::semantic(
        "RFC 9110 14.2",
        name,
        request,
        whole("ten.txt"),
    ));
    let request = head("/none");
    rows.push(Exchange::semantic(
        section,
        "HEAD of nothing",
        request,
        Expectation::status(404),
    ));
    let request = head("/with-index?q");
    let expect = Expectation::redirect("/with-index/", Some("q"));
    rows.push(Exchange::semantic(
        section,
        "HEAD of a directory",
        request,
        expect,
    ));
    let request = head("/ten.txt").with("If-None-Match", "${etag:/ten.txt}");
    let expect = Expectation::not_modified();
    rows.push(Exchange::semantic(
        section,
        "HEAD with If-None-Match",
        request,
        expect,
    ));
    let request = head("/ten.txt").with("If-Match", "\"other\"");
    let expect = Expectation::status(412);
    rows.push(Exchange::semantic(
        section,
        "HEAD with If-Match",
        request,
        expect,
    ));
    let request = head("/coded/app.js").with("Accept-Encoding", "gzip");
    let expect = whole("coded/app.js.gz").coded("gzip").varies();
    rows.push(Exchange::semantic(
        section,
        "HEAD of a coded file",
        request,
        expect,
    ));
}
