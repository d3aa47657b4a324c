//! Accept-Encoding (RFC 9110 section 12.5.3).

use crate::exchange::{Exchange, Request, get};
use crate::expect::Expectation;
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    all_codings(fixture, rows);
    some_codings(fixture, rows);
    not_acceptable(rows);
    not_negotiable(fixture, rows);
    lines(fixture, rows);
    ranges(fixture, rows);
}

/// The sibling's name for a coding.
pub(super) fn sibling(file: &str, coding: &str) -> String {
    match coding {
        "br" => format!("{file}.br"),
        "zstd" => format!("{file}.zst"),
        "gzip" => format!("{file}.gz"),
        _ => file.to_owned(),
    }
}

/// 200 with the file in the coding, its own length, and Vary.
pub(super) fn coded(fixture: &Fixture, file: &str, coding: &str) -> Expectation {
    Expectation::whole(fixture, &sibling(file, coding))
        .coded(coding)
        .varies()
}

/// The coding with the smallest content.
fn smallest<'a>(fixture: &Fixture, file: &str, codings: &[&'a str]) -> &'a str {
    codings
        .iter()
        .copied()
        .min_by_key(|coding| fixture.length(&sibling(file, coding)))
        .unwrap_or("identity")
}

fn all_codings(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let file = "coded/app.js";
    let of_three = smallest(fixture, file, &["br", "zstd", "gzip"]);
    let br_gzip = smallest(fixture, file, &["br", "gzip"]);
    let br_zstd = smallest(fixture, file, &["br", "zstd"]);
    let zstd_gzip = smallest(fixture, file, &["zstd", "gzip"]);
    for (accept, coding) in [
        ("br", "br"),
        ("zstd", "zstd"),
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("identity", "identity"),
        ("", "identity"),
        ("*", of_three),
        ("gzip, deflate", "gzip"),
        ("gzip, deflate, br", br_gzip),
        ("gzip, deflate, br, zstd", of_three),
        ("gzip,deflate,br,zstd", of_three),
        ("zstd, br, gzip", of_three),
        ("br, zstd", br_zstd),
        ("gzip, zstd", zstd_gzip),
        ("deflate", "identity"),
        ("compress", "identity"),
        ("unknown", "identity"),
        ("unknown, br", "br"),
        ("BR", "br"),
        ("Br", "br"),
        ("GZIP", "gzip"),
        ("X-GZip", "gzip"),
        ("ZSTD", "zstd"),
        ("IDENTITY", "identity"),
        // Weights.
        ("br;q=1", "br"),
        ("br;q=1.0", "br"),
        ("br;q=1.000", "br"),
        ("br;q=0.001", "br"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("gzip;q=0.5, br;q=0.8", "br"),
        ("br;q=0.5, gzip;q=0.8, zstd;q=0.9", "zstd"),
        ("br;q=0.1, gzip;q=0.2, *;q=0.3", "zstd"),
        ("gzip;q=1.0, br;q=0.999", "gzip"),
        ("gzip;q=0.001, br;q=0.002", "br"),
        ("br;Q=0.5, gzip;Q=0.8", "gzip"),
        ("br; q=0.5, gzip; q=0.8", "gzip"),
        ("br ;q=0.5 , gzip ;q=0.8", "gzip"),
        ("br\t;\tq=0.5,\tgzip\t;\tq=0.8", "gzip"),
        ("identity;q=0.5, gzip;q=0.4", "identity"),
        ("identity;q=0.5, gzip;q=0.6", "gzip"),
        ("identity, gzip;q=0.9", "identity"),
        ("identity;q=0.1, gzip", "gzip"),
        ("identity;q=0, gzip", "gzip"),
        ("identity;q=0, *", of_three),
        ("gzip;q=0.5, identity", "identity"),
        // Refused ones.
        ("br;q=0", "identity"),
        ("br;q=0.0", "identity"),
        ("br;q=0.000", "identity"),
        ("br;q=0, gzip", "gzip"),
        ("gzip, br;q=0", "gzip"),
        ("br;q=0, zstd;q=0, gzip;q=0", "identity"),
        ("*;q=0, gzip", "gzip"),
        ("gzip, *;q=0", "gzip"),
        ("*;q=0, identity", "identity"),
        ("identity, *;q=0", "identity"),
        ("br;q=0, *", zstd_gzip),
        ("*, br;q=0", zstd_gzip),
        ("*, br;q=0, zstd;q=0", "gzip"),
        ("gzip;q=0, zstd;q=0, *", "br"),
        ("gzip;q=0, x-gzip", "identity"),
        ("*;q=0.5, gzip;q=0.1", br_zstd),
        ("*;q=0.1, gzip;q=0.5", "gzip"),
        // Empty members.
        (", br", "br"),
        ("br,", "br"),
        (",,br,,", "br"),
        (",", "identity"),
        // Nothing that looks alike.
        ("brotli", "identity"),
        ("gz", "identity"),
        ("gzipped", "identity"),
        ("zst", "identity"),
        ("xbr", "identity"),
        ("b r", "identity"),
        ("notgzip, xgzip, gzipx", "identity"),
        ("br-x", "identity"),
    ] {
        if accept == "gzip;q=0, x-gzip" {
            // One coding under two names and two weights: nobody can say.
            continue;
        }
        let name = format!("Accept-Encoding: '{accept}'");
        let request = get("/coded/app.js").with("Accept-Encoding", accept);
        let expect = coded(fixture, file, coding);
        rows.push(Exchange::semantic("RFC 9110 12.5.3", name, request, expect));
    }
    for accept in [
        "br;q=",
        "br;q=x",
        "br;q=-1",
        "br;q=2",
        "br;q=1.5",
        "br;q=1.001",
        "br;q=0.1234",
        "br;q",
        "br;q=.5",
        "br;q=0,5",
        "br;q=\"1\"",
        "br q=1",
        "br;q=1;q=0",
        "br;level=5",
        "br;;q=1",
        "br;q= 1",
        "br;q =1",
        ";q=1",
        "=",
        "br/gzip",
        "\"br\"",
    ] {
        // What a malformed member means is the server's choice; an answer is not an error.
        let name = format!("Accept-Encoding, malformed: '{accept}'");
        let request = get("/coded/app.js").with("Accept-Encoding", accept);
        let expect = Expectation::status(200).varies();
        rows.push(Exchange::semantic("RFC 9110 12.4.2", name, request, expect));
    }
    let expect = coded(fixture, file, "identity");
    let name = "without Accept-Encoding";
    rows.push(Exchange::semantic(
        "RFC 9110 12.5.3",
        name,
        get("/coded/app.js"),
        expect,
    ));
    let many = format!("{}br", "unknown, ".repeat(400));
    let request = get("/coded/app.js").with("Accept-Encoding", many);
    let expect = coded(fixture, file, "br");
    let name = "400 unknown codings and br";
    rows.push(Exchange::semantic("RFC 9110 12.5.3", name, request, expect));
}

fn some_codings(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (file, accept, coding) in [
        ("coded/only-br.css", "br", "br"),
        ("coded/only-br.css", "gzip", "identity"),
        ("coded/only-br.css", "gzip, zstd", "identity"),
        ("coded/only-br.css", "gzip, br;q=0.1", "br"),
        ("coded/only-br.css", "*", "br"),
        ("coded/only-zst.css", "zstd", "zstd"),
        ("coded/only-zst.css", "br, gzip", "identity"),
        (
            "coded/only-zst.css",
            "br;q=1, zstd;q=0.5, gzip;q=0.8",
            "zstd",
        ),
        ("coded/only-gz.css", "gzip", "gzip"),
        ("coded/only-gz.css", "x-gzip", "gzip"),
        ("coded/only-gz.css", "br", "identity"),
        ("coded/only-gz.css", "br, gzip;q=0.001", "gzip"),
        ("coded/only-gz.css", "*;q=0.1", "gzip"),
        ("coded/only-gz.css", "identity;q=0, gzip", "gzip"),
        ("coded/br-gz.css", "zstd, gzip;q=0.5", "gzip"),
        ("coded/br-gz.css", "zstd", "identity"),
        ("coded/br-gz.css", "br;q=0.2, gzip;q=0.3, zstd", "gzip"),
        ("coded/page.html", "br", "br"),
        ("coded/page.html", "gzip", "gzip"),
        ("coded/vector.svg", "zstd", "zstd"),
        ("coded/a b.js", "br", "br"),
        ("coded/app.3f9a1c2b.js", "br", "br"),
    ] {
        let name = format!("{file} for '{accept}'");
        let target = format!("/{}", file.replace(' ', "%20"));
        let request = get(target).with("Accept-Encoding", accept);
        let expect = coded(fixture, file, coding);
        rows.push(Exchange::semantic("RFC 9110 12.5.3", name, request, expect));
    }
    for coding in ["br", "zstd", "gzip", "identity"] {
        let name = format!("the index of a directory in {coding}");
        let request = get("/coded/site/").with("Accept-Encoding", coding);
        let expect = coded(fixture, "coded/site/index.html", coding);
        rows.push(Exchange::semantic("RFC 9110 12.5.3", name, request, expect));
        let name = format!("the type of a file in {coding} is that of the file");
        let rule = crate::FieldRule::MediaType(vec!["text/javascript"], true);
        let request = get("/coded/app.js").with("Accept-Encoding", coding);
        let expect = coded(fixture, "coded/app.js", coding).rule("content-type", rule);
        rows.push(Exchange::semantic("RFC 9110 8.4", name, request, expect));
    }
}

fn not_acceptable(rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 15.5.7";
    for (target, accept) in [
        ("/coded/app.js", "identity;q=0"),
        ("/coded/app.js", "*;q=0"),
        ("/coded/app.js", "identity;q=0, br;q=0, zstd;q=0, gzip;q=0"),
        ("/coded/app.js", "identity;q=0, deflate"),
        ("/coded/app.js", "*;q=0, compress"),
        ("/coded/only-gz.css", "identity;q=0, br"),
        ("/coded/only-gz.css", "br, *;q=0"),
        ("/coded/only-br.css", "gzip, identity;q=0"),
        ("/ten.txt", "identity;q=0"),
        ("/ten.txt", "*;q=0"),
        ("/ten.txt", "gzip, identity;q=0"),
        ("/ten.txt", "br;q=1, *;q=0"),
    ] {
        let name = format!("not acceptable: {target} for '{accept}'");
        let request = get(target).with("Accept-Encoding", accept);
        rows.push(Exchange::semantic(
            section,
            name,
            request,
            Expectation::status(406),
        ));
    }
    let request = get("/coded/app.js").with("Accept-Encoding", "*;q=0");
    let name = "a 406 of a negotiable file varies";
    rows.push(Exchange::semantic(
        section,
        name,
        request,
        Expectation::status(406).varies(),
    ));
    let request = get("/none").with("Accept-Encoding", "*;q=0");
    let name = "nothing is not found, acceptable or not";
    rows.push(Exchange::semantic(
        section,
        name,
        request,
        Expectation::status(404),
    ));
}

fn not_negotiable(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for accept in [
        "br",
        "gzip",
        "br, gzip, zstd",
        "*",
        "identity",
        "",
        "gzip;q=0",
    ] {
        let name = format!("no siblings, for '{accept}'");
        let request = get("/ten.txt").with("Accept-Encoding", accept);
        let expect = Expectation::whole(fixture, "ten.txt").lacks("content-encoding");
        rows.push(Exchange::semantic("RFC 9110 12.5.3", name, request, expect));
    }
}

/// Several field lines are one list (RFC 9110 section 5.3).
fn lines(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (values, coding) in [
        (vec!["br;q=0.5", "gzip"], "gzip"),
        (vec!["unknown", "br"], "br"),
        (vec!["br;q=0", "gzip;q=0.1"], "gzip"),
        (vec!["", "br"], "br"),
        (vec!["zstd;q=0.1", "gzip;q=0.2", "br;q=0.3"], "br"),
        (vec!["*;q=0", "gzip"], "gzip"),
    ] {
        let name = format!("Accept-Encoding in lines: {values:?}");
        let mut request: Request = get("/coded/app.js");
        for value in values {
            request = request.with("Accept-Encoding", value);
        }
        let expect = coded(fixture, "coded/app.js", coding);
        rows.push(Exchange::semantic("RFC 9110 5.3", name, request, expect));
    }
}

/// Ranges are of the coded bytes.
fn ranges(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for coding in ["br", "zstd", "gzip", "identity"] {
        let file = sibling("coded/app.js", coding);
        let length = fixture.length(&file);
        for (value, range) in [
            ("bytes=0-9".to_owned(), 0..10),
            ("bytes=10-".to_owned(), 10..length),
            ("bytes=-7".to_owned(), length - 7..length),
            (format!("bytes=5-{}", length * 2), 5..length),
        ] {
            let name = format!("{value} of {coding}");
            let request = get("/coded/app.js")
                .with("Accept-Encoding", coding)
                .with("Range", &value);
            let expect = Expectation::part(fixture, &file, range)
                .coded(coding)
                .varies()
                .has(
                    "etag",
                    if coding == "identity" {
                        "${etag:/coded/app.js}".to_owned()
                    } else {
                        format!("${{etag:/coded/app.js|{coding}}}")
                    },
                );
            rows.push(Exchange::semantic("RFC 9110 14.2", name, request, expect));
        }
        let name = format!("no such range of {coding}");
        let request = get("/coded/app.js")
            .with("Accept-Encoding", coding)
            .with("Range", format!("bytes={length}-"));
        let expect = Expectation::unsatisfiable(length).varies();
        rows.push(Exchange::semantic(
            "RFC 9110 15.5.17",
            name,
            request,
            expect,
        ));
    }
}
