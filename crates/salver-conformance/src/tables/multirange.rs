//! Several ranges: parts, merged, bounded (RFC 9110 sections 14.2, 14.6 and 15.3.7.2).

use std::ops::Range;

use crate::exchange::{Exchange, get};
use crate::expect::{Expectation, FieldRule};
use crate::fixture::Fixture;
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    parts(fixture, rows);
    merged(fixture, rows);
    bounded(fixture, rows);
    conditions(fixture, rows);
}

fn parts(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 14.6";
    let table: [(&str, &[Range<u64>]); 14] = [
        ("bytes=0-0,999-999", &[0..1, 999..1000]),
        ("bytes=0-0, 999-999", &[0..1, 999..1000]),
        ("bytes=0-0 ,\t999-999", &[0..1, 999..1000]),
        ("bytes=0-9,500-509,990-999", &[0..10, 500..510, 990..1000]),
        ("bytes=0-9,-10", &[0..10, 990..1000]),
        ("bytes=0-9,900-", &[0..10, 900..1000]),
        // In the order asked for.
        ("bytes=900-909,0-9", &[900..910, 0..10]),
        ("bytes=-10,0-9", &[990..1000, 0..10]),
        ("bytes=500-509,0-9,900-909", &[500..510, 0..10, 900..910]),
        // What cannot be satisfied is left out.
        ("bytes=0-9,500-509,5000-", &[0..10, 500..510]),
        ("bytes=5000-,0-9,500-509", &[0..10, 500..510]),
        ("bytes=0-9,-0,500-509", &[0..10, 500..510]),
        ("bytes=0-9,990-5000", &[0..10, 990..1000]),
        ("bytes=,0-9,,500-509,", &[0..10, 500..510]),
    ];
    for (value, ranges) in table {
        let name = format!("parts: {value}");
        let expect = Expectation::parts(fixture, "plain.txt", ranges).present("last-modified");
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    let ranges = [10..20, 50_000..50_100, 99_990..100_000];
    let request = get("/medium.bin").with("Range", "bytes=10-19,50000-50099,-10");
    let expect = Expectation::parts(fixture, "medium.bin", &ranges);
    rows.push(Exchange::semantic(
        section,
        "parts of noise",
        request,
        expect,
    ));
    let ranges = [0..10, 2_000_000..2_100_000];
    let request = get("/big/three-mib.bin").with("Range", "bytes=0-9,2000000-2099999");
    let expect = Expectation::parts(fixture, "big/three-mib.bin", &ranges);
    rows.push(Exchange::semantic(
        section,
        "parts of 3 MiB",
        request,
        expect,
    ));
    let ranges = [0..10, 3_145_720..3_145_728];
    let request = get("/big/three-mib.bin").with("Range", "bytes=0-9,-8");
    let expect = Expectation::parts(fixture, "big/three-mib.bin", &ranges);
    rows.push(Exchange::semantic(
        section,
        "ends of 3 MiB",
        request,
        expect,
    ));
}

fn merged(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 15.3.7.2";
    let table: [(&str, Range<u64>); 14] = [
        ("bytes=0-99,50-149", 0..150),
        ("bytes=50-149,0-99", 0..150),
        ("bytes=0-99,0-99", 0..100),
        ("bytes=0-99,100-199", 0..200),
        ("bytes=100-199,0-99", 0..200),
        ("bytes=0-,0-9", 0..1000),
        ("bytes=0-9,0-", 0..1000),
        ("bytes=0-999,10-20", 0..1000),
        ("bytes=10-20,0-999", 0..1000),
        ("bytes=-100,950-", 900..1000),
        ("bytes=0-9,5-14,10-19", 0..20),
        // One of two is left: a single part, not a multipart of one.
        ("bytes=0-9,5000-", 0..10),
        ("bytes=5000-,0-9", 0..10),
        ("bytes=-0,0-9", 0..10),
    ];
    for (value, range) in table {
        let name = format!("merged: {value}");
        let expect = Expectation::part(fixture, "plain.txt", range);
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    let table: [(&str, &[Range<u64>]); 3] = [
        ("bytes=0-99,50-149,900-909", &[0..150, 900..910]),
        ("bytes=900-909,0-99,50-149", &[900..910, 0..150]),
        ("bytes=0-9,900-909,0-9", &[0..10, 900..910]),
    ];
    for (value, ranges) in table {
        let name = format!("merged in part: {value}");
        let expect = Expectation::parts(fixture, "plain.txt", ranges);
        let request = get("/plain.txt").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    // Close enough to be cheaper as one; right either way.
    for value in ["bytes=0-1,4-5", "bytes=0-0,2-2,4-4", "bytes=0-0,-1"] {
        let name = format!("close together: {value}");
        let request = get("/ten.txt").with("Range", value);
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::status(206),
        ));
    }
}

/// Many ranges cost more than the file (RFC 9110 section 17.15).
fn bounded(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 17.15";
    let list = |count: u64, step: u64| {
        let ranges: Vec<_> = (0..count)
            .map(|index| format!("{}-{}", index * step, index * step))
            .collect();
        format!("bytes={}", ranges.join(","))
    };
    for (count, step) in [(50, 1000), (99, 1000), (101, 500), (1000, 90)] {
        let name = format!("{count} ranges of one byte each");
        let request = get("/medium.bin").with("Range", list(count, step));
        let expect = Expectation::whole(fixture, "medium.bin");
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    let name = "ten ranges of one byte each";
    let ranges: Vec<_> = (0..10)
        .map(|index| index * 1000..index * 1000 + 1)
        .collect();
    let expect = Expectation::parts(fixture, "medium.bin", &ranges);
    let request = get("/medium.bin").with("Range", list(10, 1000));
    rows.push(Exchange::semantic(section, name, request, expect));
    for (name, value) in [
        (
            "1000 times the whole",
            format!("bytes={}0-", "0-,".repeat(999)),
        ),
        (
            "1000 times the first byte",
            format!("bytes={}0-0", "0-0,".repeat(999)),
        ),
        (
            "1000 overlapping ends",
            format!("bytes={}-1000", "-1000,".repeat(999)),
        ),
    ] {
        let expect = Expectation::whole(fixture, "medium.bin");
        let request = get("/medium.bin").with("Range", value);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    let value = format!("bytes={}", ",".repeat(500));
    let request = get("/medium.bin").with("Range", value);
    let expect = Expectation::whole(fixture, "medium.bin");
    rows.push(Exchange::semantic(section, "500 commas", request, expect));
    let overlapping = format!("bytes={}0-9", "0-9,".repeat(49));
    let request = get("/medium.bin").with("Range", overlapping);
    let expect = Expectation::part(fixture, "medium.bin", 0..10);
    rows.push(Exchange::semantic(
        section,
        "50 times one range",
        request,
        expect,
    ));
    let value = "bytes=0-,0-,0-,0-,0-";
    let expect = Expectation::part(fixture, "medium.bin", 0..100_000);
    let request = get("/medium.bin").with("Range", value);
    rows.push(Exchange::semantic(
        section,
        "five times the whole",
        request,
        expect,
    ));
    let request = get("/big/huge.bin").with("Range", format!("bytes={}-1", "-1,".repeat(60)));
    let expect = Expectation::status(206).has("content-length", "1");
    let row = Exchange::semantic(section, "61 times the end of 20 GiB", request, expect);
    rows.push(row.needs(Need::Sparse));
}

fn conditions(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 14.6";
    let ranges = [0..10, 500..510];
    let value = "bytes=0-9,500-509";
    let with = |field: &str, tag: &str| get("/plain.txt").with("Range", value).with(field, tag);
    let parts = || Expectation::parts(fixture, "plain.txt", &ranges);
    let name = "parts with If-Range";
    let request = with("If-Range", "${etag:/plain.txt}");
    rows.push(Exchange::semantic(section, name, request, parts()));
    let name = "parts with another If-Range";
    let request = with("If-Range", "\"other\"");
    let expect = Expectation::whole(fixture, "plain.txt");
    rows.push(Exchange::semantic(section, name, request, expect));
    let name = "parts with If-None-Match";
    let request = with("If-None-Match", "${etag:/plain.txt}");
    rows.push(Exchange::semantic(
        section,
        name,
        request,
        Expectation::not_modified(),
    ));
    let name = "parts with If-Match";
    let request = with("If-Match", "${etag:/plain.txt}");
    let expect = parts()
        .has("etag", "${etag:/plain.txt}")
        .has("cache-control", "no-cache");
    rows.push(Exchange::semantic(section, name, request, expect));
    let name = "parts are fewer bytes than the whole by Content-Length";
    let differs = FieldRule::Differs("1000".to_owned());
    let request = get("/plain.txt").with("Range", value);
    let expect = parts()
        .present("content-length")
        .rule("content-length", differs);
    rows.push(Exchange::semantic(section, name, request, expect));
    // Of the coded bytes, each part of one coding.
    let coded = fixture.length("coded/app.js.gz");
    let ranges = [0..5, coded - 5..coded];
    let request = get("/coded/app.js")
        .with("Accept-Encoding", "gzip")
        .with("Range", "bytes=0-4,-5");
    let expect = if coded > 200 {
        Expectation::parts(fixture, "coded/app.js.gz", &ranges).varies()
    } else {
        Expectation::status(206).varies()
    };
    rows.push(Exchange::semantic(
        section,
        "parts of a coded file",
        request,
        expect,
    ));
}
