//! Tests of the loader.

use super::*;
use salver_assets::{
    Config, DirectorySource, Event, HttpDate, Mount, Now, Observer, Patience, Request, Step,
    Symlinks,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Ten digits in a file, by way of an engine.
pub(crate) fn file() -> FileContent {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("f"), "0123456789").unwrap();
    let source =
        DirectorySource::open(temp.path(), Symlinks::Beneath, Duration::from_secs(60)).unwrap();
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        cache_max_file: 0,
        sendfile_from: 0,
        settle_time: Duration::ZERO,
        ..Config::default()
    };
    let engine = Engine::new(config).unwrap();
    let now = Now {
        instant: Instant::now(),
        date: HttpDate::from_unix_seconds(2_000_000_000),
    };
    let request = Request::get(b"/f");
    let mut step = engine.begin(&request, now);
    loop {
        step = match step {
            Step::Load(load, pending) => {
                let outcome = load.perform(Patience::MayWait, now.instant).unwrap();
                engine.finish(load, outcome);
                engine.resume(&request, block_on(pending), now)
            }
            Step::Respond(plan) => match plan.content {
                Content::File(file) => return file,
                other => panic!("{other:?}"),
            },
            Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => panic!("nobody else loads"),
        }
    }
}

#[test]
fn reads_ranges_and_says_when_a_file_is_too_short() {
    let loader = Loader::new(2, 10, 1);
    let file = file();
    assert_eq!(block_on(loader.read(&file, 3..7)).unwrap(), b"3456"[..]);
    let error = block_on(loader.read(&file, 5..11)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn an_answer_under_way_finds_a_place_in_a_full_queue() {
    let loader = Loader::new(1, 0, 1);
    assert_eq!(block_on(loader.read(&file(), 0..1)).unwrap(), b"0"[..]);
}

#[test]
fn threads_end_with_the_loader() {
    let loader = Loader::new(3, 10, 1);
    block_on(loader.read(&file(), 0..1)).unwrap();
    let pool = Arc::downgrade(&loader.0);
    drop(loader);
    let end = Instant::now() + std::time::Duration::from_secs(60);
    while pool.strong_count() > 0 {
        assert!(Instant::now() < end, "a thread still holds the pool");
        std::thread::yield_now();
    }
}

#[test]
fn many_reads_share_few_threads() {
    let loader = Arc::new(Loader::new(3, 1000, 1));
    let file = file();
    block_on(async {
        let reads: Vec<_> = (0..500)
            .map(|_| {
                let (loader, file) = (Arc::clone(&loader), file.clone());
                async move { loader.read(&file, 0..10).await }
            })
            .collect();
        for read in reads {
            assert_eq!(read.await.unwrap().len(), 10);
        }
    });
    assert!(loader.0.lock_queue().threads <= 3);
}

/// What a load gave, in the order in which loads ended: the path, and whether there is something.
#[derive(Debug, Default)]
struct Ended(Mutex<Vec<(String, bool)>>);

impl Observer for Ended {
    fn observe(&self, event: Event) {
        let ended = match &event {
            Event::Loaded { path, .. } => (path.to_string(), true),
            Event::Failed { path, .. } => (path.to_string(), false),
            _ => return,
        };
        self.0.lock().unwrap().push(ended);
    }
}

#[test]
fn files_that_do_not_rest_keep_no_thread_from_others() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    let restless: Vec<_> = ["a", "b", "c"]
        .map(|name| std::fs::File::create(path(name)).unwrap())
        .into();
    std::fs::write(path("calm"), "calm").unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    let calm = std::fs::File::options().write(true).open(path("calm"));
    calm.unwrap().set_modified(long_ago).unwrap();
    let ended = Arc::new(Ended::default());
    let source =
        DirectorySource::open(temp.path(), Symlinks::Beneath, Duration::from_secs(60)).unwrap();
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        observer: Some(Arc::clone(&ended) as Arc<dyn Observer>),
        ..Config::default()
    };
    let engine = Engine::new(config).unwrap();
    let loader = Loader::new(1, 10, 1);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for file in &restless {
                    file.write_all_at(b"changes", 0).unwrap();
                }
            }
        });
        let load = |path: &'static [u8]| {
            let now = Now {
                instant: Instant::now(),
                date: HttpDate::from_unix_seconds(2_000_000_000),
            };
            let Step::Load(load, pending) = engine.begin(&Request::get(path), now) else {
                panic!("nobody else loads")
            };
            loader.load(load);
            pending
        };
        let all = [&b"/a"[..], b"/b", b"/c", b"/calm"].map(load);
        for pending in all {
            block_on(pending);
        }
        over.store(true, Ordering::Relaxed);
    });
    let ended = ended.0.lock().unwrap();
    assert_eq!(ended[0], ("/calm".to_owned(), true), "{ended:?}");
    assert_eq!(ended.len(), 4, "{ended:?}");
    assert_eq!(loader.0.lock_queue().threads, 1);
}

#[test]
fn reading_for_downloads_leaves_threads_for_others() {
    for threads in [1, 2, 8, 64] {
        let loader = Loader::new(threads, 10, 1);
        let queue = loader.0.lock_queue();
        let shares: Vec<_> = queue.lanes.iter().map(|lane| lane.share).collect();
        let [looks, loads, reads, checks] = shares[..] else {
            panic!("{shares:?}")
        };
        assert!(looks == threads && loads >= 1 && reads >= 1, "{shares:?}");
        assert!(checks >= 1 && checks <= reads, "{shares:?}");
        assert!(threads < 8 || loads + reads < threads, "{shares:?}");
    }
}
