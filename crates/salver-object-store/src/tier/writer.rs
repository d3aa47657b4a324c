//! The thread that writes into the folder of the tier: it takes the folder, makes the index of what is there, and then does what
//! it is told, one job after the other.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;

use crate::tier::absences;
use crate::tier::folder::Folder;
use crate::tier::name::Name;
use crate::tier::{Indexed, OVERHEAD, Shared, record};

/// The pause before it is looked again whether another process still uses the folder.
const TAKEN_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The pause after it has been told of something: more of what somebody waits for comes at that moment, most likely.
const PAUSE: Duration = Duration::from_millis(2);

/// The pause between two times that absences are written.
const ABSENCES_AFTER: Duration = Duration::from_secs(5);

/// Something to be done in the folder.
#[derive(Debug)]
pub(super) enum Job {
    /// Write a file.
    Write {
        name: Name,
        subject: Vec<u8>,
        content: Bytes,
        time: SystemTime,
        /// The number of the version of an object that it is of, if it is of one.
        version: Option<u64>,
    },
    /// Set the time of a file.
    Date(Name, SystemTime),
    /// Remove a file.
    Remove(Name),
    /// Write what is known of absences now.
    WriteAbsences,
    /// Tell when all before it is done, and whether the folder is this process's.
    Settle(Sender<bool>),
}

impl Job {
    /// The bytes that it takes while it waits.
    pub(super) fn cost(&self) -> u64 {
        let cost = match self {
            Job::Write {
                subject, content, ..
            } => OVERHEAD + subject.len() + content.len(),
            Job::Date(..) | Job::Remove(_) | Job::WriteAbsences => OVERHEAD,
            // It is to be done in any case.
            Job::Settle(_) => 0,
        };
        u64::try_from(cost).unwrap_or(u64::MAX)
    }
}

/// Writes until nobody has anything to be written any more.
pub(super) fn write_until_the_end(shared: &Shared, jobs: &Receiver<Job>) {
    let Some(folder) = take(shared, jobs) else {
        shared.is_decided.make();
        return;
    };
    if let Ok((bytes, _)) = folder.read(absences::name(), usize::MAX)
        && let Some((subject, content)) = record::read(bytes)
        && *subject == *absences::SUBJECT
    {
        shared.absences.read(&content);
    }
    let folder = shared.folder.get_or_init(|| folder);
    shared.is_decided.make();
    make_index(shared, folder);
    // Until here somebody may wait for it.
    salver_os::run_behind_others();
    let mut writer = Writer {
        shared,
        folder,
        has_failed: false,
        absences_written: Instant::now(),
    };
    loop {
        match jobs.try_recv() {
            Ok(job) => {
                shared.count_off(&job);
                writer.perform(job);
                continue;
            }
            Err(TryRecvError::Empty) => {
                std::thread::park_timeout(ABSENCES_AFTER);
                std::thread::sleep(PAUSE);
            }
            Err(TryRecvError::Disconnected) => break,
        }
        if writer.absences_written.elapsed() >= ABSENCES_AFTER {
            writer.write_absences();
        }
    }
    writer.write_absences();
}

/// The folder, once no other process uses it; `None` if there is none to be had, or nobody needs it any more.
fn take(shared: &Shared, jobs: &Receiver<Job>) -> Option<Folder> {
    let path = &shared.path;
    let mut is_said = false;
    loop {
        match Folder::open(path) {
            Ok(Some(folder)) => return Some(folder),
            Ok(None) if !is_said => {
                shared.is_decided.make();
                tracing::warn!(
                    "{path:?}: another process keeps objects there; nothing is kept until it has ended"
                );
                is_said = true;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!("{path:?}: no objects are kept there: {error}");
                return None;
            }
        }
        match jobs.recv_timeout(TAKEN_AGAIN_AFTER) {
            Ok(job) => {
                shared.count_off(&job);
                if let Job::Settle(told) = job {
                    // Whoever asked may have gone.
                    let _ = told.send(false);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Makes the index of what is there, what was used last coming last, while loads read already.
fn make_index(shared: &Shared, folder: &Folder) {
    let mut files = folder.files();
    files.retain(|(name, ..)| *name != absences::name());
    files.sort_unstable_by_key(|(_, _, time)| *time);
    for (name, length, time) in files {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let indexed = Indexed {
            dated: time,
            version: None,
        };
        let weight = shared.weight(length);
        let gone = shared.index().insert(name, indexed, weight);
        gone.into_iter().for_each(|name| folder.remove(name));
    }
    shared.is_indexed.store(true, Ordering::Release);
}

/// The state of the thread.
struct Writer<'a> {
    shared: &'a Shared,
    folder: &'a Folder,
    /// True while it was said that nothing can be written.
    has_failed: bool,
    absences_written: Instant,
}

impl Writer<'_> {
    fn perform(&mut self, job: Job) {
        match job {
            Job::Write {
                name,
                subject,
                content,
                time,
                version,
            } => {
                let indexed = Indexed {
                    dated: time,
                    version,
                };
                self.write(name, &subject, &content, indexed);
            }
            // It may have gone meanwhile.
            Job::Date(name, time) => drop(self.folder.date(name, time)),
            Job::Remove(name) => self.remove(name),
            Job::WriteAbsences => self.write_absences(),
            Job::Settle(told) => {
                self.write_absences();
                // Whoever asked may have gone.
                let _ = told.send(true);
            }
        }
    }

    fn write(&mut self, name: Name, subject: &[u8], content: &[u8], indexed: Indexed) {
        if subject.len() > record::LONGEST_SUBJECT {
            return;
        }
        let length = subject.len() + content.len() + record::OVERHEAD;
        let weight = self.shared.weight(length);
        // Room is made before.
        let gone = self.shared.index().insert(name, indexed, weight);
        let is_kept = !gone.contains(&name);
        for name in gone {
            self.folder.remove(name);
        }
        if !is_kept {
            return;
        }
        let (head, hash) = record::write(subject, content);
        let parts: [&[u8]; 3] = [&head, content, &hash];
        let written = self.folder.write(name, &parts, indexed.dated);
        if let Err(error) = &written {
            self.remove(name);
            self.say_failure(error);
        }
        self.has_failed = written.is_err();
    }

    fn remove(&self, name: Name) {
        self.shared.index().forget(&name);
        self.folder.remove(name);
    }

    fn write_absences(&mut self) {
        self.absences_written = Instant::now();
        let Some(content) = self.shared.absences.to_write() else {
            return;
        };
        let (head, hash) = record::write(absences::SUBJECT, &content);
        let parts: [&[u8]; 3] = [&head, &content, &hash];
        let written = self
            .folder
            .write(absences::name(), &parts, SystemTime::now());
        if let Err(error) = written {
            self.say_failure(&error);
        }
    }

    /// Says that nothing can be written, once.
    fn say_failure(&mut self, error: &io::Error) {
        if !self.has_failed {
            self.has_failed = true;
            tracing::warn!(
                "{:?}: objects cannot be kept there, and come from the bucket again: {error}",
                self.shared.path
            );
        }
    }
}

impl Shared {
    /// Notes that a job waits no more.
    fn count_off(&self, job: &Job) {
        self.queued.fetch_sub(job.cost(), Ordering::Relaxed);
    }
}
