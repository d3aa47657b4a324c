//! Message bodies: how long they are, and when that is in doubt (RFC 9112 sections 6 and 7).

use crate::exchange::Exchange;
use crate::expect::Expectation;
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    sized(fixture, rows);
    chunked(fixture, rows);
    bad_lengths(rows);
    bad_codings(rows);
    bad_chunks(rows);
    smuggling(fixture, rows);
    too_large(fixture, rows);
}

fn request(fields: &str, body: &str) -> String {
    format!("GET /ten.txt HTTP/1.1\r\nHost: h\r\n{fields}\r\n\r\n{body}")
}

fn sized(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (fields, body) in [
        ("Content-Length: 0", String::new()),
        ("content-length: 5", "hello".to_owned()),
        ("Content-Length:5", "hello".to_owned()),
        ("Content-Length: 5  ", "hello".to_owned()),
        ("Content-Length: 00005", "hello".to_owned()),
        ("Content-Length: 4", "\r\n\r\n".to_owned()),
        ("Content-Length: 3", "\0\x01\x7f".to_owned()),
        ("Content-Length: 1000", "b".repeat(1000)),
        ("Content-Length: 70000", "b".repeat(70_000)),
    ] {
        let name = format!("a body is dropped: {fields}");
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw(
            "RFC 9112 6.2",
            name,
            request(fields, &body),
            expect,
        ));
    }
    let head = "HEAD /ten.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
    let expect = Expectation::status(200).has("content-length", "10");
    rows.push(Exchange::raw(
        "RFC 9112 6.2",
        "a body of HEAD is dropped",
        head,
        expect,
    ));
    let options = "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
    let expect = Expectation::status(200);
    rows.push(Exchange::raw(
        "RFC 9112 6.2",
        "a body of OPTIONS is dropped",
        options,
        expect,
    ));
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let text =
            format!("{method} /ten.txt HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        let name = format!("a body of {method} is dropped");
        let expect = Expectation::status(405).kept_or_closed();
        rows.push(Exchange::raw("RFC 9112 6.2", name, text, expect));
        let text = format!("{method} /ten.txt HTTP/1.1\r\nHost: h\r\n\r\n");
        let name = format!("{method} without a body");
        rows.push(Exchange::raw(
            "RFC 9112 6.3",
            name,
            text,
            Expectation::status(405).kept_or_closed(),
        ));
    }
    let old = "GET /ten.txt HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
    let expect = Expectation::whole(fixture, "ten.txt");
    rows.push(Exchange::raw(
        "RFC 9112 6.2",
        "a body of 1.0 is dropped",
        old,
        expect,
    ));
}

fn chunked(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (name, body) in [
        ("nothing", "0\r\n\r\n"),
        ("one chunk", "5\r\nhello\r\n0\r\n\r\n"),
        ("three chunks", "1\r\nh\r\n2\r\nel\r\n2\r\nlo\r\n0\r\n\r\n"),
        (
            "hex digits in both cases",
            "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
        ),
        ("leading zeros", "0005\r\nhello\r\n0000\r\n\r\n"),
        ("an extension", "5;ext\r\nhello\r\n0\r\n\r\n"),
        (
            "an extension with a value",
            "5;ext=value\r\nhello\r\n0;last=1\r\n\r\n",
        ),
        (
            "an extension with a quoted value",
            "5;ext=\"a;b\"\r\nhello\r\n0\r\n\r\n",
        ),
        ("two extensions", "5;a=1;b=2\r\nhello\r\n0\r\n\r\n"),
        ("CRLF as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n"),
        ("a trailer", "5\r\nhello\r\n0\r\nX-Check: 1\r\n\r\n"),
        ("trailers", "5\r\nhello\r\n0\r\nA: 1\r\nB: 2\r\n\r\n"),
        (
            "a trailer that must not count",
            "0\r\nContent-Length: 50\r\n\r\n",
        ),
        (
            "a chunk that looks like the end",
            "5\r\n0\r\n\r\n\r\n0\r\n\r\n",
        ),
    ] {
        let name = format!("chunks: {name}");
        let text = request("Transfer-Encoding: chunked", body);
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw("RFC 9112 7.1", name, text, expect));
    }
    for value in ["Chunked", "CHUNKED", "chunked  ", "\tchunked"] {
        let name = format!("Transfer-Encoding: {}", value.escape_debug());
        let text = request(
            &format!("Transfer-Encoding: {value}"),
            "5\r\nhello\r\n0\r\n\r\n",
        );
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::raw("RFC 9112 7", name, text, expect));
    }
}

fn bad_lengths(rows: &mut Vec<Exchange>) {
    for value in [
        "",
        " ",
        "-1",
        "+5",
        "5.0",
        "5,5",
        "5, 5",
        "5, 6",
        "5,",
        ",5",
        "0x5",
        "5h",
        "h",
        "5 5",
        "\"5\"",
        "1e1",
        "5;x",
        "_5",
        "1_000",
        "99999999999999999999",
        "18446744073709551616",
        "18446744073709551621",
        "340282366920938463463374607431768211461",
        "\u{665}",
        "-0",
        "0-",
        "NaN",
        "0b1",
        "5\t5",
        "true",
    ] {
        let name = format!("Content-Length: '{}'", value.escape_debug());
        let text = request(&format!("Content-Length: {value}"), "");
        // The widest of them are numbers, only too large.
        let huge = value.len() > 18 && value.bytes().all(|byte| byte.is_ascii_digit());
        let status = if huge { 413 } else { 400 };
        let expect = Expectation::status(status).closed();
        rows.push(Exchange::raw("RFC 9112 6.3", name, text, expect));
    }
    for (name, fields) in [
        ("two that differ", "Content-Length: 5\r\nContent-Length: 6"),
        ("two that agree", "Content-Length: 5\r\nContent-Length: 5"),
        ("two, one empty", "Content-Length: 5\r\nContent-Length:"),
        (
            "two, in two cases",
            "Content-Length: 0\r\ncontent-length: 5",
        ),
        (
            "two, apart",
            "Content-Length: 0\r\nA: b\r\nContent-Length: 5",
        ),
        (
            "two, one negative",
            "Content-Length: -5\r\nContent-Length: 5",
        ),
        (
            "three",
            "Content-Length: 0\r\nContent-Length: 0\r\nContent-Length: 0",
        ),
    ] {
        let name = format!("lengths: {name}");
        let expect = Expectation::status(400).closed();
        rows.push(Exchange::raw(
            "RFC 9112 6.3",
            name,
            request(fields, "hello"),
            expect,
        ));
    }
    let old = "GET /ten.txt HTTP/1.0\r\nContent-Length: x\r\n\r\n";
    let expect = Expectation::status(400).closed();
    rows.push(Exchange::raw(
        "RFC 9112 6.3",
        "a bad length of 1.0",
        old,
        expect,
    ));
}

fn bad_codings(rows: &mut Vec<Exchange>) {
    let both = "5\r\nhello\r\n0\r\n\r\n";
    for (name, fields) in [
        (
            "a length before",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
        ),
        (
            "a length behind",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
        ),
        (
            "a length of zero",
            "Transfer-Encoding: chunked\r\nContent-Length: 0",
        ),
        (
            "a length that fits",
            "Content-Length: 15\r\nTransfer-Encoding: chunked",
        ),
        (
            "a malformed length",
            "Content-Length: x\r\nTransfer-Encoding: chunked",
        ),
        (
            "a length, in odd cases",
            "content-LENGTH: 5\r\ntransfer-ENCODING: chunked",
        ),
        ("itself twice", "Transfer-Encoding: chunked, chunked"),
        (
            "itself in two lines",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        ),
        ("gzip behind it", "Transfer-Encoding: chunked, gzip"),
        ("identity behind it", "Transfer-Encoding: chunked, identity"),
        (
            "identity in a line behind",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        ),
        ("a parameter", "Transfer-Encoding: chunked;q=1"),
        ("quotes", "Transfer-Encoding: \"chunked\""),
        ("a vertical tab before", "Transfer-Encoding: \x0bchunked"),
        ("a NUL behind", "Transfer-Encoding: chunked\0"),
        ("a word behind", "Transfer-Encoding: chunked x"),
        ("a fold", "Transfer-Encoding:\r\n chunked"),
        ("another fold", "Transfer-Encoding: chunked\r\n , gzip"),
    ] {
        let name = format!("chunked with {name}");
        let expect = Expectation::status(400).or(501).closed();
        rows.push(Exchange::raw(
            "RFC 9112 6.1",
            name,
            request(fields, both),
            expect,
        ));
    }
    for value in [
        "gzip",
        "deflate",
        "compress",
        "xchunked",
        "chunkedx",
        "br",
        "gzip, chunked",
    ] {
        let name = format!("Transfer-Encoding: {value}");
        let text = request(&format!("Transfer-Encoding: {value}"), both);
        let expect = Expectation::status(501).or(400).closed();
        rows.push(Exchange::raw("RFC 9112 6.1", name, text, expect));
    }
    for value in [
        "",
        "identity",
        ",",
        ", chunked",
        "chunked,",
        "cow, chunked",
        "chun ked",
        "chunk",
    ] {
        let name = format!("Transfer-Encoding: '{value}' refused");
        let text = request(&format!("Transfer-Encoding: {value}"), both);
        let expect = Expectation::status(400).or(501).closed();
        rows.push(Exchange::raw("RFC 9112 6.1", name, text, expect));
    }
    let old = "GET /ten.txt HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let expect = Expectation::status(400).closed();
    rows.push(Exchange::raw(
        "RFC 9112 6.1",
        "chunks in 1.0",
        old,
        expect.clone(),
    ));
    let kept = "GET /ten.txt HTTP/1.0\r\nConnection: keep-alive\r\n\
        Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    rows.push(Exchange::raw(
        "RFC 9112 6.1",
        "chunks in 1.0 with keep-alive",
        kept,
        expect,
    ));
}

fn bad_chunks(rows: &mut Vec<Exchange>) {
    for (name, body) in [
        ("no size", "\r\nhello\r\n0\r\n\r\n"),
        ("a size that is no number", "x\r\nhello\r\n0\r\n\r\n"),
        ("a signed size", "+5\r\nhello\r\n0\r\n\r\n"),
        ("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        ("0x before the size", "0x5\r\nhello\r\n0\r\n\r\n"),
        ("a space before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        (
            "an underscore in the size",
            "1_0\r\n0123456789012345\r\n0\r\n\r\n",
        ),
        ("a size in quotes", "\"5\"\r\nhello\r\n0\r\n\r\n"),
        (
            "a size beyond 64 bits",
            "10000000000000005\r\nhello\r\n0\r\n\r\n",
        ),
        (
            "a size far beyond 64 bits",
            "ffffffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        ),
        ("LF behind the size", "5\nhello\r\n0\r\n\r\n"),
        ("CR behind the size", "5\rhello\r\n0\r\n\r\n"),
        ("CR CR LF behind the size", "5\r\r\nhello\r\n0\r\n\r\n"),
        ("LF behind the data", "5\r\nhello\n0\r\n\r\n"),
        ("nothing behind the data", "5\r\nhello0\r\n\r\n"),
        ("data longer than its size", "3\r\nhello\r\n0\r\n\r\n"),
        ("data shorter than its size", "7\r\nhello\r\n0\r\n\r\n"),
        ("a NUL in an extension", "5;a=\0\r\nhello\r\n0\r\n\r\n"),
        ("LF in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n"),
        ("a bad trailer", "0\r\nno colon\r\n\r\n"),
        (
            "a trailer with a space before the colon",
            "0\r\nA : b\r\n\r\n",
        ),
        ("a trailer without a name", "0\r\n: b\r\n\r\n"),
        ("a folded trailer", "0\r\nA: b\r\n c\r\n\r\n"),
        ("a trailer with a NUL", "0\r\nA: \0\r\n\r\n"),
        ("a trailer with a bare CR", "0\r\nA: b\rc\r\n\r\n"),
    ] {
        let name = format!("chunks refused: {name}");
        let text = request("Transfer-Encoding: chunked", body);
        let expect = Expectation::status(400).or(413).closed();
        rows.push(Exchange::raw("RFC 9112 7.1", name, text, expect));
    }
}

/// Bodies that hold a request: it must never be answered.
fn smuggling(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let inner = "GET /plain.txt HTTP/1.1\r\nHost: h\r\n\r\n";
    let expect = || Expectation::whole(fixture, "ten.txt");
    let sized = request(&format!("Content-Length: {}", inner.len()), inner);
    let name = "a request inside a sized body";
    rows.push(Exchange::raw("RFC 9112 11.2", name, sized, expect()));
    let chunk = format!("{:x}\r\n{inner}\r\n0\r\n\r\n", inner.len());
    let chunked = request("Transfer-Encoding: chunked", &chunk);
    let name = "a request inside a chunk";
    rows.push(Exchange::raw("RFC 9112 11.2", name, chunked, expect()));
    let extension = format!(
        "5;x=\"{}\"\r\nhello\r\n0\r\n\r\n",
        "GET /plain.txt HTTP/1.1"
    );
    let chunked = request("Transfer-Encoding: chunked", &extension);
    let name = "a request inside a chunk extension";
    rows.push(Exchange::raw("RFC 9112 11.2", name, chunked, expect()));
    for (name, fields) in [
        (
            "CL.TE",
            format!(
                "Content-Length: {}\r\nTransfer-Encoding: chunked",
                inner.len() + 5
            ),
        ),
        (
            "TE.CL",
            format!("Transfer-Encoding: chunked\r\nContent-Length: {}", 4),
        ),
        (
            "TE.TE",
            "Transfer-Encoding: chunked\r\nTransfer-encoding: x".to_owned(),
        ),
        (
            "CL.CL",
            format!("Content-Length: 0\r\nContent-Length: {}", inner.len()),
        ),
        (
            "a space before the colon",
            format!("Content-Length : {}", inner.len()),
        ),
        (
            "a fold",
            format!("A: b\r\n Content-Length: {}", inner.len()),
        ),
    ] {
        let text = request(&fields, &format!("0\r\n\r\n{inner}"));
        let name = format!("smuggling by {name}");
        let refused = Expectation::status(400).or(501).closed();
        rows.push(Exchange::raw("RFC 9112 11.2", name, text, refused));
    }
    for (name, target) in [
        ("CRLF", "/ten.txt%0d%0aX-Injected:%201"),
        ("LF", "/ten.txt%0aX-Injected:%201"),
        ("CRLF CRLF", "/%0d%0a%0d%0a<script>"),
    ] {
        let text = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let name = format!("response splitting by {name}");
        let expect = Expectation::status(404)
            .or(400)
            .kept_or_closed()
            .lacks("x-injected");
        rows.push(Exchange::raw("RFC 9112 11.1", name, text, expect));
    }
}

fn too_large(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 15.5.14";
    for length in [
        "1048577",
        "2000000",
        "9007199254740993",
        "18446744073709551615",
    ] {
        let name = format!("a body of {length} bytes is not waited for");
        let text = request(&format!("Content-Length: {length}"), "");
        rows.push(Exchange::raw(
            section,
            name,
            text,
            Expectation::status(413).closed(),
        ));
    }
    let text = request("Expect: 100-continue\r\nContent-Length: 1048577", "");
    let refused = || Expectation::status(413).or(417).closed();
    let name = "a body too large is not asked for";
    rows.push(Exchange::raw(section, name, text, refused()));
    for size in ["100001", "fffffff", "7fffffffffffffff", "ffffffffffffffff"] {
        let name = format!("a chunk of {size} hex bytes is not waited for");
        let text = request("Transfer-Encoding: chunked", &format!("{size}\r\n"));
        let expect = Expectation::status(413).or(400).closed();
        rows.push(Exchange::raw(section, name, text, expect));
    }
    let many = format!("10000\r\n{}\r\n", "c".repeat(65_536)).repeat(17);
    let text = request("Transfer-Encoding: chunked", &many);
    let expect = Expectation::status(413).closed();
    rows.push(Exchange::raw(section, "chunks too large together", text, expect).heavy());
    let whole = Expectation::whole(fixture, "ten.txt");
    let text = request("Content-Length: 1048576", &"c".repeat(1_048_576));
    let name = "a body of just 1 MiB is dropped";
    rows.push(Exchange::raw(section, name, text, whole).heavy());
}
