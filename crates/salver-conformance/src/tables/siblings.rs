//! Which siblings are used: those that decode to the original, and no others.

use super::negotiation::coded;
use crate::exchange::{Exchange, get};
use crate::expect::{Expectation, FieldRule};
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    passed_over(fixture, rows);
    sizes(fixture, rows);
    by_name(fixture, rows);
    large(fixture, rows);
}

fn passed_over(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (file, accept, coding) in [
        ("coded/wrong.js", "br", "identity"),
        ("coded/wrong.js", "br, gzip", "gzip"),
        ("coded/wrong.js", "br, gzip;q=0.1", "gzip"),
        ("coded/wrong.js", "gzip", "gzip"),
        ("coded/wrong.js", "*", "gzip"),
        ("coded/stale.js", "br", "identity"),
        ("coded/stale.js", "zstd", "identity"),
        ("coded/stale.js", "br, zstd, gzip", "identity"),
        ("coded/garbage.js", "br", "identity"),
        ("coded/garbage.js", "zstd", "identity"),
        ("coded/garbage.js", "gzip", "identity"),
        ("coded/cut.js", "br", "identity"),
        ("coded/cut.js", "zstd", "identity"),
        ("coded/cut.js", "gzip", "identity"),
        ("coded/prefix.js", "br", "identity"),
        ("coded/prefix.js", "zstd", "identity"),
        ("coded/prefix.js", "gzip", "identity"),
        ("coded/trailing.js", "gzip", "identity"),
        ("coded/trailing.js", "br", "identity"),
        ("coded/swapped.js", "br", "identity"),
        ("coded/swapped.js", "gzip", "identity"),
        ("coded/hollow.js", "br", "identity"),
        ("coded/hollow.js", "zstd", "identity"),
        ("coded/hollow.js", "gzip", "identity"),
        ("coded/dir-sibling.js", "br", "identity"),
        ("coded/link-out.js", "gzip", "identity"),
        // Older, but right: the bytes decide, not the times.
        ("coded/older.css", "gzip", "gzip"),
    ] {
        let name = format!("{file} for '{accept}' is sent in {coding}");
        let request = get(format!("/{file}")).with("Accept-Encoding", accept);
        let mut expect = coded(fixture, file, coding);
        // Whether a file all of whose siblings are useless is negotiable is a matter of taste.
        if coding == "identity" {
            expect.fields.retain(|(name, _)| *name != "vary");
        }
        rows.push(Exchange::semantic("siblings", name, request, expect));
    }
    for (file, accept) in [
        ("coded/wrong.js", "br, identity;q=0"),
        ("coded/garbage.js", "gzip, identity;q=0"),
        ("coded/stale.js", "br, *;q=0"),
    ] {
        let name = format!("{file} has nothing for '{accept}'");
        let request = get(format!("/{file}")).with("Accept-Encoding", accept);
        rows.push(Exchange::semantic(
            "siblings",
            name,
            request,
            Expectation::status(406),
        ));
    }
}

fn sizes(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (file, accept, coding) in [
        // One that is longer saves nothing.
        ("coded/larger.txt", "gzip", "identity"),
        ("coded/larger.txt", "gzip, identity", "identity"),
        ("coded/larger.txt", "gzip;q=0.5, identity;q=0.5", "identity"),
        ("coded/larger.txt", "*", "identity"),
        ("coded/larger.txt", "gzip, identity;q=0.5", "identity"),
        ("coded/larger.txt", "br", "identity"),
        ("coded/larger.txt", "", "identity"),
        ("coded/nothing.txt", "gzip", "identity"),
        ("coded/nothing.txt", "gzip, identity", "identity"),
        ("coded/nothing.txt", "br", "identity"),
        ("coded/app.js", "gzip, identity", "gzip"),
        ("coded/app.js", "identity;q=0.5, gzip;q=0.5", "gzip"),
    ] {
        let name = format!("the smaller of equals: {file} for '{accept}'");
        let request = get(format!("/{file}")).with("Accept-Encoding", accept);
        let mut expect = coded(fixture, file, coding);
        // Whether a file whose siblings are all longer is negotiable is a matter of taste.
        if coding == "identity" {
            expect.fields.retain(|(name, _)| *name != "vary");
        }
        rows.push(Exchange::semantic("siblings", name, request, expect));
    }
}

/// Asking for the sibling itself gives that file, whatever it is.
fn by_name(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (file, kind) in [
        ("coded/app.js.gz", "application/gzip"),
        ("coded/app.js.zst", "application/zstd"),
        ("coded/app.js.br", "application/octet-stream"),
        ("coded/orphan.js.gz", "application/gzip"),
        ("coded/wrong.js.br", "application/octet-stream"),
    ] {
        for accept in ["", "gzip", "br", "identity"] {
            let name = format!("by its own name: {file} for '{accept}'");
            let kinds = vec![kind, "application/x-gzip", "application/x-brotli"];
            let expect = Expectation::whole(fixture, file)
                .lacks("content-encoding")
                .rule("content-type", FieldRule::MediaType(kinds, false));
            let request = get(format!("/{file}")).with("Accept-Encoding", accept);
            rows.push(Exchange::semantic("siblings", name, request, expect));
        }
    }
    for accept in ["", "gzip", "br", "*"] {
        let name = format!("a sibling without an original, for '{accept}'");
        let request = get("/coded/orphan.js").with("Accept-Encoding", accept);
        rows.push(Exchange::semantic(
            "siblings",
            name,
            request,
            Expectation::status(404),
        ));
    }
    let request = get("/coded/directory").with("Accept-Encoding", "gzip");
    let expect = Expectation::status(404).or(308);
    let name = "a directory has no siblings";
    rows.push(Exchange::semantic("siblings", name, request, expect));
    let request = get("/coded/link-out.js.gz");
    let expect = Expectation::status(404);
    let name = "a sibling out of the root by its own name";
    rows.push(Exchange::semantic("siblings", name, request, expect));
}

/// At any length: half a sibling is none, however young it is.
fn large(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let file = "big/half.txt";
    let name = format!("{file} is sent in identity");
    let request = get(format!("/{file}")).with("Accept-Encoding", "gzip");
    let mut expect = coded(fixture, file, "identity");
    expect.fields.retain(|(name, _)| *name != "vary");
    rows.push(Exchange::semantic("siblings", name, request, expect).heavy());
}
