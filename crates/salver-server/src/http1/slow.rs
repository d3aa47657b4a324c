//! Answers that do not come out of memory at once: those that wait for a load, and those that are
//! sent from a file.

use std::io;
use std::rc::Rc;

use salver_assets::ResponsePlan;
use salver_http1::Persistence;

use super::Connection;
use super::translate::push_head;
use crate::asking::Awaited;
use crate::outbox::Outbox;
use crate::stream::Stream;
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
    Awaited(Awaited),
}

impl<S: Stream> Connection<S> {
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
            Answer::Awaited(plan) => {
                // The answers before it need not wait for this one.
                transmission.flush().await?;
                let plan = plan.await;
                let date = &shared.clock.date();
                push_head(
                    &mut transmission.outbox,
                    &plan,
                    date,
                    &self.front,
                    persistence,
                );
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
