//! Directories: an index, or a redirect that never leaves this server.

use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::Fixture;
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    indexes(fixture, rows);
    redirects(rows);
    queries(rows);
    without_index(rows);
}

fn indexes(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (target, file) in [
        ("/", "index.html"),
        ("/index.html", "index.html"),
        ("/with-index/", "with-index/index.html"),
        ("/with-index/index.html", "with-index/index.html"),
        ("/with-index/?query", "with-index/index.html"),
        ("/evil.com/", "evil.com/index.html"),
        ("//evil.com/", "evil.com/index.html"),
        ("/dir%20with%20space/", "dir with space/index.html"),
        ("/dir%2541/", "dir%41/index.html"),
        ("/dir%3Fquery/", "dir?query/index.html"),
        ("/dir%23hash/", "dir#hash/index.html"),
        ("/dir%0Anewline/", "dir\nnewline/index.html"),
        ("/%C3%BCn%C3%AF/", "\u{fc}n\u{ef}/index.html"),
        ("/@at/", "@at/index.html"),
        ("/with:colon/", "with:colon/index.html"),
        ("/nested/a/b/", "nested/a/b/index.html"),
        ("/nested/a/b/c/deep.txt", "nested/a/b/c/deep.txt"),
        ("/no-index/file.txt", "no-index/file.txt"),
    ] {
        let name = format!("an index: {target}");
        let expect = Expectation::whole(fixture, file);
        rows.push(Exchange::semantic("directories", name, get(target), expect));
    }
}

fn redirects(rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 15.4.9";
    for (target, location) in [
        ("/with-index", "/with-index/"),
        ("/nested/a/b", "/nested/a/b/"),
        ("//with-index", "/with-index/"),
        ("///with-index", "/with-index/"),
        ("/./with-index", "/with-index/"),
        ("/%2e/with-index", "/with-index/"),
        ("/none/../with-index", "/with-index/"),
        ("/nested/../with-index", "/with-index/"),
        ("/nested//a///b", "/nested/a/b/"),
        ("/w%69th-index", "/with-index/"),
        ("/evil.com", "/evil.com/"),
        ("//evil.com", "/evil.com/"),
        ("///evil.com", "/evil.com/"),
        ("////evil.com", "/evil.com/"),
        ("/.//evil.com", "/evil.com/"),
        ("//./evil.com", "/evil.com/"),
        ("/%2e//evil.com", "/evil.com/"),
        ("//%2e/evil.com", "/evil.com/"),
        ("/nested/..//evil.com", "/evil.com/"),
        ("//nested/..//evil.com", "/evil.com/"),
        ("//evil%2ecom", "/evil.com/"),
        ("//%65vil.com", "/evil.com/"),
        ("/dir%20with%20space", "/dir with space/"),
        ("/dir%2541", "/dir%41/"),
        ("/dir%3Fquery", "/dir?query/"),
        ("/dir%3fquery", "/dir?query/"),
        ("/dir%23hash", "/dir#hash/"),
        ("/dir%0Anewline", "/dir\nnewline/"),
        ("/dir%0anewline", "/dir\nnewline/"),
        ("/dir%22quote", "/dir\"quote/"),
        ("/%C3%BCn%C3%AF", "/\u{fc}n\u{ef}/"),
        ("/%c3%bcn%c3%af", "/\u{fc}n\u{ef}/"),
        ("/@at", "/@at/"),
        ("/%40at", "/@at/"),
        ("/with:colon", "/with:colon/"),
        ("/with%3Acolon", "/with:colon/"),
        ("/http:", "/http:/"),
        ("/http%3A", "/http:/"),
    ] {
        let name = format!("redirected: {target}");
        let expect = Expectation::redirect(location, None)
            .lacks("etag")
            .lacks("last-modified")
            .present("content-length");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    // Browsers read a backslash as a slash: "/\evil.com" would be another host.
    for target in ["/%5Cevil.com", "/%5cevil.com", "//%5Cevil.com"] {
        let name = format!("no backslash in a Location: {target}");
        let expect = Expectation::redirect("/\\evil.com/", None)
            .or(404)
            .or(400)
            .kept_or_closed();
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in ["/\\evil.com", "/\\/evil.com", "\\\\evil.com"] {
        let name = format!("a raw backslash leads nowhere: {target}");
        let expect = Expectation::status(400).or(404).or(308).kept_or_closed();
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    let name = "a directory whose name is not UTF-8 is redirected to itself";
    let expect = Expectation::redirect(b"/names/latin1-\xe9-dir/", None);
    let row = Exchange::semantic(section, name, get("/names/latin1-%e9-dir"), expect);
    rows.push(row.needs(Need::RawNames));
}

fn queries(rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 10.2.2";
    for query in [
        "a=b",
        "a=b&c=d",
        "",
        "?",
        "/",
        "a=%20b",
        "a=%2F%2fb",
        "a=%0d%0aSet-Cookie:%20x=y",
        "%zz",
        "//evil.com",
        "http://evil.com/",
        "..",
        "a=\u{27}b\u{27}",
        "a=b;c",
        "next=/../x",
    ] {
        let name = format!("the query is kept: {query}");
        let expect = Expectation::redirect("/with-index/", Some(query)).lacks("set-cookie");
        let request = get(format!("/with-index?{query}"));
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for (target, location) in [
        ("//evil.com?a=b", "/evil.com/"),
        ("/./with-index?a=b", "/with-index/"),
    ] {
        let name = format!("the query is kept where the path is not: {target}");
        let expect = Expectation::redirect(location, Some("a=b"));
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    // Preconditions and ranges belong to representations; a redirect is none.
    for (field, value) in [
        ("If-None-Match", "*"),
        ("If-Match", "\"x\""),
        ("Range", "bytes=0-0"),
        ("Accept-Encoding", "identity;q=0"),
        ("If-Modified-Since", "Tue, 05 May 2099 00:00:00 GMT"),
    ] {
        let name = format!("a redirect whatever {field} says");
        let request = get("/with-index").with(field, value);
        let expect = Expectation::redirect("/with-index/", None);
        rows.push(Exchange::semantic("RFC 9110 13.2.1", name, request, expect));
    }
}

fn without_index(rows: &mut Vec<Exchange>) {
    for target in [
        "/no-index/",
        "/nested/",
        "/nested/a/",
        "/empty-dir/",
        "/index-is-dir/",
        "/special/",
        "/names/",
        "/with-home/",
    ] {
        let name = format!("no index, no listing: {target}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic("directories", name, get(target), expect));
    }
    for target in ["/no-index", "/empty-dir", "/index-is-dir"] {
        let name = format!("no index, without the slash: {target}");
        let expect = Expectation::status(404).or(308);
        rows.push(Exchange::semantic("directories", name, get(target), expect));
    }
    let request = get("/no-index/").with("If-None-Match", "*");
    let expect = Expectation::status(404);
    let name = "preconditions don't make a 404 anything else";
    rows.push(Exchange::semantic("RFC 9110 13.2.1", name, request, expect));
    let request = get("/none").with("If-Match", "*");
    let name = "If-Match: * of nothing";
    let expect = Expectation::status(404).or(412);
    rows.push(Exchange::semantic("RFC 9110 13.2.1", name, request, expect));
    let request = get("/none").with("Range", "bytes=0-0");
    let name = "a range of nothing";
    let expect = Expectation::status(404);
    rows.push(Exchange::semantic("RFC 9110 14.2", name, request, expect));
}
