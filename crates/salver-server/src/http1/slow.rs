//! Answers that do not come out of memory at once: those that wait for a load, and those that are
//! sent from a file.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use salver_assets::ResponsePlan;
use salver_http1::Persistence;

use super::translate::push_head;
use super::{Connection, SENT_AHEAD};
use crate::asking::Awaited;
use crate::context::Context as Loop;
use crate::outbox::Outbox;
use crate::stream::Stream;
use crate::transmit::Transmission;

/// How long an answer is still awaited for a client that has ended its side of the connection: it may have
/// ended both.
const HALF_CLOSED: Duration = Duration::from_secs(2);

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
        let shared = Rc::clone(&self.wire.shared);
        let common = &shared.common;
        shared.turns.wait(self.wire.seat.client).await;
        self.wire.limit_buffer();
        let (outbox, plan) = match answer {
            Answer::Ready(plan) => (outbox, plan),
            Answer::Awaited(awaited) => {
                // The answers before it need not wait for this one.
                self.transmission(&shared, outbox).flush().await?;
                let Some(plan) = self.wait_for(awaited).await else {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                };
                let mut outbox = Outbox::default();
                let date = &shared.clock.date();
                push_head(&mut outbox, &plan, date, &self.front, persistence);
                (outbox, plan)
            }
        };
        let transmission = self.transmission(&shared, outbox);
        let sent = transmission.send(&plan.content).await;
        common.loader.discard(plan.content);
        sent?;
        self.ends = persistence == Persistence::Close;
        self.wait_for_request(shared.clock.now());
        Ok(())
    }

    fn transmission<'a>(&'a mut self, shared: &'a Loop, outbox: Outbox) -> Transmission<'a, S> {
        Transmission {
            shared,
            seat: &self.wire.seat,
            stream: &mut self.wire.stream,
            deadline: &self.wire.deadline,
            outbox,
            pace: None,
            charge: self.wire.seat.account.charge(0),
        }
    }

    /// Waits for an answer while its client does; `None` if it does no longer. One that has only ended its
    /// own side may still read: it is given a moment more.
    async fn wait_for(&mut self, mut awaited: Awaited) -> Option<ResponsePlan> {
        let mut has_ended = false;
        poll_fn(|context| {
            if let Poll::Ready(plan) = awaited.as_mut().poll(context) {
                return Poll::Ready(Some(plan));
            }
            self.wire.deadline.register(context);
            if !has_ended {
                let Ok(ended) = self.wire.receive_ahead(context, SENT_AHEAD) else {
                    return Poll::Ready(None);
                };
                if ended {
                    has_ended = true;
                    let now = Instant::now();
                    self.wire.deadline.set_waiting(now + HALF_CLOSED, now);
                }
            }
            let is_over =
                self.wire.deadline.has_passed(Instant::now()) || self.wire.deadline.makes_room();
            if has_ended && is_over {
                return Poll::Ready(None);
            }
            Poll::Pending
        })
        .await
    }
}
