use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::*;
use crate::MemorySource;
use crate::source::conformance::{FILES, check, check_apart, check_changes};

/// From this length on content is read by ranges, in bytes.
const RANGES_FROM: usize = 1000;

/// Files in memory, of which each future waits for another task once.
#[derive(Debug, Default)]
struct Delayed(MemorySource);

struct DelayedView(Arc<dyn View>);

/// Content that gives at most so many bytes at once.
#[derive(Debug)]
struct Dribble(Bytes, usize);

impl AsyncSource for Delayed {
    type View = DelayedView;

    async fn view(&self) -> io::Result<DelayedView> {
        tokio::task::yield_now().await;
        Ok(DelayedView(self.0.view(Patience::MayWait)?))
    }
}

impl AsyncView for DelayedView {
    async fn stat(&self, path: &[u8]) -> io::Result<Metadata> {
        tokio::task::yield_now().await;
        self.0.stat(path, Patience::MayWait)
    }

    async fn open(&self, path: &[u8]) -> io::Result<(Metadata, AsyncReader)> {
        tokio::task::yield_now().await;
        let opened = self.0.open(path, Patience::MayWait)?;
        let Reader::Memory(bytes) = opened.reader else {
            panic!("{:?}", opened.reader)
        };
        let reader = match bytes.len() < RANGES_FROM {
            true => AsyncReader::Whole(bytes),
            false => AsyncReader::Ranges(Arc::new(Dribble(bytes, 4096))),
        };
        Ok((opened.metadata, reader))
    }

    async fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        tokio::task::yield_now().await;
        self.0.names(path, most)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        self.0.known(path)
    }
}

impl AsyncContent for Dribble {
    fn read(&self, range: Range<u64>) -> crate::source::AsyncBytes<'_> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let all = self.0.len();
            let start = usize::try_from(range.start).unwrap().min(all);
            let end = usize::try_from(range.end).unwrap().min(all);
            Ok(self.0.slice(start..end.min(start + self.1)))
        })
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

/// The bridge to a source whose futures a runtime drives.
fn bridge<S: AsyncSource>(source: S, runtime: &Runtime) -> SyncBridge<S> {
    let handle = runtime.handle().clone();
    SyncBridge::new(source, move |task| {
        handle.spawn(task);
    })
}

#[test]
fn what_is_promised_of_a_source_holds() {
    let runtime = runtime();
    let make = || {
        let source = Delayed::default();
        for (path, content) in FILES {
            source.0.insert(path, content, 0);
        }
        bridge(source, &runtime)
    };
    let source = make();
    check(&source).unwrap();
    check_apart(&source, &make()).unwrap();
    check_changes(&source, |path, content| match content {
        Some(content) => source.get_ref().0.insert(path, content.to_vec(), 0),
        None => source.get_ref().0.remove(path),
    })
    .unwrap();
}

#[test]
fn nobody_is_asked_by_whoever_must_not_wait_nor_for_an_unclean_path() {
    let runtime = runtime();
    let asked = Arc::new(AtomicUsize::new(0));
    let (counter, handle) = (Arc::clone(&asked), runtime.handle().clone());
    let source = SyncBridge::new(Delayed::default(), move |task| {
        counter.fetch_add(1, Ordering::Relaxed);
        handle.spawn(task);
    });
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    let not_waiting = source.view(Patience::MustNotWait).map(drop);
    assert_eq!(kind(not_waiting), io::ErrorKind::WouldBlock);
    let view = source.view(Patience::MayWait).unwrap();
    let stat = view.stat(b"a", Patience::MustNotWait).map(drop);
    assert_eq!(kind(stat), io::ErrorKind::WouldBlock);
    let stat = view.stat(b"../a", Patience::MayWait).map(drop);
    assert_eq!(kind(stat), io::ErrorKind::NotFound);
    assert_eq!(view.known(b"../a"), None);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
enum Fate {
    NeverEnds,
    Panics,
    Fails,
}

/// A source whose calls have one fate; a future that is dropped tells its sender.
#[derive(Debug)]
struct Fated(Fate, Mutex<Option<oneshot::Sender<()>>>);

struct NoView;

impl AsyncSource for Fated {
    type View = NoView;

    async fn view(&self) -> io::Result<NoView> {
        let _dropped = self.1.lock().unwrap().take();
        match self.0 {
            Fate::NeverEnds => std::future::pending().await,
            Fate::Panics => panic!("as the test wants"),
            Fate::Fails => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl AsyncView for NoView {
    async fn stat(&self, _: &[u8]) -> io::Result<Metadata> {
        Err(io::ErrorKind::NotFound.into())
    }

    async fn open(&self, _: &[u8]) -> io::Result<(Metadata, AsyncReader)> {
        Err(io::ErrorKind::NotFound.into())
    }

    async fn names(&self, _: &[u8], _: usize) -> io::Result<Vec<Vec<u8>>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn a_call_that_comes_to_nothing_fails_and_leaves_no_future_behind() {
    fn check(fate: Fate, limit: Duration, expected: io::ErrorKind) {
        let runtime = runtime();
        let (dropped, told) = oneshot::channel();
        let fated = Fated(fate, Mutex::new(Some(dropped)));
        let source = bridge(fated, &runtime).time_limit(limit);
        let error = source.view(Patience::MayWait).err().unwrap();
        assert_eq!(error.kind(), expected, "{fate:?}");
        // One that has not begun holds the source, which holds the sender. That nobody sends any more is waited for.
        drop(source);
        assert!(told.blocking_recv().is_err(), "{fate:?}");
    }
    check(
        Fate::NeverEnds,
        Duration::from_millis(50),
        io::ErrorKind::TimedOut,
    );
    // What ends by itself has all the time: a panic first prints where it is from, which takes as long as the machine likes.
    check(Fate::Panics, Duration::MAX, io::ErrorKind::Other);
    check(Fate::Fails, Duration::MAX, io::ErrorKind::ConnectionRefused);
}

#[test]
fn an_executor_that_is_gone_fails_the_call() {
    let source = SyncBridge::new(Delayed::default(), drop::<Task>);
    let error = source.view(Patience::MayWait).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::Other);
}
