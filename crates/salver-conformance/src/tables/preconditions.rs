//! Preconditions (RFC 9110 section 13), in the order of 13.2.2.

use crate::date;
use crate::exchange::{Exchange, Request, get};
use crate::expect::Expectation;
use crate::fixture::{Fixture, MODIFIED};

const TAG: &str = "${etag:/ten.txt}";
const WEAK: &str = "${weak:/ten.txt}";

/// What a row of this file expects.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Whole,
    NotModified,
    Failed,
}
use Verdict::{Failed, NotModified, Whole};

fn expect(fixture: &Fixture, verdict: Verdict) -> Expectation {
    match verdict {
        Whole => Expectation::whole(fixture, "ten.txt"),
        NotModified => Expectation::not_modified().has("etag", TAG),
        Failed => Expectation::status(412),
    }
}

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    if_none_match(fixture, rows);
    if_match(fixture, rows);
    if_modified_since(fixture, rows);
    if_unmodified_since(fixture, rows);
    order(fixture, rows);
    elsewhere(fixture, rows);
}

fn row(
    fixture: &Fixture,
    section: &'static str,
    fields: &[(&str, &str)],
    verdict: Verdict,
) -> Exchange {
    let mut request: Request = get("/ten.txt");
    let mut name = String::new();
    for (field, value) in fields {
        request = request.with(field, value);
        name.push_str(&format!("{field}: {value}; "));
    }
    Exchange::semantic(section, name, request, expect(fixture, verdict))
}

fn if_none_match(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (value, verdict) in [
        (TAG, NotModified),
        (WEAK, NotModified),
        ("*", NotModified),
        ("\"other\"", Whole),
        ("W/\"other\"", Whole),
        ("\"a\", \"b\", \"c\"", Whole),
        ("\"other\", ${etag:/ten.txt}", NotModified),
        ("${etag:/ten.txt}, \"other\"", NotModified),
        ("\"other\",${etag:/ten.txt}", NotModified),
        ("\"other\" , ${etag:/ten.txt}", NotModified),
        ("\"other\"\t,\t${weak:/ten.txt}", NotModified),
        ("W/\"other\", ${weak:/ten.txt}, \"third\"", NotModified),
        (", ${etag:/ten.txt}", NotModified),
        ("${etag:/ten.txt},", NotModified),
        ("\"a\",,, ${etag:/ten.txt}", NotModified),
        ("\"with, comma\", ${etag:/ten.txt}", NotModified),
        ("\"\", ${etag:/ten.txt}", NotModified),
        ("\"\"", Whole),
        ("\"x${opaque:/ten.txt}\"", Whole),
        ("\"${opaque:/ten.txt}x\"", Whole),
        ("\"a,${opaque:/ten.txt}\"", Whole),
        ("\"${opaque:/ten.txt}-gzip\"", Whole),
        ("${etag:/plain.txt}", Whole),
        ("\"*\"", Whole),
        ("", Whole),
        (",", Whole),
        ("\"unclosed", Whole),
    ] {
        rows.push(row(
            fixture,
            "RFC 9110 13.1.2",
            &[("If-None-Match", value)],
            verdict,
        ));
    }
    // A weak mark in another case, or a tag without quotes, is no entity tag.
    for value in [
        "w/${etag:/ten.txt}",
        "${opaque:/ten.txt}",
        "W/ ${etag:/ten.txt}",
    ] {
        let request = get("/ten.txt").with("If-None-Match", value);
        let expect = Expectation::whole(fixture, "ten.txt").or(304);
        let name = format!("If-None-Match, malformed: {value}");
        rows.push(Exchange::semantic("RFC 9110 8.8.3", name, request, expect));
    }
    let many = format!("{}{TAG}", "\"no\", ".repeat(500));
    let request = get("/ten.txt").with("If-None-Match", many);
    let expect = expect(fixture, NotModified);
    let name = "If-None-Match with 501 members";
    rows.push(Exchange::semantic("RFC 9110 13.1.2", name, request, expect));
    let lines = [("If-None-Match", "\"a\""), ("If-None-Match", TAG)];
    rows.push(row(fixture, "RFC 9110 5.3", &lines, NotModified));
    let lines = [("if-none-match", "\"a\""), ("IF-NONE-MATCH", "\"b\"")];
    rows.push(row(fixture, "RFC 9110 5.3", &lines, Whole));
}

fn if_match(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (value, verdict) in [
        (TAG, Whole),
        ("*", Whole),
        ("\"other\"", Failed),
        // Strong comparison: a weak tag never matches (RFC 9110 section 8.8.3.2).
        (WEAK, Failed),
        ("\"other\", ${etag:/ten.txt}", Whole),
        ("${etag:/ten.txt}, \"other\"", Whole),
        ("\"other\",${etag:/ten.txt}", Whole),
        ("\"a\", \"b\"", Failed),
        ("${weak:/ten.txt}, ${etag:/ten.txt}", Whole),
        ("${weak:/ten.txt}, \"other\"", Failed),
        (",, ${etag:/ten.txt}", Whole),
        ("\"with, comma\", ${etag:/ten.txt}", Whole),
        ("\"a,${opaque:/ten.txt}\"", Failed),
        ("${etag:/plain.txt}", Failed),
        ("\"\"", Failed),
        ("\"*\"", Failed),
    ] {
        rows.push(row(
            fixture,
            "RFC 9110 13.1.1",
            &[("If-Match", value)],
            verdict,
        ));
    }
    let lines = [("If-Match", "\"a\""), ("If-Match", TAG)];
    rows.push(row(fixture, "RFC 9110 5.3", &lines, Whole));
}

/// The date of the fixture's files moved by some seconds, in each form that must be read.
fn forms(seconds: i64) -> [String; 3] {
    let at = MODIFIED + seconds;
    [
        date::format(at),
        date::format_rfc850(at),
        date::format_asctime(at),
    ]
}

/// What is not an HTTP-date, whatever it resembles.
const NO_DATES: [&str; 18] = [
    "",
    "now",
    "0",
    "1714979289",
    "2024-05-06T07:08:09Z",
    "Mon, 06 May 2024 07:08:09",
    "Mon, 06 May 2024 07:08:09 UTC",
    "Mon, 06 May 2024 07:08:09 +0000",
    "Mon, 06 May 2024 07:08 GMT",
    "Mon, 06 Foo 2024 07:08:09 GMT",
    "Mon, 32 May 2024 07:08:09 GMT",
    "Sat, 31 Feb 2099 07:08:09 GMT",
    "Mon, 06 May 2024 25:08:09 GMT",
    "Mon, 06 May 2024 07:61:09 GMT",
    "Mon 06 May 2024 07:08:09 GMT",
    "Mon, 06 May 20024 07:08:09 GMT",
    "Mon, 06 May 2099 07:08:09 GMT, Mon, 06 May 2099 07:08:09 GMT",
    "Mon, 06 May 2099 07:08:09 GMT trailing",
];

fn if_modified_since(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 13.1.3";
    for (seconds, verdict) in [
        (0, NotModified),
        (1, NotModified),
        (86_400, NotModified),
        (-1, Whole),
        (-86_400, Whole),
        (-1_000_000_000, Whole),
    ] {
        for form in forms(seconds) {
            // Two digits of a year leave the century open; these stay within the rule.
            rows.push(row(
                fixture,
                section,
                &[("If-Modified-Since", &form)],
                verdict,
            ));
        }
    }
    for (value, verdict) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Whole),
        ("Wed, 31 Dec 1969 23:59:59 GMT", Whole),
        ("Mon, 01 Jan 1900 00:00:00 GMT", Whole),
        ("Fri, 31 Dec 9999 23:59:59 GMT", NotModified),
        ("Sun, 05 May 2024 07:08:60 GMT", Whole),
    ] {
        rows.push(row(
            fixture,
            section,
            &[("If-Modified-Since", value)],
            verdict,
        ));
    }
    for value in NO_DATES {
        rows.push(row(
            fixture,
            section,
            &[("If-Modified-Since", value)],
            Whole,
        ));
    }
}

fn if_unmodified_since(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 13.1.4";
    for (seconds, verdict) in [
        (0, Whole),
        (1, Whole),
        (86_400, Whole),
        (-1, Failed),
        (-86_400, Failed),
    ] {
        for form in forms(seconds) {
            rows.push(row(
                fixture,
                section,
                &[("If-Unmodified-Since", &form)],
                verdict,
            ));
        }
    }
    for (value, verdict) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Failed),
        ("Mon, 01 Jan 1900 00:00:00 GMT", Failed),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Whole),
    ] {
        rows.push(row(
            fixture,
            section,
            &[("If-Unmodified-Since", value)],
            verdict,
        ));
    }
    for value in NO_DATES {
        rows.push(row(
            fixture,
            section,
            &[("If-Unmodified-Since", value)],
            Whole,
        ));
    }
}

fn order(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let [at, _, _] = forms(0);
    let [before, _, _] = forms(-100);
    let [behind, _, _] = forms(100);
    let section = "RFC 9110 13.2.2";
    for (fields, verdict) in [
        // If-Match, and If-Unmodified-Since only without it.
        (
            vec![("If-Match", TAG), ("If-Unmodified-Since", before.as_str())],
            Whole,
        ),
        (
            vec![("If-Match", "*"), ("If-Unmodified-Since", &before)],
            Whole,
        ),
        (
            vec![("If-Match", "\"other\""), ("If-Unmodified-Since", &behind)],
            Failed,
        ),
        (
            vec![("If-Unmodified-Since", &before), ("If-Match", TAG)],
            Whole,
        ),
        // If-None-Match, and If-Modified-Since only without it.
        (
            vec![("If-None-Match", "\"other\""), ("If-Modified-Since", &at)],
            Whole,
        ),
        (
            vec![
                ("If-None-Match", "\"other\""),
                ("If-Modified-Since", &behind),
            ],
            Whole,
        ),
        (
            vec![("If-None-Match", TAG), ("If-Modified-Since", &before)],
            NotModified,
        ),
        (
            vec![("If-Modified-Since", &at), ("If-None-Match", "\"other\"")],
            Whole,
        ),
        (
            vec![("If-Modified-Since", &before), ("If-None-Match", "*")],
            NotModified,
        ),
        // The first group before the second.
        (vec![("If-Match", TAG), ("If-None-Match", TAG)], NotModified),
        (
            vec![("If-Match", "\"other\""), ("If-None-Match", TAG)],
            Failed,
        ),
        (
            vec![("If-None-Match", TAG), ("If-Match", "\"other\"")],
            Failed,
        ),
        (
            vec![("If-Match", TAG), ("If-None-Match", "\"other\"")],
            Whole,
        ),
        (
            vec![("If-Match", TAG), ("If-Modified-Since", &at)],
            NotModified,
        ),
        (
            vec![("If-Match", "\"other\""), ("If-Modified-Since", &at)],
            Failed,
        ),
        (
            vec![("If-Unmodified-Since", &at), ("If-Modified-Since", &at)],
            NotModified,
        ),
        (
            vec![("If-Unmodified-Since", &before), ("If-Modified-Since", &at)],
            Failed,
        ),
        (
            vec![("If-Unmodified-Since", &before), ("If-None-Match", TAG)],
            Failed,
        ),
        (
            vec![("If-Unmodified-Since", &at), ("If-None-Match", TAG)],
            NotModified,
        ),
        (
            vec![("If-Unmodified-Since", "nonsense"), ("If-None-Match", TAG)],
            NotModified,
        ),
        (
            vec![
                ("If-Unmodified-Since", &behind),
                ("If-Modified-Since", &before),
            ],
            Whole,
        ),
        // Before Range.
        (
            vec![("If-None-Match", TAG), ("Range", "bytes=0-0")],
            NotModified,
        ),
        (
            vec![("If-None-Match", TAG), ("Range", "bytes=100-")],
            NotModified,
        ),
        (
            vec![("If-Match", "\"other\""), ("Range", "bytes=0-0")],
            Failed,
        ),
        (
            vec![("If-Match", "\"other\""), ("Range", "bytes=100-")],
            Failed,
        ),
        (
            vec![("If-Modified-Since", &at), ("Range", "bytes=0-0")],
            NotModified,
        ),
        (
            vec![("If-Unmodified-Since", &before), ("Range", "bytes=0-0")],
            Failed,
        ),
        (
            vec![
                ("If-None-Match", TAG),
                ("If-Range", TAG),
                ("Range", "bytes=0-0"),
            ],
            NotModified,
        ),
        (
            vec![
                ("If-Match", WEAK),
                ("If-Range", TAG),
                ("Range", "bytes=0-0"),
            ],
            Failed,
        ),
    ] {
        rows.push(row(fixture, section, &fields, verdict));
    }
    for (field, value) in [
        ("If-Match", TAG),
        ("If-None-Match", "\"other\""),
        ("If-Match", "*"),
    ] {
        let request = get("/ten.txt")
            .with(field, value)
            .with("Range", "bytes=2-4");
        let expect = Expectation::part(fixture, "ten.txt", 2..5);
        let name = format!("a range behind {field}: {value}");
        rows.push(Exchange::semantic(section, name, request, expect));
        let request = get("/ten.txt")
            .with(field, value)
            .with("Range", "bytes=10-");
        let name = format!("no such range behind {field}: {value}");
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::unsatisfiable(10),
        ));
    }
}

/// Files with a twist: coded, empty, large, a directory's index.
fn elsewhere(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 13.1.2";
    for target in [
        "/",
        "/with-index/",
        "/empty.txt",
        "/big/three-mib.bin",
        "/assets/app.js",
    ] {
        let tag = format!("${{etag:{target}}}");
        let request = get(target).with("If-None-Match", &tag);
        let expect = Expectation::not_modified().has("etag", &tag);
        let name = format!("not modified: {target}");
        rows.push(Exchange::semantic(section, name, request, expect));
        let request = get(target).with("If-Match", "\"other\"");
        let name = format!("failed: {target}");
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::status(412),
        ));
    }
    for (accept, tag, same) in [
        ("br", "br", true),
        ("br", "gzip", false),
        ("gzip", "gzip", true),
        ("gzip", "br", false),
        ("zstd", "zstd", true),
        ("zstd", "gzip", false),
        ("identity", "br", false),
    ] {
        // RFC 9110 section 8.8.3.3: a tag of one coding says nothing of another.
        let value = format!("${{etag:/coded/app.js|{tag}}}");
        let request = get("/coded/app.js")
            .with("Accept-Encoding", accept)
            .with("If-None-Match", &value);
        let expect = if same {
            Expectation::not_modified().has("etag", &value).varies()
        } else {
            Expectation::status(200).coded(accept).varies()
        };
        let name = format!("{accept} asked for with the tag of {tag}");
        rows.push(Exchange::semantic(
            "RFC 9110 8.8.3.3",
            name,
            request,
            expect,
        ));
    }
    let request = get("/coded/app.js").with("If-None-Match", "${etag:/coded/app.js}");
    let expect = Expectation::not_modified().varies();
    let name = "a 304 of a negotiable file varies";
    rows.push(Exchange::semantic("RFC 9110 15.4.5", name, request, expect));
    let request =
        get("/assets/app.3f9a1c2b.js").with("If-None-Match", "${etag:/assets/app.3f9a1c2b.js}");
    let expect =
        Expectation::not_modified().has("cache-control", "public, max-age=31536000, immutable");
    let name = "a 304 has the Cache-Control of the 200";
    rows.push(Exchange::semantic("RFC 9110 15.4.5", name, request, expect));
    let request = get("/ten.txt").with("If-None-Match", TAG);
    let expect = expect_plain_304(fixture);
    rows.push(Exchange::semantic(
        "RFC 9110 15.4.5",
        "the fields of a 304",
        request,
        expect,
    ));
}

fn expect_plain_304(fixture: &Fixture) -> Expectation {
    expect(fixture, NotModified)
        .has("cache-control", "no-cache")
        .lacks("content-range")
        .lacks("transfer-encoding")
}
