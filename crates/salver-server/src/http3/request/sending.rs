//! An answer on its way: handed to QUIC when it is its turn, and as there is room for it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use quinn::{VarInt, Written};
use salver_assets::{Content, ResponsePlan};
use salver_http3::write_data_header;

use super::super::send_order::{Rank, TURN};
use super::super::shared::Connection;
use super::super::translate::push_head;
use super::{Exchange, Failure};
use crate::awaited::unavailable;
use crate::context::NoFile;
use crate::memory_budget::OpenFile;
use crate::transmit::reading::Reading;

/// What is read from a file at a time: what is handed over in one turn.
const PIECE: usize = TURN;

/// The same, as the reader knows it: QUIC does not tell how much a client wants.
const AHEAD: u64 = 64 * 1024;

/// The delivery of longer content is waited for, so that a shutdown does not cut it off; what is
/// shorter arrives soon.
const LONG: u64 = 64 * 1024;

/// Room for the head of an answer.
const HEAD: usize = 512;

impl Exchange {
    /// Sends the answer, all of it.
    pub(super) fn send(&mut self, plan: ResponsePlan) -> impl Future<Output = Result<(), Failure>> {
        let connection = Rc::clone(&self.connection);
        let shared = &connection.shared;
        let common = &shared.context.common;
        let (plan, file) = match common.open_file(&connection.seat.account, &plan.content) {
            Ok(file) => (plan, file),
            Err(NoFile) => {
                common.loader.discard(plan.content);
                let plan = unavailable("Service Unavailable: too many files are being sent");
                (plan, None)
            }
        };
        self.stall_timer.renew();
        let mut head = Vec::with_capacity(HEAD);
        push_head(
            &mut head,
            &plan,
            &shared.context.clock.date(),
            &shared.front,
        );
        // Without the plan, so that it is not kept as long as this takes.
        self.send_content(connection, head, plan.content, file)
    }

    async fn send_content(
        &mut self,
        connection: Rc<Connection>,
        mut head: Vec<u8>,
        content: Content,
        _file: Option<OpenFile>,
    ) -> Result<(), Failure> {
        let length = match content {
            Content::Empty => {
                self.take_place(0);
                self.write(&mut [head.into()]).await?;
                0
            }
            Content::Memory(bytes) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.take_place(length);
                write_data_header(&mut head, length);
                self.write(&mut [head.into(), bytes]).await?;
                length
            }
            content @ (Content::File(_) | Content::Parts(_)) => {
                let mut reading = Reading::new(content);
                let length = reading.left();
                self.take_place(length);
                write_data_header(&mut head, length);
                let mut sent = self.write(&mut [head.into()]).await;
                while sent.is_ok() && reading.left() > 0 {
                    self.prioritise();
                    self.wait_for_memory().await?;
                    let disk = connection.disk();
                    let next = poll_fn(|cx| reading.poll_next(&disk, cx, PIECE, AHEAD));
                    sent = match next.await {
                        Ok(piece) => self.write(&mut [piece]).await,
                        Err(error) => Err(Failure::Content(error)),
                    };
                }
                reading.end(&connection.disk());
                sent?;
                length
            }
        };
        self.place = None;
        // Fails only if the client does not want it any more.
        let _ = self.send.finish();
        if length > LONG || connection.drains() {
            self.deliver().await?;
        }
        Ok(())
    }

    /// Where the connection may hold no more, waits for the answer's turn before its next piece is read: so
    /// that one piece is held, not one for each answer.
    async fn wait_for_memory(&mut self) -> Result<(), Failure> {
        if self.connection.seat.account.room_up_to(PIECE) >= PIECE {
            return Ok(());
        }
        poll_fn(
            |context| match self.place.as_ref().map(|place| place.poll(context)) {
                Some(Poll::Pending) => self.poll_withdrawn(context).map(|()| Err(Failure::Gone)),
                Some(Poll::Ready(_)) | None => Poll::Ready(Ok(())),
            },
        )
        .await
    }

    /// A place for an answer with so much content among those that are sent.
    fn take_place(&mut self, length: u64) {
        self.length = length;
        let rank = Rank::new(self.priority.urgency, length);
        self.place = Some(self.connection.order.place(rank));
        self.prioritise();
    }

    /// Has this answer sent before those of a lower rank, here and by QUIC.
    fn prioritise(&mut self) {
        let said = self.connection.reprioritised();
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
            if let Some(place) = &self.place {
                place.set_rank(rank);
            }
            let _ = self.send.set_priority(self.applied);
        }
    }

    /// Hands over all of `chunks` to QUIC, as there is room for it.
    async fn write(&mut self, mut chunks: &mut [Bytes]) -> Result<(), Failure> {
        while !chunks.is_empty() {
            let written = poll_fn(|context| self.poll_write(context, chunks)).await?;
            chunks = chunks.get_mut(written..).unwrap_or_default();
        }
        if let Some(place) = &self.place {
            place.leave();
        }
        Ok(())
    }

    /// How many of `chunks` are written whole.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &mut [Bytes],
    ) -> Poll<Result<usize, Failure>> {
        // Before it takes its place again: that is none to wait at for what the client does not read.
        if self.stall_timer.waits() && self.poll_stalled(context, |_| 0).is_ready() {
            return Poll::Ready(Err(Failure::Stalled));
        }
        let turn = self.place.as_ref().map(|place| place.poll(context));
        let most = match turn {
            Some(Poll::Ready(most)) => most,
            None => usize::MAX,
            Some(Poll::Pending) => {
                // It is not the client that it waits for.
                self.stall_timer.pause();
                return self.poll_withdrawn(context).map(|()| Err(Failure::Gone));
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
                if let Some(place) = &self.place {
                    place.handed_over(written.bytes);
                }
                if self.stall_timer.waits() {
                    self.connection.await_client();
                }
                self.stall_timer.take(written.bytes);
                Poll::Ready(Ok(written.chunks))
            }
            Poll::Ready(Err(_)) => Poll::Ready(Err(Failure::Gone)),
            Poll::Pending => {
                if let Some(place) = &self.place {
                    place.found_no_room(context, |context| self.connection.has_room(context));
                }
                // QUIC does not tell whoever waits for room that the client wants nothing more; and a client may
                // give that room back only when it sees the stream end.
                if self.poll_withdrawn(context).is_ready() {
                    return Poll::Ready(Err(Failure::Gone));
                }
                if !self.stall_timer.waits() {
                    self.connection.await_client();
                }
                // That others make progress is no reason to wait any longer for this one.
                self.poll_stalled(context, |_| 0)
                    .map(|()| Err(Failure::Stalled))
            }
        }
    }

    /// Ready when the client does not want the answer any more.
    fn poll_withdrawn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let withdrawn = self
            .withdrawn
            .get_or_insert_with(|| Box::pin(self.send.stopped()));
        withdrawn.as_mut().poll(context).map(drop)
    }

    /// Waits until the client has everything.
    async fn deliver(&mut self) -> Result<(), Failure> {
        let mut delivered = pin!(self.send.stopped());
        poll_fn(|context| match delivered.as_mut().poll(context) {
            Poll::Ready(Ok(None)) => Poll::Ready(Ok(())),
            Poll::Ready(_) => Poll::Ready(Err(Failure::Gone)),
            Poll::Pending => self
                .poll_stalled(context, Connection::acknowledged)
                .map(|()| Err(Failure::Stalled)),
        })
        .await
    }

    /// Ready when the client has taken too little for too long, of this answer and by what `progress` counts.
    fn poll_stalled(
        &mut self,
        context: &Context<'_>,
        progress: impl Fn(&Connection) -> u64,
    ) -> Poll<()> {
        let shared = &self.connection.shared;
        let rate = shared.context.common.settings.least_rate();
        let progress = || progress(&self.connection);
        if self.stall_timer.is_over(shared, context, &rate, progress) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// What of some chunks is handed over at once.
enum Split<'a> {
    /// The first ones.
    Whole(&'a mut [Bytes]),
    /// So many bytes of the first one.
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
