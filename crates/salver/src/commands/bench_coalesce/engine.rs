//! The engine alone: all requests are begun before any load is performed.

use std::collections::VecDeque;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use salver_assets::{
    Config, Content, DirectorySource, Engine, HttpDate, Load, Mount, Now, Patience, Pending,
    Request, Step, Symlinks,
};

use super::Burst;
use super::cold::{ColdFile, NAME};
use crate::failure::Failure;

/// Threads that perform loads: as many as the server's loader has for first loads at most.
pub(super) const THREADS: usize = 24;

/// A sixteenth of the cache is the most that one content may take.
const CACHE_OF: usize = 16;

/// Answers so many requests for the file, from the first begin to the last answer. The answers are made and looked at, and sent to nobody.
pub(super) fn burst(file: &ColdFile, requests: usize, coalesce: bool) -> Result<Burst, Failure> {
    let engine = engine(file.folder(), file.content.len(), coalesce)?;
    let cold = file.cool();
    let path = format!("/{NAME}");
    let request = Request::get(path.as_bytes());
    let began = Instant::now();
    // Any date: nothing here is conditional.
    let now = Now {
        instant: began,
        date: HttpDate::from_unix_seconds(0),
    };
    let mut loads: VecDeque<(Load, Pending)> = VecDeque::new();
    let mut waiting = Vec::new();
    for _ in 0..requests {
        match engine.begin(&request, now) {
            Step::Load(load, pending) => loads.push_back((load, pending)),
            Step::Wait(pending) => waiting.push(pending),
            Step::Respond(_) => {
                let text = "the engine answered before anything was loaded: a defect";
                return Err(Failure::Failed(text.to_owned()));
            }
        }
    }
    let driver = Driver {
        engine: &engine,
        request: &request,
        now,
        content: &file.content,
    };
    let threads = THREADS.min(loads.len());
    let loads = Mutex::new(loads);
    let work = || {
        let mut right = 0;
        loop {
            let next = loads
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let Some((load, pending)) = next else {
                return right;
            };
            right += driver.perform(load, pending);
        }
    };
    let right: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let counts = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default());
        counts.sum()
    });
    let waited = waiting.into_iter().map(|pending| driver.answer(pending));
    let right = right + waited.sum::<u64>();
    let took = began.elapsed();
    let statistics = engine.statistics();
    let requests = u64::try_from(requests).unwrap_or(u64::MAX);
    Ok(Burst::of_engine(
        right,
        requests.saturating_sub(right),
        took,
        statistics.loads,
        cold,
    ))
}

/// An engine that has nothing cached yet, and keeps files of this length in memory.
fn engine(folder: &Path, length: usize, coalesce: bool) -> Result<Engine, Failure> {
    let defaults = Config::default();
    let source = DirectorySource::open(folder, Symlinks::Beneath, Duration::from_secs(1));
    let source = source.map_err(|error| Failure::Failed(format!("{folder:?}: {error}")))?;
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        cache_max_file: u64::try_from(length).unwrap_or(u64::MAX),
        cache_size: defaults.cache_size.max(length.saturating_mul(CACHE_OF)),
        coalesce,
        ..defaults
    };
    Engine::new(config).map_err(|error| Failure::Failed(error.to_string()))
}

/// What performs loads and takes answers.
struct Driver<'a> {
    engine: &'a Engine,
    request: &'a Request<'a>,
    now: Now,
    content: &'a [u8],
}

impl Driver<'_> {
    /// Performs a load and answers its own request: 1 if the answer is right.
    fn perform(&self, load: Load, pending: Pending) -> u64 {
        // It may wait, so it does not refuse to.
        if let Ok(outcome) = load.perform(Patience::MayWait, self.now.instant) {
            self.engine.finish(load, outcome);
        }
        self.answer(pending)
    }

    /// Answers a request whose load is done: 1 if the answer is right.
    fn answer(&self, mut pending: Pending) -> u64 {
        let arrived = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(arrived) = arrived else {
            return 0;
        };
        let Step::Respond(plan) = self.engine.resume(self.request, arrived, self.now) else {
            return 0;
        };
        let is_right = match &plan.content {
            // Comparing every byte would take longer than all else.
            Content::Memory(bytes) => {
                bytes.len() == self.content.len()
                    && bytes.first() == self.content.first()
                    && bytes.last() == self.content.last()
            }
            Content::Empty => self.content.is_empty(),
            Content::File(_) | Content::Parts(_) => false,
        };
        u64::from(plan.status == 200 && is_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_load_if_they_share_it_and_one_each_if_not() {
        let directory = tempfile::tempdir().unwrap();
        for length in [1, 100_000, 1 << 20] {
            let cold = ColdFile::make(directory.path(), length).unwrap();
            for (coalesce, requests, loads) in [
                (true, 1, 1),
                (true, 500, 1),
                (false, 1, 1),
                (false, 500, 500),
            ] {
                let burst = burst(&cold, requests, coalesce).unwrap();
                assert_eq!(burst.loads, loads, "{length} {coalesce}");
                assert_eq!(burst.measured.requests, requests as u64);
                assert!(burst.measured.is_sound(), "{burst:?}");
            }
        }
    }

    #[test]
    fn wrong_bytes_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let mut cold = ColdFile::make(directory.path(), 1000).unwrap();
        cold.content.remove(0);
        let burst = burst(&cold, 10, true).unwrap();
        assert_eq!(burst.measured.requests, 0);
        assert_eq!(burst.measured.errors.content, 10);
    }
}
