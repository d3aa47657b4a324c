//! What enters memory is decided by use: a scan of many times the budget does not push out what is hot.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::common::{Site, Tree, config_of, directory, request};
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{LogNormal, Zipf};
use salver_assets::{
    Config, Content, Engine, HttpDate, MemorySource, Method, Mount, Now, Patience, Request, Step,
};

/// Files that are asked for by Zipf's law, and those that the scan asks for, each once.
const FILES: usize = 2000;
const SCANNED: usize = 10_000;

/// The first hundredth of the files.
const HOT: usize = FILES / 100;

/// The longest file, in bytes.
const LONGEST: usize = 128 * 1024;

/// Requests that warm up, are counted before the scan, and after it.
const WARM: usize = 20_000;
const BEFORE: usize = 20_000;
const AFTER: usize = 1000;

/// Percentage points, as a share.
const TWO_POINTS: f64 = 0.02;

/// An engine over files in memory, which performs its loads where it stands.
struct Driven {
    engine: Engine,
    now: Now,
}

impl Driven {
    fn new(lengths: &[usize], cache_size: usize) -> Self {
        let source = MemorySource::new();
        let content = Bytes::from(vec![b'x'; LONGEST]);
        for (file, length) in lengths.iter().enumerate() {
            source.insert(&format!("f{file}"), content.slice(..*length), 0);
        }
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(source))],
            precompressed: Vec::new(),
            cache_size,
            cache_max_file: LONGEST as u64,
            ..Config::default()
        };
        assert!(config.keep_up_to() >= LONGEST as u64, "all can be kept");
        let now = Now {
            instant: Instant::now(),
            date: HttpDate::from_unix_seconds(4_000_000_000),
        };
        Driven {
            engine: Engine::new(config).unwrap(),
            now,
        }
    }

    /// Whether it was answered from memory.
    fn ask(&self, file: usize) -> bool {
        let path = format!("/f{file}");
        let request = Request::get(path.as_bytes());
        let (load, mut pending) = match self.engine.begin(&request, self.now) {
            Step::Respond(_) => return true,
            Step::Load(load, pending) => (load, pending),
            Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => panic!("nobody else asks"),
        };
        let outcome = load.perform(Patience::MayWait, self.now.instant);
        self.engine.finish(load, outcome.expect("it may wait"));
        let arrived = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(arrived) = arrived else {
            panic!("the load has been finished");
        };
        let step = self.engine.resume(&request, arrived, self.now);
        assert!(matches!(step, Step::Respond(plan) if plan.status == 200));
        false
    }

    /// The shares of hits among so many requests, and among those for hot files.
    fn hits(&self, number: usize, mut next: impl FnMut() -> usize) -> [f64; 2] {
        let mut counted = [(0_u32, 0_u32); 2];
        for _ in 0..number {
            let file = next();
            let hit = u32::from(self.ask(file));
            for (asked, hits) in &mut counted[..1 + usize::from(file < HOT)] {
                *asked += 1;
                *hits += hit;
            }
        }
        counted.map(|(asked, hits)| f64::from(hits) / f64::from(asked))
    }
}

#[test]
fn a_scan_leaves_the_hot_set_where_it_was() {
    for exponent in [0.7, 0.9, 1.1] {
        for mixed in [true, false] {
            let mut random = StdRng::seed_from_u64(7);
            let by_length = LogNormal::new((8.0 * 1024.0_f64).ln(), 1.5).unwrap();
            let lengths: Vec<usize> = (0..FILES + SCANNED)
                .map(|_| (random.sample(by_length) as usize).clamp(64, LONGEST))
                .collect();
            let budget = lengths[..FILES].iter().sum::<usize>() / 10;
            let scanned: usize = lengths[FILES..].iter().sum();
            // Whatever keeps what came last has nothing else afterwards.
            assert!(scanned > 20 * budget);
            let zipf = Zipf::new(FILES as f64, exponent).unwrap();
            let mut next = || random.sample(zipf) as usize - 1;
            let driven = Driven::new(&lengths, budget);
            driven.hits(WARM, &mut next);
            let [all, hot] = driven.hits(BEFORE, &mut next);
            for file in FILES..FILES + SCANNED {
                driven.ask(file);
                if mixed {
                    driven.ask(next());
                }
            }
            let [all_after, hot_after] = driven.hits(AFTER, &mut next);
            let what = format!(
                "exponent {exponent}, mixed {mixed}: {all:.3} to {all_after:.3}, hot {hot:.3} to {hot_after:.3}"
            );
            assert!(hot > 0.9 && all > 0.2, "{what}");
            assert!((hot - hot_after).abs() <= TWO_POINTS, "{what}");
            assert!(all - all_after <= TWO_POINTS, "{what}");
        }
    }
}

#[test]
fn who_holds_back_long_answers_leaves_memory_to_those_who_ask_for_short_ones() {
    let tree = Tree::new();
    let write = |name: &str, length| {
        (0..200).for_each(|n| tree.write(&format!("{name}{n}"), vec![b'x'; length]))
    };
    write("long", 64 * 1024);
    write("short", 1024);
    let site = Site::new(Config {
        cache_size: 1024 * 1024,
        cache_max_file: 64 * 1024,
        ..config_of(Mount::tree("/", directory(&tree.path(""))))
    });
    // Each answer holds its content, whatever the cache keeps.
    let mut held = Vec::new();
    let mut in_memory = |name: &str| {
        let is_in_memory = |n| {
            let plan = site.plan(&request(Method::Get, &format!("/{name}{n}"), &[]));
            let is_memory = matches!(plan.content, Content::Memory(_));
            held.push(plan);
            is_memory
        };
        (0..200).map(is_in_memory).filter(|is| *is).count()
    };
    // What the cache may keep and a sixteenth, and another sixteenth for those of up to 16 KiB.
    assert!((17..=18).contains(&in_memory("long")));
    assert!((1..=64).contains(&in_memory("short")));
}

/// Paths at which nothing is have no end: those of an API beside the files, of an application's links, of scanners.
#[test]
fn paths_without_a_file_take_a_sixteenth_of_the_cache_and_no_file_s_place() {
    for fallback in [None, Some("index.html")] {
        let files = Arc::new(MemorySource::new());
        files.insert("index.html", "home", 0);
        (0..100).for_each(|file| files.insert(&format!("f{file}"), vec![b'x'; 1000], 0));
        let mount = Mount::tree("/", files);
        let mount = match fallback {
            Some(page) => mount.with_fallback(page),
            None => mount,
        };
        let site = Site::new(Config {
            cache_size: 1 << 20,
            ..config_of(mount)
        });
        let fetch_files = || (0..100).for_each(|file| drop(site.get(&format!("/f{file}"), &[])));
        fetch_files();
        let before = site.engine.statistics();
        let status = if fallback.is_some() { 200 } else { 404 };
        for item in 0..2000 {
            assert_eq!(site.get(&format!("/api/items/{item}"), &[]).status, status);
        }
        let after = site.engine.statistics();
        assert!(after.loads >= before.loads + 2000);
        let grown = after.bytes.saturating_sub(before.bytes);
        assert!((1..=(1 << 20) / 16 + 4096).contains(&grown), "{grown}");
        fetch_files();
        assert_eq!(
            site.engine.statistics().loads,
            after.loads,
            "all files are still cached"
        );
    }
}
