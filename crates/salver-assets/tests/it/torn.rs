//! While writers swap two versions of a file, every answer is wholly one of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Tree, config_of, directory, request, try_seen};
use salver_assets::{Config, Engine, HttpDate, Method, Mount, Now, Patience, Request, Step};

/// For each of the two engines; loads that are under way then may take some seconds more.
const TIME: Duration = Duration::from_secs(2);

/// Answers of each of them, for which a busy machine has a minute.
const ANSWERS: u64 = 5_000;
const MOST_TIME: Duration = Duration::from_secs(60);

/// Times between two versions, in microseconds.
const PACES: [u64; 4] = [500, 5_000, 30_000, 120_000];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Rename,
    TruncateAndWrite,
    Overwrite,
}

/// One file, its two versions, and what was answered.
struct Case {
    name: String,
    way: Way,
    pace: Duration,
    versions: [Vec<u8>; 2],
    answers: [AtomicU64; 2],
    unavailable: AtomicU64,
    cut_off: AtomicU64,
    mixed: AtomicU64,
    /// Versions that took their writer so long, because it had lost its core, that they could not
    /// be told from two.
    interrupted: AtomicU64,
}

/// Less than the rest after which the engine takes a file for whole.
const LONG_WRITE: Duration = Duration::from_millis(40);

fn version(length: usize, seed: u8) -> Vec<u8> {
    let byte = |at: usize| u8::try_from((at / 7 + at % 251) % 256).unwrap() ^ seed;
    (0..length).map(byte).collect()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for way in [Way::Rename, Way::TruncateAndWrite, Way::Overwrite] {
        for pace in PACES {
            // Kept in memory, and sent from an open handle.
            for length in [20_000, 150_000] {
                let other = match way {
                    Way::Overwrite => length,
                    Way::Rename | Way::TruncateAndWrite => length + length / 3,
                };
                cases.push(Case {
                    name: format!("{way:?}-{pace}-{length}"),
                    way,
                    pace: Duration::from_micros(pace),
                    versions: [version(length, 0), version(other, 0xa5)],
                    answers: Default::default(),
                    unavailable: AtomicU64::new(0),
                    cut_off: AtomicU64::new(0),
                    mixed: AtomicU64::new(0),
                    interrupted: AtomicU64::new(0),
                });
            }
        }
    }
    cases
}

impl Case {
    fn write(&self, root: &Path, which: usize) {
        let path = root.join(&self.name);
        let content = &self.versions[which];
        let began = Instant::now();
        match self.way {
            Way::Rename => {
                let other = PathBuf::from(format!("{}.new", path.display()));
                std::fs::write(&other, content).unwrap();
                std::fs::rename(other, path).unwrap();
            }
            Way::TruncateAndWrite => std::fs::write(path, content).unwrap(),
            Way::Overwrite => {
                let file = File::options().write(true).open(path).unwrap();
                salver_test::overwrite(&file, content);
            }
        }
        if began.elapsed() > LONG_WRITE {
            self.interrupted.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self, engine: &Engine, tags: &mut [Option<String>; 2]) {
        let path = format!("/{}", self.name);
        let request = request(Method::Get, &path, &[]);
        let plan = fetch(engine, &request);
        let Some(answer) = try_seen(&plan) else {
            // The connection would be closed: the client knows that it has not got it all.
            self.cut_off.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if answer.status == 503 {
            self.unavailable.fetch_add(1, Ordering::Relaxed);
            return;
        }
        assert_eq!(answer.status, 200, "{}", self.name);
        let which = self
            .versions
            .iter()
            .position(|version| *version == answer.body);
        let Some(which) = which else {
            self.mixed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let tag = answer.field("ETag").to_owned();
        let known = tags[which].get_or_insert_with(|| tag.clone());
        assert_eq!(*known, tag, "{}: one version, one tag", self.name);
        assert_ne!(tags[0], tags[1], "{}", self.name);
        self.answers[which].fetch_add(1, Ordering::Relaxed);
    }
}

/// By the real clock.
fn fetch(engine: &Engine, request: &Request<'_>) -> salver_assets::ResponsePlan {
    let now = || Now {
        instant: Instant::now(),
        date: HttpDate::from_unix_seconds(4_000_000_000),
    };
    let mut step = engine.begin(request, now());
    loop {
        let pending = match step {
            Step::Respond(plan) => {
                crate::common::check_plan(request, &plan);
                return plan;
            }
            Step::Load(load, pending) => {
                // As a driver does: at once if it need not wait, else where it may.
                let outcome = load
                    .perform(Patience::MustNotWait, Instant::now())
                    .or_else(|_| load.perform(Patience::MayWait, Instant::now()));
                engine.finish(load, outcome.unwrap_or_else(|_| panic!("it may wait")));
                pending
            }
            Step::Wait(pending) => pending,
            Step::NeedDetails | Step::NeedAccess(_) => panic!("no rules"),
        };
        step = engine.resume(request, crate::common::block_on(pending), now());
    }
}

fn run(cache: bool) -> u64 {
    let tree = Tree::new();
    let root = tree.path("");
    let cases = cases();
    for case in &cases {
        tree.write(&case.name, &case.versions[0]);
    }
    let engine = Engine::new(Config {
        cache,
        revalidate: Duration::from_millis(10),
        cache_max_file: 100_000,
        ..config_of(Mount::tree("/", directory(&root)))
    })
    .unwrap();
    for case in &cases {
        case.read(&engine, &mut [None, None]);
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for case in &cases {
            let (stop, root, engine) = (&stop, &root, &engine);
            scope.spawn(move || {
                let mut which = 1;
                while !stop.load(Ordering::Relaxed) {
                    case.write(root, which);
                    which = 1 - which;
                    std::thread::sleep(case.pace);
                }
            });
            for _ in 0..2 {
                scope.spawn(move || {
                    let mut tags = [None, None];
                    while !stop.load(Ordering::Relaxed) {
                        case.read(engine, &mut tags);
                        // Readers that never rest would keep the writers from writing.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
            }
        }
        let began = Instant::now();
        let is_enough = || {
            let both =
                |case: &Case| [0, 1].map(|which| case.answers[which].load(Ordering::Relaxed));
            let whole: u64 = cases.iter().flat_map(both).sum();
            let all_seen = cases
                .iter()
                .all(|case| case.way != Way::Rename || both(case)[1] > 0);
            whole > ANSWERS && all_seen
        };
        std::thread::sleep(TIME);
        while !is_enough() && began.elapsed() < MOST_TIME {
            std::thread::sleep(TIME / 10);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut total = [0; 3];
    for case in &cases {
        let [one, two] = [0, 1].map(|which| case.answers[which].load(Ordering::Relaxed));
        let unavailable = case.unavailable.load(Ordering::Relaxed);
        let cut_off = case.cut_off.load(Ordering::Relaxed);
        let mixed = case.mixed.load(Ordering::Relaxed);
        let interrupted = case.interrupted.load(Ordering::Relaxed);
        println!(
            "cache: {cache}, {}: {one} + {two} whole, {unavailable} times 503, {cut_off} cut off, \
             {mixed} mixed, {interrupted} writes interrupted",
            case.name
        );
        assert!(one > 0, "{}: it was read before", case.name);
        if case.way == Way::Rename || interrupted == 0 {
            assert_eq!(mixed, 0, "{}: no answer is of two versions", case.name);
        }
        if case.way == Way::Rename {
            // A file that is replaced is always whole.
            assert_eq!((unavailable, cut_off), (0, 0), "{}", case.name);
            assert!(two > 0, "{}: both versions are seen", case.name);
        }
        total[0] += one + two;
        total[1] += unavailable;
        total[2] += cut_off + mixed;
    }
    let [whole, unavailable, cut_off] = total;
    println!("cache: {cache}: {whole} whole, {unavailable} times 503, {cut_off} cut off");
    assert!(
        unavailable + cut_off < whole,
        "cache: {cache}: most are answered"
    );
    whole
}

#[test]
fn every_answer_is_wholly_one_version() {
    let whole = run(true) + run(false);
    assert!(whole > 2 * ANSWERS, "{whole} answers");
}
