//! Threads that may wait for disks, so that the loops need not.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use salver_assets::{Engine, Load, Outcome, Patience};
use tokio::sync::oneshot;

/// A bounded pool with a bounded queue. Threads are started when there is work for them, and end
/// when the loader is dropped and the work is done.
pub(crate) struct Loader(Arc<Pool>);

struct Pool {
    queue: Mutex<Queue>,
    work: Condvar,
    threads: usize,
    most: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
    closed: bool,
}

enum Job {
    Load(Engine, Box<Load>),
    Read(Arc<File>, Range<u64>, oneshot::Sender<io::Result<Bytes>>),
}

impl Loader {
    /// At most `threads` jobs at once, and no further load if `queue` jobs wait.
    pub(crate) fn new(threads: usize, queue: usize) -> Self {
        Loader(Arc::new(Pool {
            queue: Mutex::new(Queue::default()),
            work: Condvar::new(),
            threads: threads.max(1),
            most: queue,
        }))
    }

    /// Performs the load on a thread and finishes it; one that finds no place fails as overloaded.
    pub(crate) fn load(&self, engine: &Engine, load: Load) {
        if let Err(Job::Load(engine, load)) = self.submit(Job::Load(engine.clone(), Box::new(load)))
        {
            engine.finish(*load, Outcome::overloaded());
        }
    }

    /// Reads a range of a file, all of it. There is always a place for that: an answer that has
    /// begun can no longer be refused, and a connection asks for one range at a time, so that the
    /// bound on connections is the bound here.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file has become shorter; else the file's error.
    pub(crate) async fn read(&self, file: &Arc<File>, range: Range<u64>) -> io::Result<Bytes> {
        let (sender, receiver) = oneshot::channel();
        // A job that no thread could be started for drops its sender.
        let _ = self.submit(Job::Read(Arc::clone(file), range, sender));
        receiver
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    fn submit(&self, job: Job) -> Result<(), Job> {
        let mut queue = self.0.hold();
        if matches!(job, Job::Load(..)) && queue.jobs.len() >= self.0.most {
            return Err(job);
        }
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() {
            drop(queue);
            self.0.work.notify_one();
        } else if queue.threads < self.0.threads {
            queue.threads += 1;
            drop(queue);
            let pool = Arc::clone(&self.0);
            let started = std::thread::Builder::new()
                .name("salver-loader".to_owned())
                .spawn(move || pool.work());
            if started.is_err() {
                let mut queue = self.0.hold();
                queue.threads -= 1;
                // The threads that there are will do the work; without any nobody would.
                if queue.threads == 0 {
                    return queue.jobs.pop_back().map_or(Ok(()), Err);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.hold().closed = true;
        self.0.work.notify_all();
    }
}

impl Pool {
    fn hold(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut queue = self.hold();
            queue.idle += 1;
            let job = loop {
                if let Some(job) = queue.jobs.pop_front() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                queue = self
                    .work
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            queue.idle -= 1;
            drop(queue);
            // A job that panics fails alone: what it held tells its waiters when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| job.perform()));
        }
    }
}

impl Job {
    fn perform(self) {
        match self {
            Job::Load(engine, load) => {
                let outcome = load.perform(Patience::MayWait, Instant::now());
                engine.finish(*load, outcome.unwrap_or_else(|_| Outcome::overloaded()));
            }
            Job::Read(file, range, sender) => {
                // Whoever asked may be gone; then the bytes are nobody's.
                let _ = sender.send(read(&file, range));
            }
        }
    }
}

fn read(file: &File, range: Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(range.end - range.start)
        .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future)
    }

    fn file() -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        Arc::new(file)
    }

    #[test]
    fn reads_ranges_and_says_when_a_file_is_too_short() {
        let loader = Loader::new(2, 10);
        let file = file();
        assert_eq!(block_on(loader.read(&file, 3..7)).unwrap(), b"3456"[..]);
        let error = block_on(loader.read(&file, 5..11)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_answer_under_way_finds_a_place_in_a_full_queue() {
        let loader = Loader::new(1, 0);
        assert_eq!(block_on(loader.read(&file(), 0..1)).unwrap(), b"0"[..]);
    }

    #[test]
    fn threads_end_with_the_loader() {
        let loader = Loader::new(3, 10);
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
        let loader = Arc::new(Loader::new(3, 1000));
        let file = file();
        block_on(async {
            let reads: Vec<_> = (0..500)
                .map(|_| {
                    let (loader, file) = (Arc::clone(&loader), Arc::clone(&file));
                    async move { loader.read(&file, 0..10).await }
                })
                .collect();
            for read in reads {
                assert_eq!(read.await.unwrap().len(), 10);
            }
        });
        assert!(loader.0.hold().threads <= 3);
    }
}
