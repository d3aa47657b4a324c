//! A cached answer costs no allocation.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{Site, request};
use salver_assets::{Method, Protocol, Request, Step};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it is; counting touches only a
// thread-local cell without a destructor, which neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated() -> u64 {
    ALLOCATED.with(Cell::get)
}

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
    let content = b"hello, hello, hello, hello, hello, hello, hello".repeat(100);
    let (br, gz) = (common::coded(&content, "br"), common::coded(&content, "gz"));
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
        let before = allocated();
        for _ in 0..1000 {
            hit(&site, &request, now, status);
        }
        assert_eq!(allocated() - before, 0, "{method:?} {path} {fields:?}");
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
    let before = allocated();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocated() - before, 1);
}
