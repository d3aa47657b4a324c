//! Field lines, Host and Expect (RFC 9112 sections 3.2 and 5, RFC 9110 sections 5.5 and 10.1.1).

use crate::exchange::Exchange;
use crate::expect::Expectation;
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    good(fixture, rows);
    bad(rows);
    bounds(fixture, rows);
    host(fixture, rows);
    expect(fixture, rows);
}

fn request(lines: &[u8]) -> Vec<u8> {
    let mut bytes = b"GET /ten.txt HTTP/1.1\r\n".to_vec();
    bytes.extend_from_slice(lines);
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes
}

fn good(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for lines in [
        &b"host: h"[..],
        b"HOST: h",
        b"hOsT: h",
        b"Host:h",
        b"Host:      h",
        b"Host:\th",
        b"Host: h   ",
        b"Host: h\t \t",
        b"Host: h\r\nEmpty:",
        b"Host: h\r\nEmpty:   ",
        b"Host: h\r\nA: b: c: d",
        b"Host: h\r\nA: \"quoted, \\\" text\"",
        b"Host: h\r\nA: tab\tinside",
        b"Host: h\r\nA: \xe9t\xe9",
        b"Host: h\r\nA: \xff\xfe\x80",
        b"Host: h\r\n!#$%&'*+-.^_`|~09azAZ: every token byte",
        b"Host: h\r\nA: 1\r\nA: 2\r\nA: 3",
        b"A: before the host\r\nHost: h",
        b"Host: h\r\nTE: trailers, deflate",
        b"Host: h\r\nCookie: a=b; c=d",
        b"Host: h\r\nAuthorization: Basic c2FsdmVy",
        b"Host: h\r\nForwarded: for=1.2.3.4;host=evil.com",
        b"Host: h\r\nX-Forwarded-Host: evil.com",
        b"Host: h\r\nX-Original-URL: /secret",
        b"Host: h\r\nX-HTTP-Method-Override: DELETE",
        b"Host: h\r\nAccept: application/json",
        b"Host: h\r\nAccept-Charset: latin1;q=1, utf-8;q=0",
        b"Host: h\r\nAccept-Language: de",
        b"Host: h\r\nCache-Control: only-if-cached",
        b"Host: h\r\nMax-Forwards: 0",
        b"Host: h\r\nKeep-Alive: timeout=5",
        b"Host: h\r\nContent-Type: text/plain",
        b"Host: h\r\nContent-Encoding: gzip",
        b"Host: h\r\nTrailer: X-Check",
    ] {
        let name = format!("fields: {}", lines.escape_ascii());
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw("RFC 9112 5", name, request(lines), expect));
    }
}

fn bad(rows: &mut Vec<Exchange>) {
    for lines in [
        &b"Host : h"[..],
        b"Host\t: h",
        b"Host: h\r\nA : b",
        b"Host: h\r\nContent-Length : 5",
        b"Host: h\r\nTransfer-Encoding : chunked",
        b" Host: h",
        b"\tHost: h",
        b"Host: h\r\n folded",
        b"Host: h\r\n\tfolded",
        b"Host: h\r\nA: b\r\n c",
        b"Host: h\r\nA:\r\n b",
        b"Host: h\r\nA: b\r\n \r\nC: d",
        b"Host: h\r\n: nameless",
        b"Host: h\r\n:",
        b"Host: h\r\nno colon",
        b"Host: h\r\nnocolon",
        b"Host: h\r\nA B: c",
        b"Host: h\r\nA(b): c",
        b"Host: h\r\nA/b: c",
        b"Host: h\r\nA[b]: c",
        b"Host: h\r\nA@b: c",
        b"Host: h\r\n\"A\": c",
        b"Host: h\r\nA,b: c",
        b"Host: h\r\nA;b: c",
        b"Host: h\r\nA=b: c",
        b"Host: h\r\nA{}: c",
        b"Host: h\r\nA\\: c",
        b"Host: h\r\n\xc3\xa9t\xc3\xa9: c",
        b"Host: h\r\nA\0: c",
        b"Host: h\r\nA: b\0c",
        b"Host: h\r\nA: \0",
        b"Host: h\r\nA: b\rc",
        b"Host: h\r\nA: b\r",
        b"Host: h\r\nA: \rb",
        b"Host: h\r\nA\r: b",
        b"Host: h\r\nA: b\x01c",
        b"Host: h\r\nA: b\x1fc",
        b"Host: h\r\nA: b\x7fc",
        b"Host: h\r\nA: b\x08c",
        b"Host: h\r\nA: b\x0bc",
        b"Host: h\r\nA: b\x0cc",
    ] {
        let name = format!("fields refused: {}", lines.escape_ascii());
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw("RFC 9112 5", name, request(lines), expect));
    }
}

fn bounds(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let whole = || Expectation::whole(fixture, "ten.txt");
    let large = || Expectation::status(431).closed();
    let section = "RFC 6585 5";
    for (count, expect) in [
        (50, whole()),
        (90, whole()),
        (200, large()),
        (2000, large()),
    ] {
        let lines = format!("Host: h{}", "\r\nA: b".repeat(count)).into_bytes();
        let name = format!("{count} small fields");
        rows.push(Exchange::raw(section, name, request(&lines), expect));
    }
    for (length, expect) in [
        (4000, whole()),
        (8000, whole()),
        (20_000, large()),
        (70_000, large()),
    ] {
        let lines = format!("Host: h\r\nA: {}", "b".repeat(length)).into_bytes();
        let name = format!("a field value of {length} bytes");
        rows.push(Exchange::raw(section, name, request(&lines), expect));
    }
    let lines = format!("Host: h\r\n{}: b", "A".repeat(20_000)).into_bytes();
    rows.push(Exchange::raw(
        section,
        "a field name of 20000 bytes",
        request(&lines),
        large(),
    ));
    let lines = format!("Host: h\r\nCookie: {}", "a=b; ".repeat(1000)).into_bytes();
    rows.push(Exchange::raw(
        section,
        "5000 bytes of cookies",
        request(&lines),
        whole(),
    ));
}

fn host(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9112 3.2";
    for value in [
        "localhost",
        "example.com",
        "EXAMPLE.com",
        "example.com:80",
        "example.com:",
        "127.0.0.1",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:8080",
        "a-b.example",
        "a_b.example",
        "ex%41mple.com",
        "example.com.",
        "x!$&'()*+;=~",
        "1",
        "[2001:db8::1]:443",
    ] {
        let lines = format!("Host: {value}").into_bytes();
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw(
            section,
            format!("Host: {value}"),
            request(&lines),
            expect,
        ));
    }
    for value in [
        "a b",
        "a\tb",
        "a/b",
        "a?b",
        "a#b",
        "user@host",
        "a,b",
        "a, a",
        "host:port",
        "host:80x",
        "host:80:80",
        "host:-1",
        "host: 80",
        "[::1",
        "::1]",
        "[::1]x",
        "http://h",
        "a\\b",
        "<a>",
        "\"a\"",
        "a^b",
        "a|b",
        "a`b",
        "{a}",
        "@",
        "/",
        ":x",
        "[]x",
    ] {
        let lines = format!("Host: {value}").into_bytes();
        let expect = Expectation::status(400).closed();
        let name = format!("Host refused: {value}");
        rows.push(Exchange::raw(section, name, request(&lines), expect));
    }
    for (name, lines) in [
        ("missing", &b"A: b"[..]),
        ("there twice", b"Host: a\r\nHost: b"),
        ("there twice, the same", b"Host: a\r\nHost: a"),
        ("there twice, once empty", b"Host: a\r\nHost:"),
        ("there twice, in two cases", b"Host: a\r\nhOST: a"),
        ("there twice, apart", b"Host: a\r\nA: b\r\nC: d\r\nHost: a"),
        ("beyond ASCII", b"Host: \xe9.example"),
        ("with a NUL", b"Host: a\0b"),
    ] {
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(
            section,
            format!("Host is {name}"),
            request(lines),
            expect,
        ));
    }
    let nothing = "GET /ten.txt HTTP/1.1\r\n\r\n";
    let expect = Expectation::status(400).closed();
    rows.push(Exchange::raw(section, "no field at all", nothing, expect));
    let twice = "GET /ten.txt HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n";
    let expect = Expectation::status(400).closed();
    rows.push(Exchange::raw(section, "Host twice in 1.0", twice, expect));
    let empty = "GET /ten.txt HTTP/1.1\r\nHost:\r\n\r\n";
    let expect = Expectation::whole(fixture, "ten.txt")
        .or(400)
        .kept_or_closed();
    rows.push(Exchange::raw(section, "an empty Host", empty, expect));
}

fn expect(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 10.1.1";
    let whole = || Expectation::whole(fixture, "ten.txt");
    let mut row = |name: &str, text: &str, expect: Expectation| {
        rows.push(Exchange::raw(section, name, text, expect));
    };
    let text = "GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n";
    row("Expect without a body", text, whole());
    for value in ["100-continue", "100-Continue", "100-CONTINUE"] {
        let text = format!(
            "GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: {value}\r\nContent-Length: 5\r\n\r\nhello"
        );
        row(
            &format!("Expect: {value} and the body at once"),
            &text,
            whole(),
        );
        let text = format!(
            "GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: {value}\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        );
        row(
            &format!("Expect: {value} and chunks at once"),
            &text,
            whole(),
        );
    }
    let text = "GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\
        Content-Length: 0\r\n\r\n";
    row("Expect with an empty body", text, whole());
    for value in [
        "nothing",
        "200-ok",
        "100-continued",
        "100",
        "100-continue; x=y",
    ] {
        let text = format!("GET /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: {value}\r\n\r\n");
        row(
            &format!("Expect: {value}"),
            &text,
            Expectation::status(417).kept_or_closed(),
        );
    }
    let text = "GET /ten.txt HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\
        Content-Length: 5\r\n\r\nhello";
    row("Expect of 1.0 is ignored", text, whole());
    let text = "POST /ten.txt HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\
        Content-Length: 5\r\n\r\nhello";
    row(
        "Expect of a method that is refused",
        text,
        Expectation::status(405).kept_or_closed(),
    );
}
