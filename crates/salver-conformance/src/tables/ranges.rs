//! One range, no range, and If-Range (RFC 9110 sections 13.1.5 and 14).

use std::ops::Range;

use crate::date;
use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::{Fixture, HUGE_LENGTH, HUGE_MARKS, MODIFIED};
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    satisfied(fixture, rows);
    unsatisfied(rows);
    ignored(fixture, rows);
    edges(fixture, rows);
    huge(fixture, rows);
    if_range(fixture, rows);
}

fn satisfied(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 14.1.2";
    let plain: [(&str, Range<u64>); 24] = [
        ("bytes=0-0", 0..1),
        ("bytes=0-9", 0..10),
        ("bytes=0-499", 0..500),
        ("bytes=500-999", 500..1000),
        ("bytes=999-999", 999..1000),
        ("bytes=0-998", 0..999),
        ("bytes=1-", 1..1000),
        ("bytes=500-", 500..1000),
        ("bytes=999-", 999..1000),
        ("bytes=-1", 999..1000),
        ("bytes=-500", 500..1000),
        ("bytes=-999", 1..1000),
        ("bytes=990-1000", 990..1000),
        ("bytes=990-99999", 990..1000),
        ("bytes=990-18446744073709551615", 990..1000),
        ("bytes=990-18446744073709551616", 990..1000),
        ("bytes=990-999999999999999999999999999999999999", 990..1000),
        (
            "bytes=00000000000000000000000000000001-0000000000000000000000000000002",
            1..3,
        ),
        ("bytes= 0-0", 0..1),
        ("bytes=0-0 ", 0..1),
        ("bytes=,0-0", 0..1),
        ("bytes=0-0,", 0..1),
        ("bytes=, ,0-0,,", 0..1),
        ("Bytes=0-0", 0..1),
    ];
    for (value, range) in plain {
        let name = format!("Range: '{value}'");
        let expect = Expectation::part(fixture, "plain.txt", range).present("last-modified");
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    // The whole, asked for as a range, is a range: 206.
    for value in [
        "bytes=0-",
        "bytes=0-999",
        "bytes=-1000",
        "bytes=-1001",
        "bytes=0-5000",
        "bytes=-99999999999999999999999",
        "BYTES=0-",
    ] {
        let name = format!("all of it by Range: {value}");
        let expect = Expectation::part(fixture, "plain.txt", 0..1000);
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for (target, file, range) in [
        ("/", "index.html", 0..9_u64),
        ("/with-index/", "with-index/index.html", 0..5),
        ("/names/with%20space.txt", "names/with space.txt", 3..7),
        ("/medium.bin", "medium.bin", 65_530..65_545),
        ("/one.txt", "one.txt", 0..1),
        ("/special/inside.txt", "ten.txt", 4..6),
        ("/times/future.txt", "times/future.txt", 1..3),
    ] {
        let value = format!("bytes={}-{}", range.start, range.end - 1);
        let expect = Expectation::part(fixture, file, range);
        let name = format!("a range of {target}");
        let request = get(target).with("Range", &value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for range in [
        0..1_u64,
        1_048_570..1_048_580,
        2_000_000..2_000_100,
        3_145_727..3_145_728,
    ] {
        let value = format!("bytes={}-{}", range.start, range.end - 1);
        let name = format!("a range of 3 MiB: {value}");
        let expect = Expectation::part(fixture, "big/three-mib.bin", range);
        let request = get("/big/three-mib.bin").with("Range", &value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
}

fn unsatisfied(rows: &mut Vec<Exchange>) {
    for value in [
        "bytes=1000-",
        "bytes=1000-1000",
        "bytes=1000-2000",
        "bytes=5000-",
        "bytes=-0",
        "bytes=18446744073709551615-",
        "bytes=18446744073709551616-",
        "bytes=99999999999999999999999999-99999999999999999999999999",
        "bytes=1000-,2000-",
        "bytes=-0,1000-",
        "bytes=1000-1001, 3000-3001",
    ] {
        let name = format!("no such range: {value}");
        let expect = Expectation::unsatisfiable(1000);
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(
            "RFC 9110 15.5.17",
            name,
            request,
            expect,
        ));
    }
}

fn ignored(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for value in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=--1",
        "bytes=a-b",
        "bytes=0-b",
        "bytes=a-",
        "bytes=0",
        "bytes=0-0-0",
        "bytes=5-2",
        "bytes=9-0",
        "bytes=0-0,5-2",
        "bytes=5-2,0-0",
        "bytes=0-0,x",
        "bytes=0-0;1-1",
        "bytes=0 - 0",
        "bytes=0- 0",
        "bytes=0 -0",
        "bytes=- 5",
        "bytes=+0-0",
        "bytes=0-+5",
        "bytes=-+5",
        "bytes=-5-",
        "bytes=0x0-0x5",
        "bytes=0.0-1.0",
        "bytes=0-*",
        "bytes=*",
        "bytes=\u{661}-\u{662}",
        "bytes: 0-0",
        "bytes 0-0",
        "bytes 0-0/10",
        "bytes==0-0",
        "bytes =0-0",
        "=0-0",
        "0-0",
        "byte=0-0",
        "bytess=0-0",
        "items=0-0",
        "seconds=1-2",
        "none",
        "none=0-0",
        "x=0-0",
        "\"bytes=0-0\"",
        "bytes=\"0-0\"",
        "bytes=0-0\u{a0}",
    ] {
        // RFC 9110 section 14.2: an unknown unit or a malformed set is ignored.
        let name = format!("ignored: Range: '{value}'");
        let expect = Expectation::whole(fixture, "plain.txt");
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic("RFC 9110 14.2", name, request, expect));
    }
    // Two Range lines are no valid field (RFC 9110 section 5.3): one range of them would be a
    // guess, so the whole or what the joined value says.
    let request = get("/plain.txt")
        .with("Range", "bytes=0-0")
        .with("Range", "bytes=5-5");
    let expect = Expectation::whole(fixture, "plain.txt");
    rows.push(Exchange::semantic(
        "RFC 9110 14.2",
        "two Range lines",
        request,
        expect,
    ));
}

fn edges(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 14.1.2";
    for value in [
        "bytes=0-",
        "bytes=0-0",
        "bytes=5-",
        "bytes=-0",
        "bytes=0-99",
    ] {
        let name = format!("of nothing: {value}");
        let request = get("/empty.txt").with("Range", value);
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::unsatisfiable(0),
        ));
    }
    for value in ["bytes=-1", "bytes=-5", "bytes=-99999999999999999999"] {
        let name = format!("the end of nothing: {value}");
        let request = get("/empty.txt").with("Range", value);
        let expect = Expectation::whole(fixture, "empty.txt");
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for (value, range) in [
        ("bytes=0-0", 0..1),
        ("bytes=0-", 0..1),
        ("bytes=-1", 0..1),
        ("bytes=-9", 0..1),
    ] {
        let name = format!("of one byte: {value}");
        let expect = Expectation::part(fixture, "one.txt", range);
        rows.push(Exchange::semantic(
            section,
            name,
            get("/one.txt").with("Range", value),
            expect,
        ));
    }
    let request = get("/one.txt").with("Range", "bytes=1-");
    let expect = Expectation::unsatisfiable(1);
    rows.push(Exchange::semantic(
        section,
        "behind one byte",
        request,
        expect,
    ));
    for (field, value) in [
        ("Content-Range", "bytes 0-0/10"),
        ("Request-Range", "bytes=0-0"),
        ("X-Range", "bytes=0-0"),
        ("Accept-Ranges", "bytes"),
    ] {
        let name = format!("{field} in a request means nothing");
        let expect = Expectation::whole(fixture, "plain.txt");
        let request = get("/plain.txt").with(field, value);
        rows.push(Exchange::semantic("RFC 9110 14.4", name, request, expect));
    }
}

fn huge(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let file = "big/huge.bin";
    for mark in HUGE_MARKS {
        let range = mark..mark + 8;
        let value = format!("bytes={}-{}", range.start, range.end - 1);
        let name = format!("beyond 32 bits: {value}");
        let expect = Expectation::part(fixture, file, range);
        let request = get("/big/huge.bin").with("Range", &value);
        let row = Exchange::semantic("RFC 9110 14.1.2", name, request, expect);
        rows.push(row.needs(Need::Sparse));
    }
    for (value, range) in [
        (
            format!("bytes={}-", HUGE_LENGTH - 8),
            HUGE_LENGTH - 8..HUGE_LENGTH,
        ),
        ("bytes=-8".to_owned(), HUGE_LENGTH - 8..HUGE_LENGTH),
        ("bytes=-1".to_owned(), HUGE_LENGTH - 1..HUGE_LENGTH),
        (
            "bytes=4294967290-4294967300".to_owned(),
            4_294_967_290..4_294_967_301,
        ),
    ] {
        let name = format!("beyond 32 bits, the end: {value}");
        let expect = Expectation::part(fixture, file, range);
        let request = get("/big/huge.bin").with("Range", &value);
        let row = Exchange::semantic("RFC 9110 14.1.2", name, request, expect);
        rows.push(row.needs(Need::Sparse));
    }
    let request = get("/big/huge.bin").with("Range", format!("bytes={HUGE_LENGTH}-"));
    let expect = Expectation::unsatisfiable(HUGE_LENGTH);
    let row = Exchange::semantic("RFC 9110 15.5.17", "behind 20 GiB", request, expect);
    rows.push(row.needs(Need::Sparse));
    let request = get("/big/huge.bin").with("Range", "bytes=0-3,4294967292-4294967299,-8");
    let parts = [
        0..4,
        4_294_967_292..4_294_967_300,
        HUGE_LENGTH - 8..HUGE_LENGTH,
    ];
    let expect = Expectation::parts(fixture, file, &parts);
    let row = Exchange::semantic("RFC 9110 14.6", "parts of 20 GiB", request, expect);
    rows.push(row.needs(Need::Sparse));
}

fn if_range(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 13.1.5";
    let tag = "${etag:/plain.txt}";
    let [own, before, behind] = [0, -1, 1].map(|seconds| date::format(MODIFIED + seconds));
    let asctime = date::format_asctime(MODIFIED);
    let rfc850 = date::format_rfc850(MODIFIED);
    for (value, honoured) in [
        (tag, true),
        ("\"other\"", false),
        ("${weak:/plain.txt}", false),
        ("W/\"other\"", false),
        ("${etag:/ten.txt}", false),
        ("*", false),
        ("", false),
        ("\"\"", false),
        ("\"other\", ${etag:/plain.txt}", false),
        ("${etag:/plain.txt}, \"other\"", false),
        ("${opaque:/plain.txt}", false),
        (own.as_str(), true),
        (before.as_str(), false),
        // Exactly, not "since" (RFC 9110 section 13.1.5).
        (behind.as_str(), false),
        (asctime.as_str(), true),
        (rfc850.as_str(), true),
        ("Fri, 31 Dec 9999 23:59:59 GMT", false),
        ("Thu, 01 Jan 1970 00:00:00 GMT", false),
        ("nonsense", false),
        ("Mon, 06 May 2024 07:08:09", false),
    ] {
        let whole = Expectation::whole(fixture, "plain.txt");
        let part = Expectation::part(fixture, "plain.txt", 0..10);
        let request = get("/plain.txt")
            .with("Range", "bytes=0-9")
            .with("If-Range", value);
        let expect = if honoured { part } else { whole.clone() };
        let name = format!("If-Range: '{value}'");
        rows.push(Exchange::semantic(section, name, request, expect));
        let request = get("/plain.txt")
            .with("Range", "bytes=5000-")
            .with("If-Range", value);
        let expect = if honoured {
            Expectation::unsatisfiable(1000)
        } else {
            whole.clone()
        };
        let name = format!("If-Range: '{value}' and no such range");
        rows.push(Exchange::semantic(section, name, request, expect));
        let request = get("/plain.txt").with("If-Range", value);
        let name = format!("If-Range: '{value}' without Range");
        rows.push(Exchange::semantic(section, name, request, whole));
    }
    // The time of a file from the future is no strong validator (RFC 9110 section 8.8.2.2).
    let request = get("/times/future.txt")
        .with("Range", "bytes=0-1")
        .with("If-Range", "Fri, 01 Jan 2100 00:00:00 GMT");
    let expect = Expectation::whole(fixture, "times/future.txt");
    rows.push(Exchange::semantic(
        section,
        "If-Range with a future time",
        request,
        expect,
    ));
    let request = get("/times/future.txt")
        .with("Range", "bytes=0-1")
        .with("If-Range", "${etag:/times/future.txt}");
    let expect = Expectation::part(fixture, "times/future.txt", 0..2);
    rows.push(Exchange::semantic(
        section,
        "If-Range with a future file's tag",
        request,
        expect,
    ));
    for (coding, given, honoured) in [
        ("br", "|br", true),
        ("br", "|gzip", false),
        ("br", "", false),
        ("gzip", "|gzip", true),
    ] {
        let file = if coding == "br" {
            "coded/app.js.br"
        } else {
            "coded/app.js.gz"
        };
        let request = get("/coded/app.js")
            .with("Accept-Encoding", coding)
            .with("Range", "bytes=0-9")
            .with("If-Range", format!("${{etag:/coded/app.js{given}}}"));
        let expect = if honoured {
            Expectation::part(fixture, file, 0..10)
        } else {
            Expectation::whole(fixture, file)
        };
        let name = format!("If-Range on {coding} with the tag of '{given}'");
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            expect.coded(coding).varies(),
        ));
    }
}
