//! Slow responses, which do not come out of memory at once: they wait for a load or a handler, or are sent from a
//! file.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use salver_assets::{Method, ResponsePlan};
use salver_http1::{CONTINUE, Persistence, Version};

use super::Http1Connection;
use super::content::{Fault, RequestContent};
use super::streaming::{Framing, HALF_CLOSED};
use super::translate::push_streamed_head;
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::context::WorkerContext;
use crate::dispatch::{PendingPlan, error_plan};
use crate::handler::{Answer, StreamedContent, UpgradeKind};
use crate::send_buffer::SendBuffer;
use crate::transmit::Transmission;

/// What the answer to a request depends on, besides what was asked.
#[derive(Clone, Copy)]
pub(super) struct AnswerTerms {
    pub(super) method: Method,
    pub(super) version: Version,
    pub(super) persistence: Persistence,
    /// True if the client takes trailers.
    pub(super) takes_trailers: bool,
    /// True if 100 (Continue) goes before it.
    pub(super) continues: bool,
}

/// A response that does not come out of memory at once.
pub(super) struct SlowResponse {
    /// The answers before it, and its head if the plan is ready.
    pub(super) send_buffer: SendBuffer,
    pub(super) answer: Result<ResponsePlan, PendingPlan>,
    pub(super) terms: AnswerTerms,
    /// The record of its request, unless it is queued for its plan.
    pub(super) record: Option<LogRecord>,
    /// The content of its request that is still to come, if a handler may want it.
    pub(super) content: Option<Box<RequestContent>>,
    /// What comes in another protocol, if the connection is upgraded as its request offers.
    pub(super) upgrade: Option<Box<RequestContent>>,
}

impl<S: ByteStream> Http1Connection<S> {
    /// Sends the answers before a slow response, and the response.
    ///
    /// # Errors
    /// Those of the socket or the content; the connection must end then.
    pub(super) async fn send_slow_response(&mut self, slow: SlowResponse) -> io::Result<()> {
        let SlowResponse {
            send_buffer,
            answer,
            mut terms,
            record,
            content,
            upgrade,
        } = slow;
        let shared = Rc::clone(&self.wire.shared);
        self.content = content;
        shared.turns.wait(self.wire.seat.client).await;
        self.wire.limit_buffer();
        match answer {
            Ok(plan) => self.send_plan(&shared, send_buffer, plan).await?,
            Err(awaited) => {
                // The answers before it need not wait for this one.
                self.transmission(&shared, send_buffer).flush().await?;
                self.wire.log_sent();
                let mut answer = match self.wait_for(awaited).await {
                    Ok(answer) => answer,
                    Err(Fault::Refused(refusal)) => {
                        terms.persistence = Persistence::Close;
                        error_plan(refusal.status, refusal.reason, Some(terms.method)).into()
                    }
                    Err(Fault::Gone(error)) => return Err(error),
                };
                // Of 100 (Continue) some may be left.
                poll_fn(|context| self.wire.poll_flush(context)).await?;
                terms.continues = answer.streamed.is_some() && self.begin_answer();
                terms.persistence =
                    self.persistence_after(terms.persistence, answer.streamed.is_some());
                if let Some(kind) = answer.upgrade {
                    match upgrade.filter(|_| kind == UpgradeKind::Switch) {
                        Some(content) => {
                            self.content = Some(content);
                            terms.persistence = Persistence::Upgrade;
                        }
                        // It was given for another request.
                        None => answer = error_plan(500, "Internal Server Error", None).into(),
                    }
                }
                match answer.streamed {
                    None => {
                        let mut send_buffer = SendBuffer::default();
                        self.push_head(&mut send_buffer, &answer.plan, terms.persistence);
                        self.log_answer(record, &answer.plan, send_buffer.left());
                        self.send_plan(&shared, send_buffer, answer.plan).await?;
                    }
                    Some(content) => {
                        let plan = answer.plan;
                        // What it took to make the answer is not kept while that goes on, perhaps for days.
                        drop(shared);
                        self.begin_stream(&mut terms, (plan, content), record)
                            .await?;
                    }
                }
            }
        }
        self.wire.log_sent();
        self.ends = matches!(terms.persistence, Persistence::Close | Persistence::Upgrade);
        self.end_content();
        self.wait_for_request(self.wire.shared.clock.now());
        Ok(())
    }

    /// Sends the content of a plan behind the bytes of `send_buffer`.
    async fn send_plan(
        &mut self,
        shared: &WorkerContext,
        send_buffer: SendBuffer,
        plan: ResponsePlan,
    ) -> io::Result<()> {
        let sent = self
            .transmission(shared, send_buffer)
            .send(&plan.content)
            .await;
        shared.common.loader.discard(plan.content);
        sent
    }

    /// Sends an answer whose content is streamed.
    async fn begin_stream(
        &mut self,
        terms: &mut AnswerTerms,
        (plan, content): (ResponsePlan, Box<StreamedContent>),
        mut record: Option<LogRecord>,
    ) -> io::Result<()> {
        let framing = match terms.persistence {
            Persistence::Upgrade => Framing::UntilClose,
            _ => Framing::of(&content, terms.version, terms.takes_trailers),
        };
        if framing == Framing::UntilClose && terms.persistence != Persistence::Upgrade {
            terms.persistence = Persistence::Close;
        }
        if let Some(record) = &mut record {
            record.answer_streamed(&plan);
        }
        let mut head = SendBuffer::default();
        if terms.continues {
            head.write(|buffer| buffer.extend_from_slice(CONTINUE));
        }
        let is_chunked = matches!(framing, Framing::Chunked { .. });
        let date = &self.wire.shared.clock.date();
        let fields = self.listener_fields.of(&plan);
        push_streamed_head(
            &mut head,
            &plan,
            date,
            &fields,
            (terms.persistence, is_chunked),
        );
        // Without the plan, so that it is not kept as long as this takes.
        drop(plan);
        self.send_streamed(head, content, framing, record).await
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

    /// Waits for an answer while the client is connected, and receives the content of its request as that is taken. A
    /// client that has only ended its side may still read: it has a moment more.
    async fn wait_for(&mut self, mut awaited: PendingPlan) -> Result<Answer, Fault> {
        let mut half_closed = None;
        poll_fn(|context| {
            self.wire.deadline.register(context);
            // Content goes before: what has come with the head is there when the handler first asks for it.
            if self.content.is_some() && half_closed.is_none() {
                let has_ended = self.receive_meanwhile(context)?;
                half_closed = has_ended.then(Instant::now);
            }
            if let Poll::Ready(answer) = awaited.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            if self.content.is_none() && half_closed.is_none() {
                let has_ended = self.receive_meanwhile(context)?;
                half_closed = has_ended.then(Instant::now);
            }
            // Of 100 (Continue) some may be left.
            if let Poll::Ready(Err(error)) = self.wire.poll_flush(context) {
                return Poll::Ready(Err(error.into()));
            }
            self.check_content(context)?;
            if let Some(since) = half_closed {
                self.wire.deadline.set_waiting(since + HALF_CLOSED, since);
                if self.wire.deadline.has_passed(Instant::now()) || self.wire.deadline.makes_room()
                {
                    let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
                    return Poll::Ready(Err(gone.into()));
                }
            }
            Poll::Pending
        })
        .await
    }
}
