//! The verification of passwords by a few threads of their own, as one takes as long as a hundred requests.
//!
//! A pair of name and password that was right is remembered for a moment, by a keyed hash; who tries too many that
//! are wrong has to wait. Whether a name is known takes no less time to find out than whether a password is right.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use salver_assets::Access;
use salver_assets::rules::BasicAuth;
use salver_semantics::ClientKey;
use tokio::sync::oneshot;

use crate::attempts::Attempts;
use crate::credentials::{Credentials, CredentialsKey, KeyedHash};
use crate::verify;

/// The time for which a pair that was right is not verified again.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// The pairs that are remembered at most.
const REMEMBERED: usize = 1024;

/// The threads that verify. Each may take one core, and the memory that the hash says.
const THREADS: usize = 2;

/// The pairs that may wait for a thread.
const QUEUE: usize = 64;

/// The verification of passwords, for all loops.
pub struct Passwords {
    /// `None` if the system has no random numbers: then nobody enters.
    hash: Option<KeyedHash>,
    state: Mutex<State>,
    jobs: SyncSender<Job>,
    /// The other end, until the threads are started.
    idle: Mutex<Option<Receiver<Job>>>,
}

#[derive(Default)]
struct State {
    /// The pairs that were right, and when.
    right: HashMap<CredentialsKey, Instant>,
    /// Who waits for the verdict on a pair.
    waiting: HashMap<CredentialsKey, Vec<oneshot::Sender<Access>>>,
    attempts: Attempts,
}

/// A pair to be verified.
struct Job {
    passwords: Arc<Passwords>,
    key: CredentialsKey,
    credentials: Credentials,
    users: Arc<BasicAuth>,
    client: ClientKey,
}

/// The verdict on a request.
pub enum Verdict {
    /// It is known.
    Known(Access),
    /// A thread gives it.
    Pending(oneshot::Receiver<Access>),
}

impl Passwords {
    /// Verifies from now on; no thread is started yet.
    pub fn new() -> Arc<Self> {
        let (jobs, waiting) = sync_channel(QUEUE);
        Arc::new(Passwords {
            hash: KeyedHash::new(),
            state: Mutex::default(),
            jobs,
            idle: Mutex::new(Some(waiting)),
        })
    }

    /// The access by the value of `Authorization`. Never waits.
    pub fn check(
        self: &Arc<Self>,
        client: ClientKey,
        users: &Arc<BasicAuth>,
        authorization: Option<&[u8]>,
        now: Instant,
    ) -> Verdict {
        let Some(credentials) = authorization.and_then(Credentials::parse) else {
            return Verdict::Known(Access::Denied);
        };
        let Some(hash) = &self.hash else {
            return Verdict::Known(Access::Unsupported);
        };
        let key = hash.of(&credentials, users);
        let mut state = self.hold();
        if let Some(since) = state.right.get(&key)
            && now.saturating_duration_since(*since) < REMEMBERED_FOR
        {
            return Verdict::Known(Access::Granted(Arc::clone(users)));
        }
        let (sender, receiver) = oneshot::channel();
        if let Some(waiting) = state.waiting.get_mut(&key) {
            waiting.push(sender);
            return Verdict::Pending(receiver);
        }
        if let Err(seconds) = state.attempts.begin(client, now) {
            return Verdict::Known(Access::Limited { seconds });
        }
        let job = Job {
            passwords: Arc::clone(self),
            key,
            credentials,
            users: Arc::clone(users),
            client,
        };
        if self.start_threads().is_err() {
            return Verdict::Known(Access::Overloaded);
        }
        match self.jobs.try_send(job) {
            Ok(()) => {
                state.waiting.insert(key, vec![sender]);
                Verdict::Pending(receiver)
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                state.attempts.take_back(client);
                Verdict::Known(Access::Overloaded)
            }
        }
    }

    /// Starts the threads, once.
    fn start_threads(&self) -> std::io::Result<()> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(jobs) = idle.take() else {
            return Ok(());
        };
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..THREADS {
            let jobs = Arc::clone(&jobs);
            let thread = std::thread::Builder::new().name(format!("salver-passwords-{number}"));
            thread.spawn(move || {
                // Ends when the server does, which holds the other end.
                while let Ok(job) = next(&jobs) {
                    job.run();
                }
            })?;
        }
        Ok(())
    }

    fn hold(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Result<Job, std::sync::mpsc::RecvError> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

impl Job {
    /// Verifies the pair, and tells all who wait.
    fn run(self) {
        let Job {
            passwords,
            key,
            credentials,
            users,
            client,
        } = self;
        // Whoever waits has to be told whatever becomes of it.
        let verify = AssertUnwindSafe(|| verify::is_right(&credentials, &users));
        let is_right = catch_unwind(verify).unwrap_or(false);
        let mut state = passwords.hold();
        let waiting = state.waiting.remove(&key).unwrap_or_default();
        let access = match is_right {
            true => {
                state.attempts.take_back(client);
                state.remember(key, Instant::now());
                Access::Granted(users)
            }
            false => Access::Denied,
        };
        drop(state);
        for sender in waiting {
            // Who has gone is told nothing.
            let _ = sender.send(access.clone());
        }
    }
}

impl State {
    fn remember(&mut self, key: CredentialsKey, now: Instant) {
        if self.right.len() >= REMEMBERED {
            let is_young = |since: &Instant| now.saturating_duration_since(*since) < REMEMBERED_FOR;
            self.right.retain(|_, since| is_young(since));
        }
        if self.right.len() >= REMEMBERED
            && let Some(oldest) = self.right.iter().min_by_key(|(_, since)| **since)
        {
            let oldest = *oldest.0;
            self.right.remove(&oldest);
        }
        self.right.insert(key, now);
    }
}

#[cfg(test)]
mod tests;
