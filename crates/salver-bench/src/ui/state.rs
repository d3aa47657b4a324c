//! The one run at a time, and what the page is told about it.
//!
//! ```text
//!          start            stop
//! idle ──► running ───────► stopping
//!            │ │               │
//!       done ◄─┴─► failed      └─► stopped     each of these three ──start──► running
//! ```
//!
//! A run that was told to stop still gives what it has measured until then, if it has measured
//! anything: that is saved with a mark.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tokio::sync::watch;

use super::job::{Job, JobProgress, Runner};
use super::saved::{RunFiles, RunId, Saved};
use super::secret::Secret;
use crate::load::unless_stopped;

/// The time for which an invitation is good: a browser that starts slowly takes some seconds.
const INVITED_FOR: Duration = Duration::from_secs(60);

/// The phase of a page: idle, or that of its last run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Nothing was asked for yet.
    #[default]
    Idle,
    /// Something is being measured.
    Running,
    /// It was told to stop and has not yet.
    Stopping,
    /// The last run has a result.
    Done,
    /// The last run was stopped: what it measured until then is its result, if there is any.
    Stopped,
    /// The last run failed: it has no result.
    Failed,
}

impl Phase {
    /// True while something is under way, so that nothing else may begin.
    pub(super) fn is_busy(self) -> bool {
        matches!(self, Phase::Running | Phase::Stopping)
    }
}

/// The status that the page is told whenever it changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Status {
    /// Counts the runs of this process.
    pub(super) run: u64,
    pub(super) phase: Phase,
    pub(super) job: Option<Job>,
    pub(super) progress: Option<JobProgress>,
    /// A message for the person: why it failed, or why it was not saved.
    pub(super) message: Option<String>,
    /// Under which name it was saved.
    pub(super) saved: Option<RunId>,
}

/// The state that all requests share.
pub(super) struct State {
    /// The token: who knows it may use the page.
    pub(super) token: Secret,
    /// Leads to the page once.
    pub(super) invitation: Secret,
    pub(super) program: String,
    pub(super) runs: RunFiles,
    runner: Arc<dyn Runner>,
    status: watch::Sender<Status>,
    /// The flag that ends the present run.
    stop: AtomicBool,
    /// The result of the last run that had one.
    last: Mutex<Option<Arc<Saved>>>,
    /// Until when somebody may still accept the invitation.
    invited: Mutex<Option<Instant>>,
    /// The number of times that the whole was told to end.
    endings: watch::Sender<u32>,
}

impl State {
    pub(super) fn new(
        token: Secret,
        invitation: Secret,
        runs: RunFiles,
        program: String,
        runner: Arc<dyn Runner>,
    ) -> Self {
        State {
            token,
            invitation,
            program,
            runs,
            runner,
            status: watch::Sender::default(),
            stop: AtomicBool::new(false),
            last: Mutex::new(None),
            invited: Mutex::new(Instant::now().checked_add(INVITED_FOR)),
            endings: watch::Sender::default(),
        }
    }

    /// True if this code leads to the page. It does so once.
    pub(super) fn is_invited(&self, code: &str) -> bool {
        let mut until = self.invited.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.invitation.is(code) {
            return false;
        }
        until.take().is_some_and(|until| Instant::now() <= until)
    }

    /// Tells each change from now on.
    pub(super) fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn last(&self) -> Option<Arc<Saved>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Starts a run, unless one is under way: then `None`. Otherwise its number.
    pub(super) fn start(self: &Arc<Self>, job: Job) -> Option<u64> {
        let ending = *self.endings.borrow() > 0;
        let mut number = None;
        self.status.send_if_modified(|status| {
            if status.phase.is_busy() || ending {
                return false;
            }
            self.stop.store(false, Ordering::Relaxed);
            let run = status.run + 1;
            number = Some(run);
            *status = Status {
                run,
                phase: Phase::Running,
                job: Some(job.clone()),
                ..Status::default()
            };
            true
        });
        let number = number?;
        let state = Arc::clone(self);
        let thread = std::thread::Builder::new().name("salver-run".to_owned());
        if let Err(error) = thread.spawn(move || state.carry_out(job)) {
            self.end(Phase::Failed, Some(format!("no thread: {error}")), None);
        }
        Some(number)
    }

    /// Tells the run under way to stop. `false` if there is none.
    pub(super) fn stop(&self) -> bool {
        let mut busy = false;
        self.status.send_if_modified(|status| {
            busy = status.phase.is_busy();
            if busy {
                self.stop.store(true, Ordering::Relaxed);
            }
            let changes = status.phase == Phase::Running;
            if changes {
                status.phase = Phase::Stopping;
            }
            changes
        });
        busy
    }

    fn carry_out(&self, job: Job) {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or_default();
        let started_ms = since_1970.map_or(0, millis);
        // A run that ends before it is told to stop is whole, whoever has pressed what.
        let mut stopped = false;
        let mut progress = |progress: &JobProgress| {
            self.status
                .send_modify(|status| status.progress = Some(progress.clone()));
            let flow = unless_stopped(&self.stop);
            stopped |= flow.is_break();
            flow
        };
        // A panic is a defect; a page that waits for ever would be a second one.
        let run = AssertUnwindSafe(|| self.runner.run(&job, &mut progress));
        let result = catch_unwind(run).unwrap_or_else(|_| Err("the run panicked".to_owned()));
        match result {
            Err(_) if stopped => self.end(Phase::Stopped, None, None),
            Err(message) => self.end(Phase::Failed, Some(message), None),
            Ok(mut report) => {
                report.interrupted = stopped;
                let saved = Arc::new(Saved {
                    started_ms,
                    job,
                    report,
                });
                let (message, id) = match self.runs.save(&saved) {
                    Ok(id) => (None, Some(id)),
                    Err(error) => {
                        let directory = self.runs.directory().display();
                        let message = format!("This run is not saved in {directory}: {error}");
                        (Some(message), None)
                    }
                };
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
                let phase = if stopped { Phase::Stopped } else { Phase::Done };
                self.end(phase, message, id);
            }
        }
    }

    fn end(&self, phase: Phase, message: Option<String>, saved: Option<RunId>) {
        self.status.send_modify(|status| {
            status.phase = phase;
            status.message = message;
            status.saved = saved;
        });
    }

    /// Waits until the whole was told to end and no run is under way, or it was told twice.
    pub(super) async fn ended(&self) {
        let mut endings = self.endings.subscribe();
        let mut status = self.status.subscribe();
        // Neither sender goes away before `self` does.
        let _ = endings.wait_for(|&endings| endings > 0).await;
        self.stop();
        tokio::select! {
            _ = status.wait_for(|status| !status.phase.is_busy()) => {}
            _ = endings.wait_for(|&endings| endings > 1) => {}
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("runs", &self.runs)
            .field("status", &*self.status.borrow())
            .finish_non_exhaustive()
    }
}

/// Stops a page from another thread.
#[derive(Clone, Debug)]
pub struct Handle(Arc<State>);

impl Handle {
    pub(super) fn new(state: Arc<State>) -> Self {
        Handle(state)
    }

    /// Ends it as soon as the run under way has stopped; called again, at once. Gives whether it
    /// waits for a run.
    pub fn stop(&self) -> bool {
        self.0.endings.send_modify(|endings| *endings += 1);
        self.0.status.borrow().phase.is_busy()
    }
}
