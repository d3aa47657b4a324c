//! Request lines, versions and persistence (RFC 9112 sections 2, 3 and 9).

use crate::exchange::Exchange;
use crate::expect::Expectation;
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    persistence(fixture, rows);
    versions(fixture, rows);
    request_lines(fixture, rows);
    line_ends(fixture, rows);
}

fn persistence(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let whole = || Expectation::whole(fixture, "ten.txt");
    let section = "RFC 9112 9.3";
    let mut row = |name: &str, text: &str, expect: Expectation| {
        rows.push(Exchange::raw(section, name, text, expect));
    };
    row(
        "1.1 persists",
        "GET /ten.txt HTTP/1.1\r\nHost: h\r\n\r\n",
        whole(),
    );
    for value in [
        "close",
        "Close",
        "CLOSE",
        "keep-alive, close",
        "close, keep-alive",
        "close,te",
        ", close",
        "x ,\tclose\t, y",
    ] {
        let text = format!("GET /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: {value}\r\n\r\n");
        row(
            &format!("Connection: {value} closes"),
            &text,
            whole().closed(),
        );
    }
    let two =
        "GET /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n";
    row("close in a second Connection line", two, whole().closed());
    for value in [
        "keep-alive",
        "Keep-Alive",
        "upgrade",
        "closed",
        "x-close",
        "",
        "te, foo",
    ] {
        let text = format!("GET /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: {value}\r\n\r\n");
        row(&format!("Connection: '{value}' persists"), &text, whole());
    }
    row(
        "1.0 closes",
        "GET /ten.txt HTTP/1.0\r\n\r\n",
        whole().closed(),
    );
    row(
        "1.0 with Host closes",
        "GET /ten.txt HTTP/1.0\r\nHost: h\r\n\r\n",
        whole().closed(),
    );
    for value in ["keep-alive", "Keep-Alive", "foo, keep-alive"] {
        let text = format!("GET /ten.txt HTTP/1.0\r\nConnection: {value}\r\n\r\n");
        let expect = whole().rule("connection", crate::FieldRule::Lists("keep-alive"));
        row(
            &format!("1.0 with Connection: {value} persists, and is told so"),
            &text,
            expect,
        );
    }
    let both = "GET /ten.txt HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n";
    row(
        "1.0 with keep-alive and close closes",
        both,
        whole().closed(),
    );
    let close_404 = "GET /none HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    row(
        "a 404 closes if asked to",
        close_404,
        Expectation::status(404).closed(),
    );
    row(
        "a 404 persists",
        "GET /none HTTP/1.1\r\nHost: h\r\n\r\n",
        Expectation::status(404),
    );
    row(
        "a 404 to 1.0",
        "GET /none HTTP/1.0\r\n\r\n",
        Expectation::status(404).closed(),
    );
    let head = "HEAD /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let ten = || Expectation::status(200).has("content-length", "10");
    row("HEAD closes if asked to", head, ten().closed());
    row(
        "HEAD persists",
        "HEAD /ten.txt HTTP/1.1\r\nHost: h\r\n\r\n",
        ten(),
    );
    row(
        "HEAD of 1.0",
        "HEAD /ten.txt HTTP/1.0\r\n\r\n",
        ten().closed(),
    );
    let redirect = "GET /with-index HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    row(
        "a 308 closes if asked to",
        redirect,
        Expectation::redirect("/with-index/", None).closed(),
    );
    for upgrade in ["h2c", "websocket", "HTTP/3.0", "TLS/1.0"] {
        // RFC 9110 section 7.8: a server may ignore Upgrade.
        let text = format!(
            "GET /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n\r\n"
        );
        row(&format!("Upgrade: {upgrade} is ignored"), &text, whole());
    }
    let h2c = "GET /ten.txt HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\n\
        Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    row("an upgrade to h2c with settings is ignored", h2c, whole());
}

fn versions(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let whole = Expectation::whole(fixture, "ten.txt");
    let section = "RFC 9112 2.3";
    // RFC 9110 section 2.5: a higher minor version is processed as the highest known.
    for version in ["HTTP/1.2", "HTTP/1.9"] {
        let text = format!("GET /ten.txt {version}\r\nHost: h\r\n\r\n");
        let name = format!("{version} is read as 1.1");
        rows.push(Exchange::raw(section, name, text, whole.clone()));
    }
    for version in ["HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "HTTP/9.9"] {
        let text = format!("GET /ten.txt {version}\r\nHost: h\r\n\r\n");
        let name = format!("{version} is not supported");
        rows.push(Exchange::raw(
            section,
            name,
            text,
            Expectation::status(505).closed(),
        ));
    }
    rows.push(Exchange::raw(
        section,
        "the preface of HTTP/2",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        Expectation::status(505).or(400).closed(),
    ));
    for version in [
        "http/1.1",
        "Http/1.1",
        "HTTP/1",
        "HTTP/1.",
        "HTTP/.1",
        "HTTP/11",
        "HTTP/1,1",
        "HTTP/a.b",
        "HTTP/1.1x",
        "HTTP/1.1.1",
        "HTTP/01.1",
        "HTTP/1.10",
        "HTTP/-1.1",
        "HTTP/+1.1",
        "HTTP 1.1",
        "HTTP//1.1",
        "HTTP/1.1/",
        "HTP/1.1",
        "HTTPS/1.1",
        "FTP/1.1",
        "HTTP/ 1.1",
        "HTTP/1 .1",
        "1.1",
        "/1.1",
        "HTTP",
        "HTTP/\u{663}.1",
    ] {
        let text = format!("GET /ten.txt {version}\r\nHost: h\r\n\r\n");
        let name = format!("the version '{version}'");
        let expect = Expectation::status(400).or(505).closed();
        rows.push(Exchange::raw(section, name, text, expect));
    }
    for (name, text) in [
        ("0.9", "GET /ten.txt\r\n\r\n"),
        ("0.9 with a space", "GET /ten.txt \r\n\r\n"),
        ("0.9 with fields", "GET /ten.txt\r\nHost: h\r\n\r\n"),
    ] {
        let name = format!("a simple request of {name}");
        rows.push(Exchange::raw(
            section,
            name,
            text,
            Expectation::status(400).closed(),
        ));
    }
}

fn request_lines(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9112 3";
    let bad: [(&str, &[u8]); 33] = [
        ("two spaces before the target", b"GET  /ten.txt HTTP/1.1"),
        ("two spaces before the version", b"GET /ten.txt  HTTP/1.1"),
        ("a tab before the target", b"GET\t/ten.txt HTTP/1.1"),
        ("a tab before the version", b"GET /ten.txt\tHTTP/1.1"),
        ("a space before the method", b" GET /ten.txt HTTP/1.1"),
        ("a tab before the method", b"\tGET /ten.txt HTTP/1.1"),
        ("a space behind the version", b"GET /ten.txt HTTP/1.1 "),
        ("a word behind the version", b"GET /ten.txt HTTP/1.1 x"),
        ("a form feed as space", b"GET\x0c/ten.txt HTTP/1.1"),
        ("a vertical tab as space", b"GET /ten.txt\x0bHTTP/1.1"),
        ("a space within the target", b"GET /with space.txt HTTP/1.1"),
        ("a tab within the target", b"GET /with\ttab HTTP/1.1"),
        ("a NUL within the target", b"GET /ten\0.txt HTTP/1.1"),
        ("a CR within the target", b"GET /ten\r.txt HTTP/1.1"),
        ("a DEL within the target", b"GET /ten\x7f.txt HTTP/1.1"),
        (
            "a control byte within the target",
            b"GET /ten\x01.txt HTTP/1.1",
        ),
        ("a CR before the version", b"GET /ten.txt\rHTTP/1.1"),
        ("a CR behind the version", b"GET /ten.txt HTTP/1.1\r"),
        ("no target", b"GET HTTP/1.1"),
        ("no target but two spaces", b"GET  HTTP/1.1"),
        ("no method", b"/ten.txt HTTP/1.1"),
        ("an empty method", b" /ten.txt HTTP/1.1"),
        ("a NUL in the method", b"GE\0T /ten.txt HTTP/1.1"),
        ("a parenthesis in the method", b"GE(T /ten.txt HTTP/1.1"),
        ("a colon in the method", b"GET: /ten.txt HTTP/1.1"),
        ("a slash in the method", b"GET/ /ten.txt HTTP/1.1"),
        ("a comma in the method", b"GET, /ten.txt HTTP/1.1"),
        ("quotes around the method", b"\"GET\" /ten.txt HTTP/1.1"),
        (
            "a byte beyond ASCII in the method",
            b"G\xc9T /ten.txt HTTP/1.1",
        ),
        ("braces in the method", b"{GET} /ten.txt HTTP/1.1"),
        ("an at sign in the method", b"GET@ /ten.txt HTTP/1.1"),
        ("an answer instead of a request", b"HTTP/1.1 200 OK"),
        ("a byte order mark", b"\xef\xbb\xbfGET /ten.txt HTTP/1.1"),
    ];
    for (name, line) in bad {
        let mut bytes = line.to_vec();
        bytes.extend_from_slice(b"\r\nHost: h\r\n\r\n");
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(
            section,
            format!("request line: {name}"),
            bytes,
            expect,
        ));
    }
    for (name, bytes) in [
        (
            "a TLS hello",
            &b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03salver\r\n\r\n"[..],
        ),
        ("zeros", b"\0\0\0\0\0\0\0\0\r\n\r\n"),
        ("words without sense", b"hello there\r\n\r\n"),
        ("SSH", b"SSH-2.0-OpenSSH_9.9\r\n\r\n"),
        ("a lone line", b"GET\r\n\r\n"),
    ] {
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(
            section,
            format!("not HTTP: {name}"),
            bytes,
            expect,
        ));
    }
    // RFC 9112 section 3: at least 8000 octets of request line are to be supported.
    let whole = || Expectation::whole(fixture, "ten.txt");
    for (length, expect) in [
        (1000, whole()),
        (7900, whole()),
        (9000, Expectation::status(414).closed()),
        (15_000, Expectation::status(414).closed()),
        (60_000, Expectation::status(414).closed()),
    ] {
        let query = "q".repeat(length);
        let text = format!("GET /ten.txt?{query} HTTP/1.1\r\nHost: h\r\n\r\n");
        let name = format!("a target of {length} bytes");
        rows.push(Exchange::raw(section, name, text, expect));
    }
    let method = "M".repeat(40);
    let text = format!("{method} /ten.txt HTTP/1.1\r\nHost: h\r\n\r\n");
    let expect = Expectation::status(501).or(400).kept_or_closed();
    rows.push(Exchange::raw(
        section,
        "a method of 40 letters",
        text,
        expect,
    ));
}

fn line_ends(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let whole = || Expectation::whole(fixture, "ten.txt");
    let section = "RFC 9112 2.2";
    for count in 1..=2 {
        let text = format!(
            "{}GET /ten.txt HTTP/1.1\r\nHost: h\r\n\r\n",
            "\r\n".repeat(count)
        );
        let name = format!("{count} empty lines before the request line");
        rows.push(Exchange::raw(section, name, text, whole()));
    }
    // Bare LF: a recipient may take it for a line end; what it may not be is ambiguous.
    for (name, text) in [
        ("LF everywhere", "GET /ten.txt HTTP/1.1\nHost: h\n\n"),
        (
            "LF behind the request line",
            "GET /ten.txt HTTP/1.1\nHost: h\r\n\r\n",
        ),
        (
            "LF behind a field",
            "GET /ten.txt HTTP/1.1\r\nHost: h\nA: b\r\n\r\n",
        ),
        (
            "LF as the empty line",
            "GET /ten.txt HTTP/1.1\r\nHost: h\r\n\n",
        ),
    ] {
        let expect = whole().or(400).kept_or_closed();
        rows.push(Exchange::raw(
            section,
            format!("line ends: {name}"),
            text,
            expect,
        ));
    }
    for (name, text) in [
        (
            "CR everywhere",
            "GET /ten.txt HTTP/1.1\rHost: h\r\r\r\n\r\n",
        ),
        (
            "CR behind the request line",
            "GET /ten.txt HTTP/1.1\rHost: h\r\n\r\n",
        ),
        (
            "CR CR LF behind a field",
            "GET /ten.txt HTTP/1.1\r\nHost: h\r\r\n\r\n",
        ),
        (
            "CR between two fields",
            "GET /ten.txt HTTP/1.1\r\nHost: h\rA: b\r\n\r\n",
        ),
    ] {
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(
            section,
            format!("line ends: {name}"),
            text,
            expect,
        ));
    }
}
