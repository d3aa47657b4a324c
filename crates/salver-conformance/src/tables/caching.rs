//! Cache-Control (RFC 9111 section 5.2) and the fingerprint rule.

use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::{FINGERPRINTED, Fixture};

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 9111 5.2.2";
    for (file, fingerprinted) in FINGERPRINTED {
        let value = if fingerprinted { IMMUTABLE } else { "no-cache" };
        let name = format!("Cache-Control of {file}");
        let expect = Expectation::whole(fixture, &format!("assets/{file}"))
            .has("cache-control", value)
            .lacks("expires")
            .lacks("pragma");
        let request = get(format!("/assets/{file}"));
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for (target, file) in [
        ("/", "index.html"),
        ("/index.html", "index.html"),
        ("/with-index/", "with-index/index.html"),
        ("/types/data.json", "types/data.json"),
        ("/types/page.htm", "types/page.htm"),
        ("/empty.txt", "empty.txt"),
    ] {
        let name = format!("Cache-Control of {target}");
        let expect = Expectation::whole(fixture, file).has("cache-control", "no-cache");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for coding in ["br", "zstd", "gzip", "identity"] {
        let name = format!("Cache-Control of a fingerprinted file in {coding}");
        let request = get("/coded/app.3f9a1c2b.js").with("Accept-Encoding", coding);
        let expect = Expectation::status(200)
            .coded(coding)
            .varies()
            .has("cache-control", IMMUTABLE);
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    let request = get("/assets/app.3f9a1c2b.js").with("Range", "bytes=0-4");
    let expect =
        Expectation::part(fixture, "assets/app.3f9a1c2b.js", 0..5).has("cache-control", IMMUTABLE);
    let name = "Cache-Control of a part";
    rows.push(Exchange::semantic("RFC 9110 15.3.7", name, request, expect));
    for target in ["/none.3f9a1c2b.js", "/assets/none-DiwrgTda.js"] {
        let name = format!("what is missing is not immutable: {target}");
        let expect = Expectation::status(404).has("cache-control", "no-cache");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    let request = get("/assets/app.3f9a1c2b.js").with("Range", "bytes=5000-");
    let expect = Expectation::status(416).has("cache-control", "no-cache");
    let name = "a 416 of a fingerprinted file is not immutable";
    rows.push(Exchange::semantic(section, name, request, expect));
    for (field, value) in [
        ("Cache-Control", "no-cache"),
        ("Cache-Control", "no-store"),
        ("Cache-Control", "max-age=0"),
        ("Pragma", "no-cache"),
    ] {
        let name = format!("{field}: {value} in a request changes nothing");
        let request = get("/ten.txt").with(field, value);
        let expect = Expectation::whole(fixture, "ten.txt").has("cache-control", "no-cache");
        rows.push(Exchange::semantic("RFC 9111 5.2.1", name, request, expect));
    }
}
