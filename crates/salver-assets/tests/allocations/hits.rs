//! A cached answer costs no allocation.

use crate::common::{Site, coded, request};
use salver_assets::{Method, Protocol, Request, Step};
use salver_test::allocations::by_this_thread;
use salver_test::alone;

/// One cached answer, with the head rendered as a driver does.
fn hit(site: &Site, request: &Request<'_>, now: salver_assets::Now, status: u16) {
    let Step::Respond(plan) = site.engine.begin(request, now) else {
        panic!("it should be cached")
    };
    assert_eq!(plan.status, status);
    let prepared = plan.rendered_heads().expect("kept with the representation");
    let head: Option<&Vec<u8>> = prepared.head(Protocol::Http1, || vec![1]);
    assert!(head.is_some());
}

#[test]
fn a_cached_hit_allocates_nothing() {
    let _alone = alone();
    let content = b"hello, hello, hello, hello, hello, hello, hello".repeat(100);
    let (br, gz) = (coded(&content, "br"), coded(&content, "gz"));
    let site = Site::of(&[
        ("a.js", &content),
        ("a.js.br", &br),
        ("a.js.gz", &gz),
        ("plain.txt", b"plain"),
        ("sub/index.html", b"<p>"),
    ]);
    let tag = site.head("/plain.txt", &[]).field("ETag").to_owned();
    let coded_tag = site
        .head("/a.js", &[("Accept-Encoding", "br")])
        .field("ETag")
        .to_owned();
    let check = |method: Method, path: &str, fields: &[(&str, &str)], status: u16| {
        let request = request(method, path, fields);
        site.plan(&request);
        let now = site.now();
        hit(&site, &request, now, status);
        let before = by_this_thread();
        for _ in 0..1000 {
            hit(&site, &request, now, status);
        }
        assert_eq!(by_this_thread() - before, 0, "{method:?} {path} {fields:?}");
    };
    const BROWSER: (&str, &str) = (
        "Accept-Encoding",
        "gzip, deflate, br;q=1.0, zstd;q=0.5, x;q=0",
    );
    for method in [Method::Get, Method::Head] {
        check(method, "/plain.txt", &[], 200);
        check(method, "/plain.txt", &[BROWSER], 200);
        check(method, "/plain.txt", &[("If-None-Match", &tag)], 304);
        check(method, "/a.js", &[], 200);
        check(method, "/a.js", &[BROWSER], 200);
        check(method, "/a.js", &[("Accept-Encoding", "gzip")], 200);
        check(
            method,
            "/a.js",
            &[("Accept-Encoding", "br"), ("If-None-Match", &coded_tag)],
            304,
        );
        check(
            method,
            "/plain.txt",
            &[("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")],
            304,
        );
        check(method, "/sub/", &[], 200);
    }
}

#[test]
fn the_counter_counts() {
    let _alone = alone();
    let before = by_this_thread();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(by_this_thread() - before, 1);
}
