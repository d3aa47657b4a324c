//! The loader: a pool of threads that may wait for disks, so that the loops need not.

mod job_queue;

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use salver_assets::{Content, Engine, FileContent, Load, RunAgain, SiblingCheck};
use salver_os::{run_behind_others, thread_waits};
use tokio::sync::oneshot;

use self::job_queue::JobQueue;

/// A bounded pool with bounded queues. Threads are started when there is work for them, and end
/// when the loader is dropped and the work is done.
///
/// Jobs wait in lanes, and each lane has its share of the threads, so that work for a slow disk never stands in front
/// of other work: downloads of cold files leave threads for files that are asked for the first time, and both leave
/// threads for looking whether what is cached is still right. Checks of precompressed siblings, which no request
/// waits for for long, come last and have a quarter. Within a lane each disk has a queue of its own, and they take
/// turns; where there are several mounts, jobs of one disk take no more threads than they leave to others. So a disk
/// that hangs keeps its own jobs waiting, and no others. Of loads and checks few are at work at once; more
/// begin beside those that take so long that they wait for a disk, and where those before have waited. A load whose file has to come to rest first waits beside
/// the lanes, without a thread.
pub(crate) struct Loader(Arc<Pool>);

struct Pool {
    queue: Mutex<JobQueue>,
    work: Condvar,
    /// The number of jobs that are being performed, for who asks often.
    performed: AtomicUsize,
}

/// The key of a disk: jobs of one disk wait for it together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DiskKey {
    /// The source of a mount.
    Mount(usize),
    /// A file system, by its device.
    Device(u64),
}

/// The function that reads a window of a file.
type WindowReader = fn(&FileContent, &Range<u64>) -> io::Result<Bytes>;

type ReadSender = oneshot::Sender<io::Result<Bytes>>;

enum LoaderJob {
    Load(Box<Load>),
    /// Read a window, to be sent or only into the page cache.
    Read(Box<FileContent>, Range<u64>, WindowReader, ReadSender),
    /// Check if a precompressed sibling can be sent.
    Check(Box<SiblingCheck>),
    /// Close files, which can wait, too, where a file server has to be told.
    Close(Box<Content>),
}

/// The loads and checks that may be at work at once, at least: some of what they do is to wait.
const LEAST_AT_WORK: usize = 4;

/// The bytes that are read at a time into the page cache.
const SCRATCH: usize = 64 * 1024;

impl Loader {
    /// A loader with at most `threads` threads, in which at most `queue` loads wait.
    pub(crate) fn new(threads: usize, queue: usize, mounts: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_work = LEAST_AT_WORK.max(2 * cores);
        Loader(Arc::new(Pool {
            queue: Mutex::new(JobQueue::new(threads, queue, mounts > 1, at_work)),
            work: Condvar::new(),
            performed: AtomicUsize::new(0),
        }))
    }

    /// The numbers of threads, of jobs that they perform, and of loads that wait.
    pub(crate) fn occupancy(&self) -> (usize, usize, usize) {
        let queue = self.0.lock_queue();
        (queue.threads, queue.busy(), queue.waiting_loads())
    }

    /// True if several jobs are being performed: they may have filled the queue of a disk.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.performed.load(Ordering::Relaxed) > 1
    }

    /// Sets other limits. What runs and waits is performed; threads beyond the new limit stay, and have nothing to do.
    pub(crate) fn limit(&self, threads: usize, queue: usize, has_several_mounts: bool) {
        self.0
            .lock_queue()
            .limit(threads, queue, has_several_mounts);
    }

    /// Performs the load on a thread and finishes it; one that needs a place and finds none fails as overloaded.
    pub(crate) fn load(&self, load: Load) {
        if let Err(LoaderJob::Load(load)) = self.0.submit(LoaderJob::Load(Box::new(load))) {
            load.refuse();
        }
    }

    /// Performs the checks of precompressed siblings that `engine` has from now on. There is always a place:
    /// the engine has few of them at once.
    pub(crate) fn take_checks_of(&self, engine: &Engine) {
        let pool = Arc::downgrade(&self.0);
        engine.hand_sibling_checks_to(move |check| match pool.upgrade() {
            // If no thread can be started, it is dropped, and is done another time.
            Some(pool) => drop(pool.submit(LoaderJob::Check(Box::new(check)))),
            // The server has ended and its engine has not: the check is performed by the caller.
            None => check.perform(),
        });
    }

    /// Reads a window of a file, all of it, and checks that the file has not changed. There is always a place for
    /// that: an answer that has begun can no longer be refused, and a connection asks for one window at a time, so
    /// that the bound on connections is the bound here.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file has become shorter, `InvalidData` if it has changed; else the
    /// file's error.
    pub(crate) async fn read(&self, file: &FileContent, window: Range<u64>) -> io::Result<Bytes> {
        self.read_by(FileContent::read, file, window).await
    }

    /// Brings a window of a file into the page cache. There is always a place for that, too.
    pub(crate) async fn prefetch(&self, file: &FileContent, window: Range<u64>) -> io::Result<()> {
        self.read_by(prefetch, file, window).await.map(drop)
    }

    /// Drops content that has been sent. Files that are not local are closed by a thread.
    pub(crate) fn discard(&self, content: Content) {
        if content.may_wait_when_closed() {
            // If no thread can be started, it is closed here.
            let _ = self.0.submit(LoaderJob::Close(Box::new(content)));
        }
    }

    async fn read_by(
        &self,
        reader: WindowReader,
        file: &FileContent,
        window: Range<u64>,
    ) -> io::Result<Bytes> {
        let (sender, receiver) = oneshot::channel();
        let job = LoaderJob::Read(Box::new(file.clone()), window, reader, sender);
        // A job that no thread could be started for drops its sender.
        let _ = self.0.submit(job);
        receiver
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.lock_queue().closed = true;
        self.0.work.notify_all();
    }
}

impl Pool {
    fn lock_queue(&self) -> LockedQueue<'_> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(self: &Arc<Self>, job: LoaderJob) -> Result<(), LoaderJob> {
        let mut queue = self.lock_queue();
        if job.needs_place() && !queue.has_place(job.disk()) {
            return Err(job);
        }
        let number = job.lane();
        queue.push(number, job);
        // The threads that there are will perform the job; without any it would stay.
        match self.wake_or_start_thread(queue) {
            Some(mut queue) if queue.threads == 0 => queue.pop_last(number).map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// Wakes a thread for the jobs that wait, or starts one. Gives the queue back if none could be started.
    fn wake_or_start_thread<'a>(
        self: &'a Arc<Self>,
        mut queue: LockedQueue<'a>,
    ) -> Option<LockedQueue<'a>> {
        if queue.idle >= queue.wanted() {
            drop(queue);
            self.work.notify_one();
            return None;
        }
        if queue.threads >= queue.most {
            return None;
        }
        queue.threads += 1;
        // Counted from now on, so that no other is started for the same job.
        queue.idle += 1;
        drop(queue);
        let pool = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name("salver-loader".to_owned())
            .spawn(move || pool.work());
        started.is_err().then(|| {
            let mut queue = self.lock_queue();
            queue.threads -= 1;
            queue.idle -= 1;
            queue
        })
    }

    fn work(self: &Arc<Self>) {
        // Where they share a core with a loop, dozens of threads that hash and decompress would else have it for themselves, one
        // after the other.
        run_behind_others();
        let mut queue = self.lock_queue();
        loop {
            let (number, job, began) = loop {
                let now = Instant::now();
                queue.wake(now);
                if let Some((number, job)) = queue.next(now) {
                    break (number, job, now);
                }
                if queue.closed {
                    return;
                }
                queue = self.wait(queue);
            };
            queue.idle -= 1;
            if queue.wanted() > 0 {
                // This thread may be away for long.
                self.wake_or_start_thread(queue);
            } else {
                drop(queue);
            }
            let disk = job.disk();
            // A job that panics fails alone: what it held tells its waiters when it is dropped.
            let waits = thread_waits();
            self.performed.fetch_add(1, Ordering::Relaxed);
            let again = catch_unwind(AssertUnwindSafe(|| job.perform()));
            self.performed.fetch_sub(1, Ordering::Relaxed);
            // Where the system does not tell, it may have.
            let has_waited = waits.is_none() || waits != thread_waits();
            queue = self.lock_queue();
            queue.idle += 1;
            queue.end(number, disk, began, has_waited);
            if let Ok(Some((until, job))) = again
                && !queue.closed
            {
                queue.rest(until, job);
            }
        }
    }

    /// Waits until there may be a job to perform. Only one thread at a time waits for what is due next.
    fn wait<'a>(&self, mut queue: LockedQueue<'a>) -> LockedQueue<'a> {
        let Some(due) = queue.to_watch() else {
            let queue = self.work.wait(queue);
            return queue.unwrap_or_else(PoisonError::into_inner);
        };
        queue.watched_until = Some(due);
        let time = due.saturating_duration_since(Instant::now());
        let waited = self.work.wait_timeout(queue, time);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.watched_until = None;
        queue
    }
}

type LockedQueue<'a> = MutexGuard<'a, JobQueue>;

impl LoaderJob {
    fn lane(&self) -> usize {
        match self {
            LoaderJob::Load(load) if load.confirms() => 0,
            LoaderJob::Load(..) => 1,
            LoaderJob::Read(..) | LoaderJob::Close(_) => 2,
            LoaderJob::Check(_) => 3,
        }
    }

    /// True if it is refused where too many loads wait. What confirms a cached entry is not: there is one for each entry
    /// at most, and who asks for what is cached must not wait for those who ask for what is not.
    fn needs_place(&self) -> bool {
        matches!(self, LoaderJob::Load(load) if !load.confirms())
    }

    fn disk(&self) -> DiskKey {
        match self {
            LoaderJob::Load(load) => DiskKey::Mount(load.mount()),
            LoaderJob::Check(check) => DiskKey::Mount(check.mount()),
            LoaderJob::Read(file, ..) => DiskKey::Device(file.identity.device),
            LoaderJob::Close(content) => {
                DiskKey::Device(content.file().map_or(0, |file| file.identity.device))
            }
        }
    }

    /// Performs the job. A load whose file has to rest first is given back, with the time at which to perform it.
    fn perform(self) -> Option<(Instant, LoaderJob)> {
        match self {
            LoaderJob::Load(load) => {
                let RunAgain { load, after } = load.run(Instant::now()).err()?;
                return Some((Instant::now() + after, LoaderJob::Load(load)));
            }
            // The receiver may be gone; then the bytes are dropped.
            LoaderJob::Read(file, window, read, sender) => {
                let _ = sender.send(read(&file, &window));
            }
            LoaderJob::Check(check) => check.perform(),
            LoaderJob::Close(content) => drop(content),
        }
        None
    }
}

/// Reads a window into the page cache, and gives none of it. By reading, not by advice (`readahead(2)`): that may return before anything is
/// there.
fn prefetch(content: &FileContent, window: &Range<u64>) -> io::Result<Bytes> {
    let Some(file) = content.file() else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let mut scratch = vec![0; SCRATCH];
    let mut at = window.start;
    while at < window.end {
        let most = usize::try_from(window.end - at).unwrap_or(SCRATCH);
        let buffer = scratch.get_mut(..most.min(SCRATCH)).unwrap_or_default();
        match file.read_at(buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Bytes::new())
}

#[cfg(test)]
pub(crate) mod tests;
