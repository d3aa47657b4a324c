//! Threads that may wait for disks, so that the loops need not.

mod queue;

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use salver_assets::{Content, Engine, FileContent, Load, Piece, RunAgain, SiblingCheck};
use tokio::sync::oneshot;

use self::queue::Queue;

/// A bounded pool with bounded queues. Threads are started when there is work for them, and end
/// when the loader is dropped and the work is done.
///
/// Jobs wait in lanes, and each lane has its share of the threads, so that work for a slow disk
/// never stands in front of other work: downloads of cold files leave threads for files that are
/// asked for the first time, and both leave threads for looking whether what is cached is still
/// right. Checks of precompressed siblings, for which nobody waits long, come last and have a quarter.
/// Within a lane each disk has a queue of its own, and they take turns; where there are several
/// mounts, jobs of one disk take no more threads than they leave to others. So a disk that hangs keeps its
/// own jobs waiting, and nobody else's. A load whose file has to come to rest first waits beside the lanes,
/// without a thread.
pub(crate) struct Loader(Arc<Pool>);

struct Pool {
    queue: Mutex<Queue>,
    work: Condvar,
    threads: usize,
    most: usize,
}

/// What jobs wait for together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Disk {
    /// Whatever is behind a mount.
    Mount(usize),
    /// A file system, by its device.
    Device(u64),
}

enum Job {
    Load(Box<Load>),
    /// Read a window and give it to whoever sends it.
    Read(
        Box<FileContent>,
        Range<u64>,
        oneshot::Sender<io::Result<Bytes>>,
    ),
    /// Read a window for the page cache's sake.
    BringIn(
        Box<FileContent>,
        Range<u64>,
        oneshot::Sender<io::Result<Bytes>>,
    ),
    /// Look whether a precompressed sibling can be sent.
    Check(Box<SiblingCheck>),
    /// Closing a file can wait, too, where a file server has to be told.
    Close(Box<Content>),
}

/// How much loader threads give way: the share of each is a tenth of a loop's.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// What is read at a time for the page cache's sake.
const SCRATCH: usize = 64 * 1024;

impl Loader {
    /// At most `threads` jobs at once, and no further load if `queue` loads wait.
    pub(crate) fn new(threads: usize, queue: usize, mounts: usize) -> Self {
        let threads = threads.max(1);
        let queues = Queue::new(threads, mounts > 1);
        Loader(Arc::new(Pool {
            queue: Mutex::new(queues),
            work: Condvar::new(),
            threads,
            most: queue,
        }))
    }

    /// Performs the load on a thread and finishes it; one that finds no place fails as overloaded.
    pub(crate) fn load(&self, load: Load) {
        if let Err(Job::Load(load)) = self.0.submit(Job::Load(Box::new(load))) {
            load.refuse();
        }
    }

    /// Performs the checks of precompressed siblings that `engine` has from now on. There is always a place:
    /// the engine has few of them at once.
    pub(crate) fn take_checks_of(&self, engine: &Engine) {
        let pool = Arc::downgrade(&self.0);
        engine.hand_sibling_checks_to(move |check| match pool.upgrade() {
            // If no thread can be started, it is dropped, and is done another time.
            Some(pool) => drop(pool.submit(Job::Check(Box::new(check)))),
            // The server has ended and its engine has not: whoever loads now waits as well.
            None => check.perform(),
        });
    }

    /// Reads a window of a file, all of it, and looks whether the file is still what it was. There
    /// is always a place for that: an answer that has begun can no longer be refused, and a
    /// connection asks for one window at a time, so that the bound on connections is the bound
    /// here.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file has become shorter, `InvalidData` if it has changed; else the
    /// file's error.
    pub(crate) async fn read(&self, file: &FileContent, window: Range<u64>) -> io::Result<Bytes> {
        self.ask(|sender| Job::Read(Box::new(file.clone()), window, sender))
            .await
    }

    /// Brings a window of a file into the page cache. There is always a place for that, too.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) async fn bring_in(&self, file: &FileContent, window: Range<u64>) -> io::Result<()> {
        self.ask(|sender| Job::BringIn(Box::new(file.clone()), window, sender))
            .await
            .map(drop)
    }

    /// Lets go of content that has been sent. Files that are not local are closed by a thread.
    pub(crate) fn discard(&self, content: Content) {
        if content.may_wait_when_closed() {
            // If no thread can be started, it is closed here.
            let _ = self.0.submit(Job::Close(Box::new(content)));
        }
    }

    async fn ask(
        &self,
        job: impl FnOnce(oneshot::Sender<io::Result<Bytes>>) -> Job,
    ) -> io::Result<Bytes> {
        let (sender, receiver) = oneshot::channel();
        // A job that no thread could be started for drops its sender.
        let _ = self.0.submit(job(sender));
        receiver
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.hold().closed = true;
        self.0.work.notify_all();
    }
}

impl Pool {
    fn hold(&self) -> Held<'_> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(self: &Arc<Self>, job: Job) -> Result<(), Job> {
        let mut queue = self.hold();
        if matches!(job, Job::Load(..)) && !queue.has_place(job.disk(), self.most) {
            return Err(job);
        }
        let number = job.lane();
        queue.push(number, job);
        // The threads that there are will do the work; without any nobody would.
        match self.see_to(queue) {
            Some(mut queue) if queue.threads == 0 => queue.pop_last(number).map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// Sees that there is a thread for what is to be done: wakes one, or starts one. Gives the queue back if
    /// none could be started.
    fn see_to<'a>(self: &'a Arc<Self>, mut queue: Held<'a>) -> Option<Held<'a>> {
        if queue.idle >= queue.wanted() {
            drop(queue);
            self.work.notify_one();
            return None;
        }
        if queue.threads == self.threads {
            return None;
        }
        queue.threads += 1;
        // From now on, so that nobody starts another for the same job.
        queue.idle += 1;
        drop(queue);
        let pool = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name("salver-loader".to_owned())
            .spawn(move || pool.work());
        started.is_err().then(|| {
            let mut queue = self.hold();
            queue.threads -= 1;
            queue.idle -= 1;
            queue
        })
    }

    fn work(self: &Arc<Self>) {
        give_way();
        let mut queue = self.hold();
        loop {
            let (number, job) = loop {
                queue.wake(Instant::now());
                if let Some(next) = queue.next() {
                    break next;
                }
                if queue.closed {
                    return;
                }
                queue = self.wait(queue);
            };
            queue.idle -= 1;
            if queue.wanted() > 0 {
                // This thread may be away for long.
                self.see_to(queue);
            } else {
                drop(queue);
            }
            let disk = job.disk();
            // A job that panics fails alone: what it held tells its waiters when it is dropped.
            let again = catch_unwind(AssertUnwindSafe(|| job.perform()));
            queue = self.hold();
            queue.idle += 1;
            queue.end(number, disk);
            if let Ok(Some((until, job))) = again
                && !queue.closed
            {
                queue.rest(until, job);
            }
        }
    }

    /// Until there may be something to do. One thread alone waits for what is due at a time.
    fn wait<'a>(&self, mut queue: Held<'a>) -> Held<'a> {
        let due = queue.due().filter(|_| !queue.is_watched);
        let Some(due) = due else {
            let queue = self.work.wait(queue);
            return queue.unwrap_or_else(PoisonError::into_inner);
        };
        queue.is_watched = true;
        let time = due.saturating_duration_since(Instant::now());
        let waited = self.work.wait_timeout(queue, time);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.is_watched = false;
        queue
    }
}

/// Has this thread give way to the loops where they share a core: dozens of threads that hash and
/// decompress would else have the core for themselves, one after the other.
fn give_way() {
    // Elsewhere it is processes that give way.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

type Held<'a> = MutexGuard<'a, Queue>;

impl Job {
    fn lane(&self) -> usize {
        match self {
            Job::Load(load) if load.confirms() => 0,
            Job::Load(..) => 1,
            Job::Read(..) | Job::BringIn(..) | Job::Close(_) => 2,
            Job::Check(_) => 3,
        }
    }

    fn disk(&self) -> Disk {
        match self {
            Job::Load(load) => Disk::Mount(load.mount()),
            Job::Check(check) => Disk::Mount(check.mount()),
            Job::Read(file, ..) | Job::BringIn(file, ..) => Disk::Device(file.identity.device),
            Job::Close(content) => Disk::Device(device(content)),
        }
    }

    /// Does it, unless its file has to rest first: then what is to be done, and when.
    fn perform(self) -> Option<(Instant, Job)> {
        match self {
            Job::Load(load) => {
                let RunAgain { load, after } = load.run(Instant::now()).err()?;
                return Some((Instant::now() + after, Job::Load(load)));
            }
            // Whoever asked may be gone; then the bytes are nobody's.
            Job::Read(file, window, sender) => {
                let _ = sender.send(file.read(&window));
            }
            Job::BringIn(file, window, sender) => {
                let _ = sender.send(bring_in(&file, window).map(|()| Bytes::new()));
            }
            Job::Check(check) => check.perform(),
            Job::Close(content) => drop(content),
        }
        None
    }
}

/// The device of the files that content is in; 0 if it is in none.
fn device(content: &Content) -> u64 {
    match content {
        Content::Empty | Content::Memory(_) => 0,
        Content::File(file) => file.identity.device,
        Content::Parts(pieces) => {
            let mut files = pieces.iter().filter_map(|piece| match piece {
                Piece::File(file) => Some(file.identity.device),
                Piece::Memory(_) => None,
            });
            files.next().unwrap_or(0)
        }
    }
}

/// By reading, not by advice (`readahead(2)`): that may return before anything is there.
fn bring_in(content: &FileContent, window: Range<u64>) -> io::Result<()> {
    let mut scratch = vec![0; SCRATCH];
    let mut at = window.start;
    while at < window.end {
        let most = usize::try_from(window.end - at).unwrap_or(SCRATCH);
        let buffer = scratch.get_mut(..most.min(SCRATCH)).unwrap_or_default();
        match content.file.read_at(buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
