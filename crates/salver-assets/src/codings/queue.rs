//! The queue of codings that somebody asked for: one job for each, however many ask, and few at work at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cache::content_memory::ContentMemory;
use crate::cache::open_files::OpenFiles;
use crate::codings::coder;
use crate::codings::directory::CodingDirectory;
use crate::codings::idle_thread::IdleThread;
use crate::codings::job::{Place, Places};
use crate::codings::key::{CodingKey, ContentKey};
use crate::codings::table::CodingTable;
use crate::sync::Lock;

/// The codings that may wait or be at work at once. One more is asked for again by a later answer.
const MOST: usize = 4096;

/// The length up to which content goes before longer one: of what waits it is most files and the least work.
const SHORT: u64 = 128 * 1024;

/// The settings of the codings of all engines beside each other.
#[derive(Clone, Debug)]
pub(crate) struct CodingSettings {
    /// The bytes that made codings may take in memory.
    pub(crate) memory: usize,
    /// The bytes that those at work may take together.
    pub(crate) work_memory: usize,
    /// The share of a core, in percent, that all workers have together.
    percent: u32,
    /// The number of workers.
    workers: usize,
    /// The length of the longest coding that is kept as bytes: what is longer leaves as a file does.
    pub(super) keep_up_to: u64,
    pub(crate) directory: Option<Arc<CodingDirectory>>,
}

/// The counts of what became of codings.
#[derive(Debug, Default)]
pub(crate) struct CodingCounts {
    /// Those that were encoded and are worth it.
    pub(crate) made: AtomicU64,
    /// Verdicts that the directory had.
    pub(crate) taken: AtomicU64,
    /// Those that were encoded and are not worth it.
    pub(crate) useless: AtomicU64,
}

/// What is made and what is asked for, as the workers have it.
pub(super) struct SharedCodings {
    pub(super) settings: CodingSettings,
    pub(super) table: CodingTable,
    pub(super) counts: CodingCounts,
    pub(super) contents: ContentMemory,
    pub(super) open_files: Arc<OpenFiles>,
    /// True once nobody wants anything any more.
    is_closed: AtomicBool,
    queue: Lock<Queue>,
    /// The idle threads that workers have left behind with an order that was taken back.
    idle_threads: Lock<Vec<IdleThread>>,
}

#[derive(Default)]
struct Queue {
    /// The keys that wait, in the order in which their turn comes.
    waiting: BTreeMap<(bool, u64), CodingKey>,
    /// What waits and what is at work. Of the latter the places that have come since.
    jobs: HashMap<CodingKey, Places>,
    /// The contents that are at work, by which job, and the jobs that wait for the same.
    at_work: HashMap<ContentKey, (CodingKey, Vec<(CodingKey, Places)>)>,
    workers: usize,
    /// The memory that those at work may take, in bytes.
    memory: u64,
    next: u64,
}

impl CodingSettings {
    /// Settings with this share of a core in percent, of which each of several workers has its part.
    pub(crate) fn new(
        (memory, work_memory): (usize, usize),
        keep_up_to: u64,
        percent: u32,
        directory: Option<Arc<CodingDirectory>>,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let whole = usize::try_from(percent.div_ceil(100)).unwrap_or(usize::MAX);
        CodingSettings {
            memory,
            work_memory,
            percent,
            workers: whole.clamp(1, cores),
            keep_up_to,
            directory,
        }
    }

    /// The length of the longest content that is coded: so that one coding pushes out a quarter of the others at most.
    pub(super) fn longest(&self) -> u64 {
        u64::try_from(self.memory / 4).unwrap_or(u64::MAX)
    }

    /// The bytes that all workers may take.
    pub(super) fn most_memory(&self) -> u64 {
        u64::try_from(self.work_memory).unwrap_or(u64::MAX)
    }

    /// The share of a core that each worker has, in percent.
    pub(super) fn percent_each(&self) -> u32 {
        let workers = u32::try_from(self.workers).unwrap_or(u32::MAX);
        (self.percent / workers).clamp(1, 100)
    }
}

fn memory(key: &CodingKey) -> u64 {
    coder::memory(key.length, &key.made)
}

impl SharedCodings {
    pub(super) fn new(
        settings: CodingSettings,
        contents: ContentMemory,
        open_files: Arc<OpenFiles>,
    ) -> Self {
        SharedCodings {
            table: CodingTable::within(settings.memory),
            settings,
            counts: CodingCounts::default(),
            contents,
            open_files,
            is_closed: AtomicBool::new(false),
            queue: Lock::default(),
            idle_threads: Lock::default(),
        }
    }

    /// An idle thread that a worker has left behind, if there is one.
    pub(super) fn take_idle_thread(&self) -> Option<IdleThread> {
        self.idle_threads.hold().pop()
    }

    /// Leaves an idle thread to the next worker, so that there are never more of them that hold memory and get no core
    /// than there are workers.
    pub(super) fn leave_idle_thread(&self, thread: IdleThread) {
        let mut threads = self.idle_threads.hold();
        if threads.len() < self.settings.workers {
            threads.push(thread);
        }
    }

    /// Puts a job into the queue, or adds the place to the one that there is. True if the caller is to start a worker.
    pub(super) fn ask(&self, key: CodingKey, place: Box<dyn Place>) -> bool {
        let mut queue = self.queue.hold();
        if let Some(places) = queue.jobs.get_mut(&key) {
            places.add(place);
            return false;
        }
        if queue.jobs.len() >= MOST {
            return false;
        }
        let mut places = Places::default();
        places.add(place);
        queue.jobs.insert(key, places);
        queue.next += 1;
        let turn = (key.length > SHORT, queue.next);
        queue.waiting.insert(turn, key);
        let starts = queue.workers < self.settings.workers;
        queue.workers += usize::from(starts);
        starts
    }

    /// Takes back a worker that could not be started.
    pub(super) fn lose_worker(&self) {
        let mut queue = self.queue.hold();
        queue.workers -= 1;
        // Nobody is there for what waits: it is asked for again.
        if queue.workers == 0 {
            queue.waiting.clear();
            queue.jobs.clear();
        }
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The number of codings that wait or are at work.
    pub(super) fn waiting(&self) -> usize {
        self.queue.hold().jobs.len()
    }

    /// The next job, whose memory is taken until it is [given back](Self::give_back). `None` if there is none or no memory
    /// beside what others are at, and the worker has to end.
    pub(super) fn next(&self) -> Option<(CodingKey, Places)> {
        let mut queue = self.queue.hold();
        if let Some((_, &key)) = queue.waiting.first_key_value()
            && !self.is_closed()
        {
            let memory = queue.memory.saturating_add(memory(&key));
            if queue.memory == 0 || memory <= self.settings.most_memory() {
                queue.waiting.pop_first();
                queue.memory = memory;
                let places = queue.jobs.get_mut(&key).map(std::mem::take);
                return Some((key, places.unwrap_or_default()));
            }
        }
        queue.workers -= 1;
        None
    }

    /// Gives back the memory of a job that is no longer at work.
    pub(super) fn give_back(&self, key: &CodingKey) {
        let mut queue = self.queue.hold();
        queue.memory = queue.memory.saturating_sub(memory(key));
    }

    /// True if any place that has come since the job began is unchanged. May wait.
    pub(super) fn is_wanted_since(&self, key: &CodingKey) -> bool {
        let places = self.queue.hold().jobs.get_mut(key).map(std::mem::take);
        let Some(places) = places else {
            return false;
        };
        // Not under the lock: a disk may take its time.
        let is_wanted = places.any_is_unchanged();
        if let Some(now) = self.queue.hold().jobs.get_mut(key) {
            now.take_all(places);
        }
        is_wanted
    }

    /// Begins the work on some content. If it is at work already, the job is left to whoever does it.
    pub(super) fn begin(
        &self,
        content: ContentKey,
        key: CodingKey,
        places: Places,
    ) -> Option<Places> {
        let mut queue = self.queue.hold();
        match queue.at_work.get_mut(&content) {
            Some((_, others)) => {
                others.push((key, places));
                None
            }
            None => {
                queue.at_work.insert(content, (key, Vec::new()));
                Some(places)
            }
        }
    }

    /// Ends the work on some content; returns the jobs that were left to it.
    pub(super) fn end_work(&self, content: &ContentKey) -> Vec<(CodingKey, Places)> {
        let ended = self.queue.hold().at_work.remove(content);
        ended.map(|(_, others)| others).unwrap_or_default()
    }

    /// Ends a job that has failed, and those that wait for it.
    pub(super) fn abandon(&self, key: &CodingKey) {
        let mut queue = self.queue.hold();
        let queue = &mut *queue;
        queue.jobs.remove(key);
        let content = queue.at_work.iter().find(|(_, (of, _))| of == key);
        let content = content.map(|(content, _)| *content);
        if let Some((_, others)) = content.and_then(|content| queue.at_work.remove(&content)) {
            for (key, _) in others {
                queue.jobs.remove(&key);
            }
        }
    }

    /// Ends a job; returns the places that have come since it began.
    pub(super) fn end(&self, key: &CodingKey) -> Places {
        self.queue.hold().jobs.remove(key).unwrap_or_default()
    }
}
