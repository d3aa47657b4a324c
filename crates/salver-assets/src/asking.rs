//! From a request to a plan without waiting, for any driver: what can be decided at once is, and
//! loads that would wait are handed over.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::engine::{Engine, Now, Step};
use crate::load::Load;
use crate::path::RequestPath;
use crate::plan::{Content, Piece, ResponsePlan};
use crate::progress::{Arrived, Pending};
use crate::request::Request;
use crate::source::Patience;

/// What asking gave.
pub enum Asked {
    /// The answer.
    Plan(ResponsePlan),
    /// It comes later: [`Engine::wait`].
    Later(Pending),
}

impl Engine {
    /// The answer to a request, if it can be had without waiting. Loads that do not have to wait
    /// are performed here; the others are given to `hand_over`, which sees to it that each is
    /// performed where it may wait, and [finished](Engine::finish).
    pub fn ask(&self, request: &Request<'_>, now: Now, hand_over: impl FnMut(Load)) -> Asked {
        self.at_path(request, Asked::Plan, |path| {
            self.ask_at(request, path, now, hand_over)
        })
    }

    #[inline]
    fn ask_at(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        mut hand_over: impl FnMut(Load),
    ) -> Asked {
        let mut step = self.begin_at(request, path, now);
        let mut outdated = false;
        loop {
            match step {
                Step::Respond(plan) if !outdated && self.is_outdated(&plan) => {
                    outdated = true;
                    step = self.begin_at(request, path, now);
                }
                Step::Respond(plan) => return Asked::Plan(plan),
                Step::Load(mut load, pending) => {
                    // What does not have to wait costs no thread.
                    match load.perform(Patience::MustNotWait, now.instant) {
                        Ok(outcome) => self.finish(load, outcome),
                        Err(would_wait) => {
                            let meanwhile = self.meanwhile(request, &load, would_wait, now);
                            load.looks_slowly = !would_wait.looked;
                            hand_over(load);
                            if let Some(plan) = meanwhile {
                                step = Step::Respond(plan);
                                continue;
                            }
                        }
                    }
                    match poll_once(pending) {
                        Ok(arrived) => step = self.resume_at(request, path, arrived, now),
                        Err(pending) => return Asked::Later(pending),
                    }
                }
                Step::Wait(pending) => return Asked::Later(pending),
            }
        }
    }

    /// The answer that comes later. Every further load is given to `hand_over`.
    pub async fn wait(
        &self,
        request: &Request<'_>,
        pending: Pending,
        clock: impl Fn() -> Now,
        hand_over: impl Fn(Load),
    ) -> ResponsePlan {
        let mut pending = pending;
        loop {
            let arrived = pending.await;
            pending = match self.resume(request, arrived, clock()) {
                Step::Respond(plan) => return plan,
                Step::Load(load, pending) => {
                    hand_over(load);
                    pending
                }
                Step::Wait(pending) => pending,
            };
        }
    }

    /// Whether the file that an answer is to be sent from was changed in place since it was
    /// opened. Then it is no longer kept open.
    fn is_outdated(&self, plan: &ResponsePlan) -> bool {
        let file = match &plan.content {
            Content::File(file) => Some(file),
            Content::Parts(pieces) => pieces.iter().find_map(|piece| match piece {
                Piece::File(file) => Some(file),
                Piece::Memory(_) => None,
            }),
            Content::Empty | Content::Memory(_) => None,
        };
        let Some(file) = file else {
            return false;
        };
        let outdated = !file.is_unchanged(Patience::MustNotWait).unwrap_or(false);
        if outdated {
            self.close_file(file);
        }
        outdated
    }
}

/// What a load that was just finished gave.
fn poll_once(mut pending: Pending) -> Result<Arrived, Pending> {
    match Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(arrived) => Ok(arrived),
        Poll::Pending => Err(pending),
    }
}
