//! A cached hit allocates nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use common::client::{Client, request};
use common::{PATIENCE, Running, Site, pattern, settings, until};
use salver_assets::Config;

/// Counts what one thread allocates.
struct Counting;

/// The thread that is watched; 0 is none.
static WATCHED: AtomicI32 = AtomicI32::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    let watched = WATCHED.load(Ordering::Relaxed);
    // SAFETY: gettid has no precondition.
    if watched != 0 && unsafe { libc::gettid() } == watched {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed on to the system's allocator as it is; counting neither allocates
// nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as in `dealloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The id of the thread that serves.
fn worker() -> i32 {
    let mut found = None;
    until("the worker runs", || {
        found = std::fs::read_dir("/proc/self/task")
            .unwrap()
            .find_map(|task| {
                let task = task.unwrap();
                let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
                let id = task.file_name().to_str()?.parse().ok()?;
                (name.trim_end() == "salver-worker-0").then_some(id)
            });
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_cached_hit_allocates_nothing() {
    let site = Site::with(&[("small", b"small")]);
    // Longer than what is copied behind its head: by reference, with writev.
    site.write("large", &pattern(60_000, 1));
    let config = Config {
        // A look at the disk once an hour is no hit.
        revalidate: Duration::from_secs(3600),
        ..Config::default()
    };
    let server = Running::over(site.root(), settings(), config);
    let worker = worker();
    let etag = {
        let mut client = Client::new(server.address);
        client.get("/large");
        client.get("/small").field("etag").unwrap().to_owned()
    };
    let cases = [
        (
            "small",
            request("GET", "/small", "Accept-Encoding: gzip, br\r\n"),
            200,
        ),
        ("large", request("GET", "/large", "Range: lines=1\r\n"), 200),
        ("head", request("HEAD", "/large", ""), 200),
        (
            "304",
            request("GET", "/small", &format!("If-None-Match: {etag}\r\n")),
            304,
        ),
        ("8 pipelined", request("GET", "/small", "").repeat(8), 200),
    ];
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = vec![0; 100_000];
    for (name, request, status) in cases {
        stream.write_all(request.as_bytes()).unwrap();
        let length = {
            // The answer's length is that of the first one, however it comes.
            let mut client = Client::new(server.address);
            client.send(&request);
            client
                .0
                .get_ref()
                .shutdown(std::net::Shutdown::Write)
                .unwrap();
            let (answer, _) = client.rest();
            assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()));
            answer.len()
        };
        let mut exchange = |first: bool| {
            if !first {
                stream.write_all(request.as_bytes()).unwrap();
            }
            stream.read_exact(&mut buffer[..length]).unwrap();
        };
        exchange(true);
        for _ in 0..100 {
            exchange(false);
        }
        ALLOCATIONS.store(0, Ordering::SeqCst);
        WATCHED.store(worker, Ordering::SeqCst);
        for _ in 0..1000 {
            exchange(false);
        }
        WATCHED.store(0, Ordering::SeqCst);
        let counted = ALLOCATIONS.load(Ordering::SeqCst);
        println!("{name}: {counted} allocations in 1,000 exchanges");
        assert_eq!(counted, 0, "{name}");
    }
    // The count counts: a new connection needs memory.
    WATCHED.store(worker, Ordering::SeqCst);
    assert_eq!(Client::new(server.address).get("/small").status, 200);
    WATCHED.store(0, Ordering::SeqCst);
    assert!(ALLOCATIONS.load(Ordering::SeqCst) > 0);
}
