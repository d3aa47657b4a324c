//! Driving a request from its first step to its plan without waiting, for any driver: loads that would wait
//! are handed over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use salver_rules::BasicAuth;
use salver_semantics::{CacheState, RequestPath};

use crate::alternative::Choice;
use crate::answer::plan::ResponsePlan;
use crate::answer::select::{Decision, answer};
use crate::engine::{Engine, Now, Step};
use crate::pending::{AskedKey, LoadReady, Pending};
use crate::request::Request;
use crate::resource::entry::Resource;
use crate::resource::load::{Load, WouldWait};
use crate::resource::representation::Representation;
use crate::source::Patience;

/// The reply of an engine that was [asked](Engine::ask).
pub enum EngineReply {
    /// The answer.
    Ready(ResponsePlan),
    /// A reply that comes later: [`Engine::wait`].
    Pending(Pending),
    /// Rules for the path ask more of the request: ask again with its [details](Request::details).
    NeedDetails,
    /// Rules for the path want a password of one of these users: ask again with the
    /// [access](crate::RequestDetails::access) that it gives.
    NeedAccess(Arc<BasicAuth>),
}

impl Engine {
    /// The answer to a request, if it can be had without waiting. Loads that do not have to wait
    /// are performed here; the others are given to `hand_over`, which sees to it that each is
    /// performed where it may wait, and [finished](Engine::finish).
    pub fn ask(&self, request: &Request<'_>, now: Now, hand_over: impl FnMut(Load)) -> EngineReply {
        self.at_path(request, EngineReply::Ready, |path, key| {
            self.ask_at(request, path, key, now, hand_over)
        })
    }

    #[inline]
    fn ask_at(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        key: AskedKey,
        now: Now,
        mut hand_over: impl FnMut(Load),
    ) -> EngineReply {
        let mut step = self.begin_at(request, path, key, now);
        let mut outdated = false;
        loop {
            match step {
                Step::Respond(plan) if !outdated && self.is_outdated(&plan) => {
                    outdated = true;
                    step = self.begin_at(request, path, key, now);
                }
                Step::Respond(plan) => return EngineReply::Ready(plan),
                Step::Load(mut load, pending) => {
                    // What does not have to wait costs no thread.
                    match load.perform(Patience::MustNotWait, now.instant) {
                        Ok(outcome) => self.finish(load, outcome),
                        Err(would_wait) => {
                            let stale = self.stale_while_loading(request, &load, would_wait, now);
                            load.slow_to_check = !would_wait.looked;
                            hand_over(load);
                            if let Some(plan) = stale {
                                step = Step::Respond(plan);
                                continue;
                            }
                        }
                    }
                    match poll_once(pending) {
                        Ok(arrived) => step = self.resume_at(request, path, arrived, now),
                        Err(pending) => return EngineReply::Pending(pending),
                    }
                }
                Step::Wait(pending) => return EngineReply::Pending(pending),
                Step::NeedDetails => return EngineReply::NeedDetails,
                Step::NeedAccess(users) => return EngineReply::NeedAccess(users),
            }
        }
    }

    /// The reply that comes later, which is no longer pending. Every further load is given to `hand_over`. The request
    /// has its [details](Request::details) if it [may need them](Self::may_need_details).
    pub async fn wait(
        &self,
        request: &Request<'_>,
        pending: Pending,
        clock: impl Fn() -> Now,
        hand_over: impl Fn(Load),
    ) -> EngineReply {
        let mut pending = pending;
        loop {
            let arrived = pending.await;
            pending = match self.resume(request, arrived, clock()) {
                Step::Respond(plan) => return EngineReply::Ready(plan),
                Step::Load(load, pending) => {
                    hand_over(load);
                    pending
                }
                Step::Wait(pending) => pending,
                Step::NeedDetails => return EngineReply::NeedDetails,
                Step::NeedAccess(users) => return EngineReply::NeedAccess(users),
            };
        }
    }

    /// The answer that `load`'s request may have without a look at the disk: that of the entry
    /// which the load is to confirm, if it is still young enough. For a driver whose attempt to
    /// [perform](Load::perform) the load without waiting failed; the load has to be performed and
    /// [finished](Self::finish) all the same.
    pub fn stale_while_loading(
        &self,
        request: &Request<'_>,
        load: &Load,
        would_wait: WouldWait,
        now: Now,
    ) -> Option<ResponsePlan> {
        let shared = &*self.shared;
        let entry = &load.previous.as_ref()?.entry;
        let since_epoch = shared.since_epoch(now.instant);
        if would_wait.looked || !entry.is_fresh(since_epoch, shared.config.revalidate) {
            return None;
        }
        let representations = match &entry.resource {
            Resource::File(representations) => representations,
            Resource::Negotiated(original)
                if self.choice(request, original, AskedKey::Path) == Choice::Original =>
            {
                original
            }
            _ => return None,
        };
        let selected = self.select(request, entry, representations);
        let open = |_: &Representation| None;
        match answer(request, representations, selected, open, now.date) {
            Decision::Respond(mut plan) => {
                plan.cache_state = Some(CacheState::Hit);
                if shared.config.cache_status {
                    self.tell_all(&mut plan, (CacheState::Hit, false), entry, now);
                }
                Some(plan)
            }
            Decision::NeedContent(_) => None,
        }
    }

    /// True if the file that an answer is to be sent from was changed in place since it was opened.
    /// Then it is no longer kept open.
    fn is_outdated(&self, plan: &ResponsePlan) -> bool {
        let Some(file) = plan.content.file() else {
            return false;
        };
        let outdated = !file.is_unchanged(Patience::MustNotWait).unwrap_or(false);
        if outdated {
            self.close_file(file);
        }
        outdated
    }
}

/// The result of a load that was just finished.
fn poll_once(mut pending: Pending) -> Result<LoadReady, Pending> {
    match Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(arrived) => Ok(arrived),
        Poll::Pending => Err(pending),
    }
}
