//! Files that are in memory already: shared, never copied, whatever their length, and never waited
//! for.

use std::ops::Range;
use std::sync::Arc;

use crate::common::{Site, config_of, request};
use salver_assets::source::KnownDigests;
use salver_assets::{
    Config, Content, EmbeddedFile, EmbeddedSource, Engine, EngineReply, MemorySource, Method,
    Mount, Piece, Request, Source, digest,
};

/// Beyond `cache_max_file`, and beyond what an event loop would hash or copy, in bytes.
const LONG: usize = 3_000_000;

static LONG_BYTES: [u8; LONG] = [b'l'; LONG];
static SHORT_BYTES: [u8; 1000] = [b's'; 1000];

fn file(path: &'static str, content: &'static [u8]) -> EmbeddedFile {
    EmbeddedFile {
        path,
        content,
        modified_unix_seconds: 0,
        known: KnownDigests {
            digest: digest::of_bytes(content),
            decoded: None,
        },
    }
}

/// A tree that lives as long as the program.
fn embedded() -> EmbeddedSource {
    let files = vec![file("long", &LONG_BYTES), file("short", &SHORT_BYTES)];
    EmbeddedSource::new(files.leak())
}

/// Asks twice as a driver does that must not wait: once cold, once warm.
fn ask_twice(engine: &Engine, site: &Site, request: &Request<'_>) -> [Content; 2] {
    [(), ()].map(|()| {
        let asked = engine.ask(request, site.now(), |_| {
            panic!("there is nothing to wait for")
        });
        let EngineReply::Ready(plan) = asked else {
            panic!("there is nothing to wait for")
        };
        assert!((200..300).contains(&plan.status), "{}", plan.status);
        plan.content
    })
}

/// Asserts that all of the content lies within `memory`.
fn lies_within(content: &Content, memory: &Range<usize>) {
    let within = |bytes: &bytes::Bytes| {
        let start = bytes.as_ptr().addr();
        memory.start <= start && start + bytes.len() <= memory.end
    };
    match content {
        Content::Memory(bytes) => assert!(within(bytes)),
        Content::Parts(pieces) => {
            let mut inside = 0;
            for piece in pieces {
                match piece {
                    Piece::Memory(bytes) => inside += usize::from(within(bytes)),
                    Piece::File(_) => panic!("a file"),
                }
            }
            // Between them are the delimiters.
            assert_eq!(inside, pieces.len() / 2);
        }
        other => panic!("{other:?}"),
    }
}

fn addresses(bytes: &[u8]) -> Range<usize> {
    let start = bytes.as_ptr().addr();
    start..start + bytes.len()
}

/// Every kind of answer from `source`, whose two files lie at these addresses.
fn check(source: Arc<dyn Source>, long: &Range<usize>, short: &Range<usize>) {
    for cached in [true, false] {
        let mount = Mount::tree("/", Arc::clone(&source));
        let config = Config {
            cache: cached,
            ..config_of(mount)
        };
        let site = Site::new(config);
        for (path, memory) in [("/long", long), ("/short", short)] {
            for range in [None, Some("bytes=10-19"), Some("bytes=10-19,900-")] {
                let fields: Vec<_> = range.map(|range| ("Range", range)).into_iter().collect();
                let request = request(Method::Get, path, &fields);
                for content in ask_twice(&site.engine, &site, &request) {
                    lies_within(&content, memory);
                }
            }
        }
        let read = site.engine.statistics().bytes_loaded;
        assert_eq!(read, 0, "cached: {cached}");
    }
}

#[test]
fn what_is_part_of_the_program_leaves_as_it_lies_there() {
    let (long, short) = (addresses(&LONG_BYTES), addresses(&SHORT_BYTES));
    check(Arc::new(embedded()), &long, &short);
}

#[test]
fn what_a_source_has_in_memory_is_shared() {
    let (long, short) = (vec![b'l'; LONG], vec![b's'; 1000]);
    let (at_long, at_short) = (addresses(&long), addresses(&short));
    let source = MemorySource::new();
    source.insert("long", long, 0);
    source.insert("short", short, 0);
    check(Arc::new(source), &at_long, &at_short);
}

#[test]
fn the_program_costs_the_cache_nothing_and_memory_counts() {
    let bytes = |source: Arc<dyn Source>, path: &str| {
        let site = Site::new(config_of(Mount::tree("/", source)));
        assert_eq!(site.get(path, &[]).status, 200);
        let statistics = site.engine.statistics();
        assert_eq!(statistics.entries, 1);
        statistics.bytes
    };
    let memory = || {
        let source = MemorySource::new();
        source.insert("long", LONG_BYTES.to_vec(), 0);
        source.insert("short", SHORT_BYTES.to_vec(), 0);
        Arc::new(source)
    };
    let heads = bytes(Arc::new(embedded()), "/long");
    assert!(heads < 10_000, "{heads}");
    assert!(bytes(Arc::new(embedded()), "/short") < heads + 100);
    // The one is held, and its bytes count besides; the other is beyond `cache_max_file`.
    let short = bytes(memory(), "/short");
    assert!((heads + 900..heads + 1100).contains(&short), "{short}");
    assert!(bytes(memory(), "/long") < heads + 100);
}

#[test]
fn two_trees_of_one_engine_are_told_apart() {
    let make = |content: &'static [u8]| {
        let source = MemorySource::new();
        source.insert("a.txt", content, 0);
        Arc::new(source)
    };
    let site = Site::new(Config {
        mounts: vec![
            Mount::tree("/one", make(b"alpha")),
            Mount::tree("/two", make(b"delta")),
        ],
        ..Config::default()
    });
    let (one, two) = (site.get("/one/a.txt", &[]), site.get("/two/a.txt", &[]));
    assert_eq!((&*one.body, &*two.body), (&b"alpha"[..], &b"delta"[..]));
    assert_ne!(one.field("ETag"), two.field("ETag"));
}

#[test]
fn a_sibling_that_is_known_to_fit_is_not_decoded() {
    let (original, coded) = (
        &b"the original, which is longer"[..],
        &b"not even Brotli"[..],
    );
    let check = |decoded: &[u8], expected: &[u8]| {
        let mut sibling = file("a.js.br", coded);
        sibling.known.decoded = Some(digest::of_bytes(decoded));
        let files = vec![file("a.js", original), sibling];
        let source = Arc::new(EmbeddedSource::new(files.leak()));
        let site = Site::new(config_of(Mount::tree("/", source)));
        let request = request(Method::Get, "/a.js", &[("Accept-Encoding", "br")]);
        for content in ask_twice(&site.engine, &site, &request) {
            let Content::Memory(bytes) = content else {
                panic!("{content:?}")
            };
            assert_eq!(bytes, expected);
        }
    };
    check(original, coded);
    check(b"another", original);
}
