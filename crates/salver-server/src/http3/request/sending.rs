//! Sending an answer: it is handed to QUIC when it is its turn, and as there is room for it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use quinn::{VarInt, Written};
use salver_access_log::Protocol;
use salver_assets::{Content, Method, ResponsePlan};
use salver_http3::{CONTINUE, write_data_header};

use super::super::send_order::{Rank, TURN};
use super::super::shared_connection::SharedConnection;
use super::super::translate::push_head;
use super::{RequestFailure, RequestTask};
use crate::access_log::bytes;
use crate::dispatch::error_plan;
use crate::handler::{Answer, StreamedContent};
use crate::memory_budget::OpenFile;
use crate::transmit::loader_disk::Reading;

/// The bytes that are read from a file at a time: as many as are handed over in one turn.
pub(super) const PIECE: usize = TURN;

/// The bytes that are read ahead: QUIC does not tell the window of a client.
const AHEAD: u64 = 64 * 1024;

/// The longest content whose delivery is not waited for: it arrives soon. Longer content a shutdown might cut off.
pub(super) const LONG: u64 = 64 * 1024;

/// The capacity for the head of an answer, in bytes.
const HEAD: usize = 512;

impl RequestTask {
    /// Sends the answer, all of it.
    pub(super) fn send(
        &mut self,
        answer: Answer,
    ) -> impl Future<Output = Result<(), RequestFailure>> {
        let Answer {
            mut plan,
            mut streamed,
            upgrade,
        } = answer;
        if upgrade.is_some() {
            // It was given for another request: none of HTTP/3 offers any.
            streamed = None;
            plan = error_plan(500, "Internal Server Error", None);
        }
        let connection = Rc::clone(&self.connection);
        let shared = Rc::clone(&self.shared);
        let account = &connection.seat.account;
        let file = shared.context.common.hold_open(account, &mut plan);
        self.log_answer(&plan, streamed.is_some());
        let mut head = Vec::with_capacity(HEAD);
        if let Some(streamed) = &mut streamed {
            streamed.charge_to(account);
            if self.begin_answer() {
                head.extend_from_slice(CONTINUE);
            }
        }
        self.forget_continue();
        self.stall_timer.renew();
        push_head(
            &mut head,
            &plan,
            &shared.context.clock.date(),
            &shared.fields_of(&plan),
        );
        // Without the plan, so that it is not kept as long as this takes.
        self.send_content(connection, head, (plan.content, streamed), file)
    }

    /// Notes the answer for the access log.
    fn log_answer(&mut self, plan: &ResponsePlan, is_streamed: bool) {
        let Some(log) = &self.log else {
            return;
        };
        let method = self.method.map_or("", Method::token);
        let unread = || log.unread(Protocol::Http3, method.as_bytes());
        let record = self.record.get_or_insert_with(unread);
        match is_streamed {
            false => record.answer(plan),
            true => record.answer_streamed(plan),
        }
    }

    async fn send_content(
        &mut self,
        connection: Rc<SharedConnection>,
        head: Vec<u8>,
        (content, streamed): (Content, Option<Box<StreamedContent>>),
        _file: Option<OpenFile>,
    ) -> Result<(), RequestFailure> {
        let length = match streamed {
            None => self.send_planned(&connection, head, content).await?,
            Some(streamed) => {
                // In a box, as room for what few answers need would be kept for each.
                Box::pin(self.send_streamed(head, streamed)).await?;
                u64::MAX
            }
        };
        self.slot = None;
        // Fails only if the client has stopped the stream.
        let _ = self.send.finish();
        if length > LONG || connection.drains() {
            self.wait_for_delivery().await?;
        }
        Ok(())
    }

    /// Sends the content of a plan behind its head; returns its length.
    async fn send_planned(
        &mut self,
        connection: &SharedConnection,
        mut head: Vec<u8>,
        content: Content,
    ) -> Result<u64, RequestFailure> {
        Ok(match content {
            Content::Empty => {
                self.head_left = head.len();
                self.take_slot(0);
                self.write(&mut [head.into()]).await?;
                0
            }
            Content::Memory(bytes) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.take_slot(length);
                write_data_header(&mut head, length);
                self.head_left = head.len();
                self.write(&mut [head.into(), bytes]).await?;
                length
            }
            content @ (Content::File(_) | Content::Parts(_)) => {
                let mut reading = Reading::new(content);
                let length = reading.left();
                self.take_slot(length);
                write_data_header(&mut head, length);
                self.head_left = head.len();
                let mut sent = self.write(&mut [head.into()]).await;
                while sent.is_ok() && reading.left() > 0 {
                    self.prioritise();
                    self.wait_for_memory().await?;
                    let shared = connection.shared();
                    let disk = connection.disk(&shared);
                    let next = poll_fn(|cx| reading.poll_next(&disk, cx, PIECE, AHEAD));
                    sent = match next.await {
                        Ok(piece) => self.write(&mut [piece]).await,
                        Err(error) => Err(RequestFailure::Content(error)),
                    };
                }
                reading.end(&connection.disk(&connection.shared()));
                sent?;
                length
            }
        })
    }

    /// Waits for the answer's turn before its next piece is read, where the connection may hold no more: so that one
    /// piece is held, not one for each answer.
    async fn wait_for_memory(&mut self) -> Result<(), RequestFailure> {
        if self.connection.seat.account.room_up_to(PIECE) >= PIECE {
            return Ok(());
        }
        poll_fn(
            |context| match self.slot.as_ref().map(|slot| slot.poll(context)) {
                Some(Poll::Pending) => self
                    .poll_withdrawn(context)
                    .map(|()| Err(RequestFailure::Gone)),
                Some(Poll::Ready(_)) | None => Poll::Ready(Ok(())),
            },
        )
        .await
    }

    /// Takes a slot in the send order for an answer of `length` bytes.
    pub(super) fn take_slot(&mut self, length: u64) {
        self.length = length;
        let rank = Rank::new(self.priority.urgency, length);
        self.slot = Some(self.connection.order.slot(rank));
        self.prioritise();
    }

    /// Applies the priority of the answer, in the send order and in QUIC.
    pub(super) fn prioritise(&mut self) {
        let said = self.connection.reprioritised.get();
        if said != self.reprioritised {
            self.reprioritised = said;
            let stream = VarInt::from(self.send.id()).into_inner();
            if let Some(priority) = self.connection.priority(stream) {
                self.priority = priority;
            }
        }
        let rank = Rank::new(self.priority.urgency, self.length);
        if rank.quic_priority() != self.applied {
            self.applied = rank.quic_priority();
            if let Some(slot) = &self.slot {
                slot.set_rank(rank);
            }
            let _ = self.send.set_priority(self.applied);
        }
    }

    /// Hands over all of `chunks` to QUIC, as there is room for it.
    pub(super) async fn write(&mut self, mut chunks: &mut [Bytes]) -> Result<(), RequestFailure> {
        while !chunks.is_empty() {
            let written = poll_fn(|context| {
                self.receive_content(context)?;
                self.poll_write(context, chunks)
            })
            .await?;
            chunks = chunks.get_mut(written..).unwrap_or_default();
        }
        if let Some(slot) = &self.slot {
            slot.leave();
        }
        Ok(())
    }

    /// Writes `chunks` as far as there is room; returns the number of those written whole.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &mut [Bytes],
    ) -> Poll<Result<usize, RequestFailure>> {
        // Before it takes its slot in the order again, which must not wait for an answer that its client does not
        // read.
        if self.stall_timer.waits() && self.poll_stalled(context, |_| 0).is_ready() {
            return Poll::Ready(Err(RequestFailure::Stalled));
        }
        let turn = self.slot.as_ref().map(|slot| slot.poll(context));
        let most = match turn {
            Some(Poll::Ready(most)) => most,
            None => usize::MAX,
            Some(Poll::Pending) => {
                // It waits for other answers, not for the client.
                self.stall_timer.pause();
                return self
                    .poll_withdrawn(context)
                    .map(|()| Err(RequestFailure::Gone));
            }
        };
        let written = match split(chunks, most) {
            Split::Whole(chunks) => pin!(self.send.write_chunks(chunks)).poll(context),
            Split::Part(chunk, most) => {
                let part = chunk.slice(..most);
                let written = pin!(self.send.write_chunks(&mut [part])).poll(context);
                if let Poll::Ready(Ok(written)) = &written {
                    chunk.advance(written.bytes);
                }
                written.map_ok(|written| Written {
                    chunks: 0,
                    ..written
                })
            }
        };
        match written {
            Poll::Ready(Ok(written)) => {
                if let Some(slot) = &self.slot {
                    slot.handed_over(written.bytes);
                }
                if let Some(record) = &mut self.record {
                    let of_head = written.bytes.min(self.head_left);
                    self.head_left -= of_head;
                    record.add_sent(bytes(written.bytes - of_head));
                }
                if self.stall_timer.waits() {
                    self.connection.await_client();
                }
                self.stall_timer.take(written.bytes);
                Poll::Ready(Ok(written.chunks))
            }
            Poll::Ready(Err(_)) => Poll::Ready(Err(RequestFailure::Gone)),
            Poll::Pending => {
                if let Some(slot) = &self.slot {
                    let control = &self.connection.control;
                    slot.found_no_room(context, |context| control.connection_has_room(context));
                }
                // QUIC does not wake a task that waits for room when the client stops the stream; and a client may
                // give that room back only when it sees the stream end.
                if self.poll_withdrawn(context).is_ready() {
                    return Poll::Ready(Err(RequestFailure::Gone));
                }
                if !self.stall_timer.waits() {
                    self.connection.await_client();
                }
                // The progress of other answers does not prolong the time for this one.
                self.poll_stalled(context, |_| 0)
                    .map(|()| Err(RequestFailure::Stalled))
            }
        }
    }

    /// Ready when the client has stopped the stream.
    pub(super) fn poll_withdrawn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let withdrawn = self
            .withdrawn
            .get_or_insert_with(|| Box::pin(self.send.stopped()));
        withdrawn.as_mut().poll(context).map(drop)
    }

    /// Waits until the client has acknowledged everything.
    async fn wait_for_delivery(&mut self) -> Result<(), RequestFailure> {
        let mut delivered = pin!(self.send.stopped());
        poll_fn(|context| match delivered.as_mut().poll(context) {
            Poll::Ready(Ok(None)) => Poll::Ready(Ok(())),
            Poll::Ready(_) => Poll::Ready(Err(RequestFailure::Gone)),
            Poll::Pending => self
                .poll_stalled(context, SharedConnection::acks_received)
                .map(|()| Err(RequestFailure::Stalled)),
        })
        .await
    }

    /// Ready when the client has taken too little for too long, of this answer and by what `progress` counts.
    fn poll_stalled(
        &mut self,
        context: &Context<'_>,
        progress: impl Fn(&SharedConnection) -> u64,
    ) -> Poll<()> {
        let shared = &self.shared;
        let rate = shared.context.common.settings.least_rate();
        let progress = || progress(&self.connection);
        if self.stall_timer.is_over(shared, context, &rate, progress) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// The part of some chunks that is handed over at once.
enum Split<'a> {
    /// The first ones.
    Whole(&'a mut [Bytes]),
    /// Some bytes of the first one.
    Part(&'a mut Bytes, usize),
}

/// As much of `chunks` as `most` allows, in bytes.
fn split(chunks: &mut [Bytes], most: usize) -> Split<'_> {
    let mut left = most;
    let fits = |chunk: &&Bytes| {
        let rest = left.checked_sub(chunk.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let whole = chunks.iter().take_while(fits).count();
    match (whole, chunks) {
        (0, [first, ..]) => Split::Part(first, most),
        (whole, chunks) => Split::Whole(chunks.get_mut(..whole).unwrap_or_default()),
    }
}
