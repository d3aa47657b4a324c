//! Answers that do not come out of memory at once: those that wait for a load, and those that are
//! sent from a file.

use std::io;
use std::rc::Rc;

use salver_assets::{Content, Engine, Patience, Pending, Piece, Request, ResponsePlan, Step};
use salver_http1::Persistence;

use super::Connection;
use super::translate::push_head;
use crate::context::Context as Loop;
use crate::outbox::Outbox;
use crate::transmit::Transmission;

/// An answer that does not come out of memory at once.
pub(super) struct Slow {
    /// The answers before it.
    pub(super) outbox: Outbox,
    pub(super) answer: Answer,
    pub(super) persistence: Persistence,
}

pub(super) enum Answer {
    Ready(ResponsePlan),
    Awaited(Request<'static>, Pending),
}

impl Connection {
    /// Sends the answers before it and then the slow one.
    ///
    /// # Errors
    /// Of the socket or the file; the connection must end then.
    pub(super) async fn answer_slowly(&mut self, slow: Slow) -> io::Result<()> {
        let Slow {
            outbox,
            answer,
            persistence,
        } = slow;
        let shared = Rc::clone(&self.shared);
        let common = &*shared.common;
        let mut transmission = Transmission {
            common,
            stream: &mut self.stream,
            deadline: &self.deadline,
            outbox,
            waits: false,
        };
        let plan = match answer {
            Answer::Ready(plan) => plan,
            Answer::Awaited(request, pending) => {
                // The answers before it need not wait for this one.
                transmission.flush().await?;
                let plan = wait_for_plan(&shared, &request, pending).await;
                let date = &shared.clock.date();
                push_head(&mut transmission.outbox, &plan, date, persistence);
                plan
            }
        };
        let sent = transmission.send(&plan.content).await;
        common.loader.discard(plan.content);
        sent?;
        self.ends = persistence == Persistence::Close;
        self.wait_for_request(shared.clock.now());
        Ok(())
    }
}

async fn wait_for_plan(shared: &Loop, request: &Request<'_>, pending: Pending) -> ResponsePlan {
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

/// Whether the file that an answer is to be sent from was changed in place since it was opened.
/// Then it is no longer kept open.
pub(super) fn is_outdated(engine: &Engine, plan: &ResponsePlan) -> bool {
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
