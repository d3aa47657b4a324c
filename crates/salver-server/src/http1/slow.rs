//! Slow responses, which do not come out of memory at once: they wait for a load or a handler, or are sent from a
//! file.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use salver_assets::ResponsePlan;
use salver_http1::Persistence;

use super::{Http1Connection, SENT_AHEAD};
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::context::WorkerContext;
use crate::dispatch::{Dispatched, PendingPlan};
use crate::send_buffer::SendBuffer;
use crate::transmit::Transmission;

/// The time that an answer is still awaited for a client that has ended its side of the connection: it may have ended
/// both.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// A response that does not come out of memory at once.
pub(super) struct SlowResponse {
    /// The answers before it, and its head if the plan is ready.
    pub(super) send_buffer: SendBuffer,
    pub(super) answer: Dispatched,
    pub(super) persistence: Persistence,
    /// The record of its request, unless it is queued for its plan.
    pub(super) record: Option<LogRecord>,
}

impl<S: ByteStream> Http1Connection<S> {
    /// Sends the answers before a slow response, and the response.
    ///
    /// # Errors
    /// Those of the socket or the file; the connection must end then.
    pub(super) async fn send_slow_response(&mut self, slow: SlowResponse) -> io::Result<()> {
        let SlowResponse {
            send_buffer,
            answer,
            persistence,
            record,
        } = slow;
        let shared = Rc::clone(&self.wire.shared);
        let common = &shared.common;
        shared.turns.wait(self.wire.seat.client).await;
        self.wire.limit_buffer();
        let (send_buffer, plan) = match answer {
            Dispatched::Ready(plan) => (send_buffer, plan),
            Dispatched::Pending(awaited) => {
                // The answers before it need not wait for this one.
                self.transmission(&shared, send_buffer).flush().await?;
                self.wire.log_sent();
                let Some(plan) = self.wait_for(awaited).await else {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                };
                let mut send_buffer = SendBuffer::default();
                self.push_head(&mut send_buffer, &plan, persistence);
                self.log_answer(record, &plan, send_buffer.left());
                (send_buffer, plan)
            }
        };
        let transmission = self.transmission(&shared, send_buffer);
        let sent = transmission.send(&plan.content).await;
        common.loader.discard(plan.content);
        sent?;
        self.wire.log_sent();
        self.ends = persistence == Persistence::Close;
        self.wait_for_request(shared.clock.now());
        Ok(())
    }

    fn transmission<'a>(
        &'a mut self,
        shared: &'a WorkerContext,
        send_buffer: SendBuffer,
    ) -> Transmission<'a, S> {
        Transmission {
            shared,
            seat: &self.wire.seat,
            stream: &mut self.wire.stream,
            deadline: &self.wire.deadline,
            send_buffer,
            pace: None,
            charge: self.wire.seat.account.charge(0),
            log: self.wire.log.as_deref(),
        }
    }

    /// Waits for an answer while the client is connected; `None` if it is no longer. A client that has only ended its
    /// side may still read: it has a moment more.
    async fn wait_for(&mut self, mut awaited: PendingPlan) -> Option<ResponsePlan> {
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
