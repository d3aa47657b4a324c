//! Available-Dictionary (RFC 9842): whoever names a dictionary that the server does not have, or names it in another form
//! than that of a Byte Sequence, gets what it would have without.

use super::negotiation::coded;
use crate::exchange::{Exchange, get};
use crate::fixture::Fixture;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let file = "coded/app.3f9a1c2b.js";
    // Of nothing at all: SHA-256 of the empty content.
    let unknown = ":47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
    let twice = format!("{unknown}, {unknown}");
    let long = format!(":{}:", "A".repeat(4000));
    for available in [
        unknown,
        &twice,
        &long,
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "\"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"",
        ":47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:",
        ":AAAA:",
        "::",
        ":",
        ":*:",
        "?1",
        "",
    ] {
        for (accept, coding) in [
            ("br, dcb, dcz", "br"),
            ("dcb, dcz", "identity"),
            ("dcb;q=0, dcz;q=0, br", "br"),
            ("dcb;q=1, br;q=0.1", "br"),
        ] {
            let short = available.get(..48).unwrap_or(available);
            let name = format!("Available-Dictionary: '{short}' for '{accept}'");
            let request = get(format!("/{file}"))
                .with("Accept-Encoding", accept)
                .with("Available-Dictionary", available)
                .with("Sec-Fetch-Site", "same-origin");
            let expect = coded(fixture, file, coding);
            rows.push(Exchange::semantic("RFC 9842 2.2", name, request, expect));
        }
    }
    // A dictionary that is not named, and one that no coding is for.
    for (accept, coding) in [("dcb, dcz, br", "br"), ("dcb", "identity")] {
        let name = format!("no Available-Dictionary for '{accept}'");
        let request = get(format!("/{file}")).with("Accept-Encoding", accept);
        let expect = coded(fixture, file, coding);
        rows.push(Exchange::semantic("RFC 9842 6.1", name, request, expect));
    }
}
