//! Media types (RFC 9110 section 8.3) and plain whole files.

use crate::exchange::{Exchange, get};
use crate::expect::{Expectation, FieldRule};
use crate::fixture::{Fixture, HUGE_LENGTH, TYPES};
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (file, types, charset) in TYPES {
        let name = format!("the media type of {file}");
        let expect = Expectation::whole(fixture, &format!("types/{file}"))
            .rule(
                "content-type",
                FieldRule::MediaType(types.to_vec(), charset),
            )
            .lacks("content-encoding");
        let request = get(format!("/types/{file}"));
        rows.push(Exchange::semantic("RFC 9110 8.3", name, request, expect));
    }
    // The type is that of the file, not of what the client would like (there is one only).
    for accept in [
        "application/json",
        "image/*",
        "text/html;q=0",
        "*/*;q=0",
        "nonsense",
        "",
    ] {
        let name = format!("Accept: '{accept}' changes no type");
        let expect = Expectation::whole(fixture, "types/notes.txt").rule(
            "content-type",
            FieldRule::MediaType(vec!["text/plain"], true),
        );
        let request = get("/types/notes.txt").with("Accept", accept);
        rows.push(Exchange::semantic("RFC 9110 12.5.1", name, request, expect));
    }
    for (file, kind) in [("ten.txt", "text/plain"), ("index.html", "text/html")] {
        let name = format!("all fields of {file}");
        let expect = Expectation::whole(fixture, file)
            .rule("content-type", FieldRule::MediaType(vec![kind], true))
            .has("last-modified", "Mon, 06 May 2024 07:08:09 GMT")
            .has("cache-control", "no-cache")
            .lacks("set-cookie")
            .lacks("content-encoding")
            .lacks("transfer-encoding");
        rows.push(Exchange::semantic(
            "RFC 9110 8",
            name,
            get(format!("/{file}")),
            expect,
        ));
    }
    for file in ["empty.txt", "one.txt", "plain.txt", "medium.bin"] {
        let name = format!("whole: {file}");
        let expect = Expectation::whole(fixture, file);
        rows.push(Exchange::semantic(
            "RFC 9110 9.3.1",
            name,
            get(format!("/{file}")),
            expect,
        ));
    }
    let expect = Expectation::whole(fixture, "big/three-mib.bin");
    let row = Exchange::semantic(
        "RFC 9110 9.3.1",
        "whole: 3 MiB",
        get("/big/three-mib.bin"),
        expect,
    );
    rows.push(row.heavy());
    let expect = Expectation::status(200)
        .has("content-length", HUGE_LENGTH.to_string())
        .has("accept-ranges", "bytes")
        .present("etag")
        .present("last-modified");
    let request = crate::exchange::head("/big/huge.bin");
    let row = Exchange::semantic("RFC 9110 8.6", "the length of 20 GiB", request, expect);
    rows.push(row.needs(Need::Sparse));
}
