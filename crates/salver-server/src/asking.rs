//! From a request to a plan, for every protocol: what can be decided at once is, and what has to
//! wait for a disk goes to the loader.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use salver_assets::{
    Arrived, Content, Engine, Method, Now, Patience, Pending, Piece, Request, ResponsePlan, Step,
};

use crate::context::Context as Loop;

/// What asking gave.
pub(crate) enum Asked {
    /// The answer.
    Plan(ResponsePlan),
    /// It comes later: see [`wait_for_plan`].
    Later(Pending),
}

/// What is to be done, whatever it was called.
pub(crate) fn method(sent: salver_http1::Method) -> Method {
    use salver_http1::Method as Sent;
    match sent {
        Sent::Get => Method::Get,
        Sent::Head => Method::Head,
        Sent::Options => Method::Options,
        Sent::Post | Sent::Put | Sent::Delete | Sent::Patch | Sent::Connect | Sent::Trace => {
            Method::NotAllowed
        }
        Sent::Other => Method::NotImplemented,
    }
}

/// Asks the engine. Loads that do not have to wait are performed here.
pub(crate) fn ask(shared: &Loop, request: &Request<'_>, now: Now) -> Asked {
    let engine = &shared.common.engine;
    let mut step = engine.begin(request, now);
    let mut outdated = false;
    loop {
        match step {
            Step::Respond(plan) if !outdated && is_outdated(engine, &plan) => {
                outdated = true;
                step = engine.begin(request, now);
            }
            Step::Respond(plan) => return Asked::Plan(plan),
            Step::Load(load, pending) => {
                // What does not have to wait costs no thread.
                match load.perform(Patience::MustNotWait, now.instant) {
                    Ok(outcome) => engine.finish(load, outcome),
                    Err(would_wait) => {
                        let meanwhile = engine.meanwhile(request, &load, would_wait, now);
                        shared.common.loader.load(engine, load);
                        if let Some(plan) = meanwhile {
                            step = Step::Respond(plan);
                            continue;
                        }
                    }
                }
                match poll_once(pending) {
                    Ok(arrived) => step = engine.resume(request, arrived, now),
                    Err(pending) => return Asked::Later(pending),
                }
            }
            Step::Wait(pending) => return Asked::Later(pending),
        }
    }
}

/// The plan for a request whose answer comes later.
pub(crate) async fn wait_for_plan(
    shared: &Loop,
    request: &Request<'_>,
    pending: Pending,
) -> ResponsePlan {
    let common = &*shared.common;
    let mut pending = pending;
    loop {
        let arrived = pending.await;
        pending = match common.engine.resume(request, arrived, shared.clock.now()) {
            Step::Respond(plan) => return plan,
            Step::Load(load, pending) => {
                common.loader.load(&common.engine, load);
                pending
            }
            Step::Wait(pending) => pending,
        };
    }
}

/// What a load that was just finished gave.
fn poll_once(mut pending: Pending) -> Result<Arrived, Pending> {
    match Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(arrived) => Ok(arrived),
        Poll::Pending => Err(pending),
    }
}

/// Whether the file that an answer is to be sent from was changed in place since it was opened.
/// Then it is no longer kept open.
fn is_outdated(engine: &Engine, plan: &ResponsePlan) -> bool {
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
        engine.close_file(file);
    }
    outdated
}
