//! Last-Modified and ETag (RFC 9110 section 8.8).

use crate::exchange::{Exchange, get, head};
use crate::expect::{Expectation, FieldRule};
use crate::fixture::Fixture;
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    times(fixture, rows);
    tags(fixture, rows);
}

fn times(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 8.8.2";
    for (file, date, need) in [
        ("times/epoch.txt", "Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("times/one-a.txt", "Thu, 01 Jan 1970 00:00:01 GMT", None),
        ("times/one-b.txt", "Thu, 01 Jan 1970 00:00:01 GMT", None),
        // The part of a second is dropped, never rounded up.
        ("times/early.txt", "Wed, 24 Apr 2024 17:21:29 GMT", None),
        ("plain.txt", "Mon, 06 May 2024 07:08:09 GMT", None),
        (
            "times/before-1970.txt",
            "Wed, 01 Jan 1969 00:00:00 GMT",
            Some(Need::NegativeTimes),
        ),
        (
            "times/just-before-1970.txt",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            Some(Need::NegativeTimes),
        ),
    ] {
        let name = format!("Last-Modified of {file}");
        let expect = Expectation::whole(fixture, file).has("last-modified", date);
        let mut row = Exchange::semantic(section, name, get(format!("/{file}")), expect);
        row.need = need;
        rows.push(row);
        let name = format!("{file} is not modified since its own time");
        let request = get(format!("/{file}")).with("If-Modified-Since", date);
        let mut row = Exchange::semantic(section, name, request, Expectation::not_modified());
        row.need = need;
        rows.push(row);
    }
    for file in ["times/future.txt", "times/far-future.txt"] {
        // RFC 9110 section 8.8.2.1: a time later than Date is replaced by it.
        let name = format!("Last-Modified of {file} is Date");
        let expect =
            Expectation::whole(fixture, file).rule("last-modified", FieldRule::SameAs("date"));
        rows.push(Exchange::semantic(
            section,
            name,
            get(format!("/{file}")),
            expect,
        ));
        let name = format!("{file} by its tag");
        let request = get(format!("/{file}")).with("If-None-Match", format!("${{etag:/{file}}}"));
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::not_modified(),
        ));
    }
}

fn tags(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 8.8.3";
    for file in [
        "ten.txt",
        "empty.txt",
        "medium.bin",
        "with-index/index.html",
        "big/three-mib.bin",
    ] {
        let name = format!("the tag of {file} is the same twice");
        let expect = Expectation::whole(fixture, file).has("etag", format!("${{etag:/{file}}}"));
        let row = Exchange::semantic(section, name, get(format!("/{file}")), expect);
        rows.push(if file.starts_with("big") {
            row.heavy()
        } else {
            row
        });
    }
    for (file, other, name) in [
        (
            "times/one-a.txt",
            "times/one-b.txt",
            "contents of one length and one time",
        ),
        (
            "ten.txt",
            "times/early.txt",
            "the same content elsewhere, here equal",
        ),
        ("ten.txt", "plain.txt", "two files"),
        ("empty.txt", "one.txt", "nothing and something"),
        (
            "types/photo.png",
            "types/photo.jpg",
            "two files of one length",
        ),
    ] {
        if fixture.bytes(file) == fixture.bytes(other) {
            continue;
        }
        let name = format!("different tags: {name}");
        let rule = FieldRule::Differs(format!("${{etag:/{other}}}"));
        let expect = Expectation::whole(fixture, file).rule("etag", rule);
        rows.push(Exchange::semantic(
            section,
            name,
            get(format!("/{file}")),
            expect,
        ));
    }
    for other in ["copy-of-ten.txt", "times/early.txt"] {
        // What makes replicas of one tree agree whatever their times.
        let name = format!("a tag is of the content: {other}");
        let expect = Expectation::whole(fixture, other).has("etag", "${etag:/ten.txt}");
        rows.push(Exchange::semantic(
            section,
            name,
            get(format!("/{other}")),
            expect,
        ));
    }
    for (request, expect, name) in [
        (
            get("/ten.txt").with("Range", "bytes=0-3"),
            Expectation::part(fixture, "ten.txt", 0..4).present("last-modified"),
            "a part",
        ),
        (
            get("/ten.txt").with("Range", "bytes=0-0,9-9"),
            Expectation::status(206).or(200).present("last-modified"),
            "parts",
        ),
        (head("/ten.txt"), Expectation::status(200), "HEAD"),
        (
            get("/ten.txt").with("If-None-Match", "${etag:/ten.txt}"),
            Expectation::not_modified(),
            "304",
        ),
    ] {
        let name = format!("the tag of the whole is on {name}");
        let expect = expect.has("etag", "${etag:/ten.txt}");
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for (one, other) in [("/", "/index.html"), ("/special/inside.txt", "/ten.txt")] {
        let name = format!("one file under two names has one tag: {one}");
        let expect = Expectation::status(200).has("etag", format!("${{etag:{other}}}"));
        rows.push(Exchange::semantic(section, name, get(one), expect));
    }
    // Each content coding is another representation (RFC 9110 section 8.8.3.3).
    for coding in ["br", "zstd", "gzip"] {
        let name = format!("the tag of {coding} is not that of identity");
        let rule = FieldRule::Differs("${etag:/coded/app.js}".to_owned());
        let expect = Expectation::status(200).coded(coding).rule("etag", rule);
        let request = get("/coded/app.js").with("Accept-Encoding", coding);
        rows.push(Exchange::semantic(section, name, request, expect));
        for other in ["br", "zstd", "gzip"] {
            if coding == other {
                continue;
            }
            let name = format!("the tag of {coding} is not that of {other}");
            let rule = FieldRule::Differs(format!("${{etag:/coded/app.js|{other}}}"));
            let expect = Expectation::status(200).coded(coding).rule("etag", rule);
            let request = get("/coded/app.js").with("Accept-Encoding", coding);
            rows.push(Exchange::semantic(section, name, request, expect));
        }
    }
}
