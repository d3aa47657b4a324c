//! The byte stream of a connection over TCP, with its unconsumed input and unsent output: shared by HTTP/1.1 and
//! HTTP/2.
//!
//! An idle connection holds no buffer: input and output are the loop's until a turn leaves some of either.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use salver_assets::strategy::Transport;
use salver_assets::{RequestFields, SecureContext};
use tokio::io::{Interest, ReadBuf};

use crate::access_log::ConnectionLog;
use crate::byte_stream::ByteStream;
use crate::context::WorkerContext;
use crate::deadlines::Deadline;
use crate::handler::Peer;
use crate::listener::ListenerId;
use crate::listener_fields::ListenerFields;
use crate::memory_budget::Charge;
use crate::seats::Seat;
use crate::send_buffer::SendBuffer;
use crate::transmit::{Unsent, poll_send, send_or_keep};

/// The byte stream of a connection, with its unconsumed input and unsent output.
pub(crate) struct Wire<S> {
    pub(crate) shared: Rc<WorkerContext>,
    pub(crate) stream: S,
    /// The input that was received and not consumed.
    pub(crate) carry: Vec<u8>,
    /// The memory of `carry`, when there is any.
    carried: Option<Charge>,
    /// True if `carry` may be enough to go on with: then nothing is received first.
    pub(crate) carries_more: bool,
    /// The output for which the socket had no room.
    unsent: Option<Box<Unsent>>,
    pub(crate) deadline: Deadline,
    pub(crate) seat: Seat,
    /// The peer, once a handler was told it.
    peer: OnceCell<Option<Peer>>,
    /// The listener that the connection came to.
    listener: ListenerId,
    /// The access log and the metrics of the connection, if there are any.
    pub(crate) log: Option<Box<ConnectionLog>>,
}

/// The outcome of receiving once.
pub(crate) enum ReceiveOutcome {
    /// The number of bytes received; 0 if `carry` may be enough.
    Bytes(usize),
    /// The client has ended its side.
    End,
    /// The socket failed.
    Failed,
}

impl<S: ByteStream> Wire<S> {
    /// The wire of a new connection, which waits for its client.
    pub(crate) fn new(
        shared: Rc<WorkerContext>,
        stream: S,
        seat: Seat,
        listener: ListenerId,
    ) -> Self {
        let now = Instant::now();
        let until = now + shared.common.settings.header_timeout;
        let deadline = shared.deadlines.add(until);
        deadline.set_waiting(until, now);
        Wire {
            log: ConnectionLog::new(shared.log.as_ref(), seat.address),
            shared,
            stream,
            carry: Vec::new(),
            carried: None,
            carries_more: false,
            unsent: None,
            deadline,
            seat,
            peer: OnceCell::new(),
            listener,
        }
    }

    /// The peer, if it was still connected when it was first asked for.
    pub(crate) fn peer(&self) -> Option<Peer> {
        *self.peer.get_or_init(|| Peer::of(&self.stream))
    }

    /// Takes the current generation, all of it, for the requests that come: its listener's fields are returned, unless
    /// that is gone. All output has been sent.
    #[cold]
    pub(crate) fn take_current(&mut self) -> Option<Rc<ListenerFields>> {
        let over_tls = S::TRANSPORT == Transport::PassesThrough;
        let (shared, fields) = self.shared.renewed(self.listener, over_tls)?;
        let is_same_log = match (&self.shared.log, &shared.log) {
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            (None, None) => true,
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !is_same_log {
            self.log = ConnectionLog::new(shared.log.as_ref(), self.seat.address);
        }
        self.shared = shared;
        fields
    }

    /// Whether a request for this authority comes from a secure context: over TLS, or a trusted proxy says that it was
    /// asked by https, or the authority is this machine.
    #[inline]
    pub(crate) fn secure_context<'h>(
        &self,
        authority: &'h [u8],
        fields: &RequestFields<'_>,
    ) -> SecureContext<'h> {
        if S::TRANSPORT == Transport::PassesThrough {
            return SecureContext::Secure;
        }
        let proxies = &self.shared.common.settings.proxies;
        match fields.origin.say_https() && proxies.trusted.contains(self.seat.address) {
            true => SecureContext::Secure,
            false => SecureContext::ByHost(authority),
        }
    }

    /// Sends the output for which the socket had no room; true if there was any. `Pending` while some is left, which
    /// the client has to take fast enough.
    ///
    /// # Errors
    /// The socket's, or that the client took too little for too long.
    #[inline]
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        match self.unsent {
            None => Poll::Ready(Ok(false)),
            Some(_) => self.poll_flush_unsent(context),
        }
    }

    #[inline(never)]
    fn poll_flush_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Some(unsent) = &mut self.unsent else {
            return Poll::Ready(Ok(false));
        };
        let common = &*self.shared.common;
        let before = unsent.left();
        let sent = unsent.poll(common, &mut self.stream, &self.deadline, context);
        if let Some(log) = &self.log {
            log.count(before - unsent.left());
        }
        ready!(sent)?;
        self.unsent = None;
        self.log_sent();
        Poll::Ready(Ok(true))
    }

    /// Receives once into `buffer`, unless `carry` may be enough.
    #[inline]
    pub(crate) fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<ReceiveOutcome> {
        if self.carries_more {
            return Poll::Ready(ReceiveOutcome::Bytes(0));
        }
        let mut buffer = ReadBuf::new(buffer);
        let received = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        Poll::Ready(match (received, buffer.filled().len()) {
            (Err(_), _) => ReceiveOutcome::Failed,
            (Ok(()), 0) => ReceiveOutcome::End,
            (Ok(()), length) => ReceiveOutcome::Bytes(length),
        })
    }

    /// The input to parse: that of `carry`, and behind it the bytes received.
    #[inline]
    pub(crate) fn take_input<'a>(&mut self, received: &'a [u8]) -> Cow<'a, [u8]> {
        let mut carry = std::mem::take(&mut self.carry);
        if carry.is_empty() {
            return Cow::Borrowed(received);
        }
        carry.extend_from_slice(received);
        Cow::Owned(carry)
    }

    /// Carries the input that was not consumed. In the common case there is none, and no memory is held.
    #[inline]
    pub(crate) fn carry_over(&mut self, rest: &[u8]) {
        if rest.is_empty() && self.carried.is_none() {
            return;
        }
        self.carry = rest.to_vec();
        self.count_carry();
    }

    /// Receives input while an answer is awaited, up to `most` bytes in all; true if the client has ended its side.
    pub(crate) fn receive_ahead(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> io::Result<bool> {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        if self.carry.len() >= most {
            return self.has_ended();
        }
        while self.carry.len() < most {
            let mut buffer = ReadBuf::new(&mut scratch.input);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return Ok(false),
                Poll::Ready(received) => received?,
            }
            if buffer.filled().is_empty() {
                return Ok(true);
            }
            self.carry.extend_from_slice(buffer.filled());
            self.carries_more = true;
            self.count_carry();
        }
        Ok(false)
    }

    /// True if the client has ended its side, where nothing is received because there is no room for it. Nothing wakes the
    /// task when that happens: it is looked at again when the deadline passes.
    ///
    /// # Errors
    /// The connection is gone.
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let now = Instant::now();
        if self.deadline.has_passed(now) {
            let idle = self.shared.common.settings.idle_timeout;
            self.deadline.set(now + idle);
        }
        let ready = self
            .stream
            .tcp()
            .ready(Interest::READABLE | Interest::WRITABLE);
        let mut context = Context::from_waker(Waker::noop());
        match pin!(ready).poll(&mut context) {
            Poll::Pending => Ok(false),
            Poll::Ready(ready) => match ready? {
                ready if ready.is_write_closed() => Err(io::ErrorKind::ConnectionAborted.into()),
                ready => Ok(ready.is_read_closed()),
            },
        }
    }

    /// Counts the memory of `carry`.
    #[inline]
    fn count_carry(&mut self) {
        let length = self.carry.capacity();
        match &mut self.carried {
            None if length == 0 => {}
            None => self.carried = Some(self.seat.account.charge(length)),
            Some(_) if length == 0 => self.carried = None,
            Some(carried) => carried.set(length),
        }
    }

    /// Sends the bytes of `send_buffer`. `Pending` if the socket has no room for all of them: the rest is kept, and
    /// sent by [`poll_flush`](Self::poll_flush).
    #[inline]
    pub(crate) fn send(
        &mut self,
        context: &mut Context<'_>,
        send_buffer: &mut SendBuffer,
    ) -> Poll<io::Result<()>> {
        let before = send_buffer.left();
        let sent = poll_send(&mut self.stream, context, send_buffer);
        if let Some(log) = &self.log {
            log.count(before - send_buffer.left());
        }
        match &sent {
            Poll::Ready(Ok(())) => {
                send_buffer.free_memory();
                self.log_sent();
            }
            Poll::Ready(Err(_)) => send_buffer.clear(),
            Poll::Pending => self.keep(send_buffer),
        }
        sent
    }

    /// As [`send`](Self::send) for a rendered response; `send_buffer` is empty.
    #[inline]
    pub(crate) fn send_rendered(
        &mut self,
        context: &mut Context<'_>,
        answer: &[u8],
        send_buffer: &mut SendBuffer,
    ) -> Poll<io::Result<()>> {
        let sent = send_or_keep(&mut self.stream, context, answer, send_buffer);
        if let (Some(log), false) = (&self.log, matches!(sent, Poll::Ready(Err(_)))) {
            log.count(answer.len() - send_buffer.left());
        }
        match &sent {
            Poll::Ready(Ok(())) => self.log_sent(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.keep(send_buffer),
        }
        sent
    }

    /// The number of bytes for which the socket had no room.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent.as_ref().map_or(0, |unsent| unsent.left())
    }

    /// Logs the answers whose last byte the socket has taken: all that were made.
    #[inline]
    pub(crate) fn log_sent(&self) {
        if let Some(log) = &self.log {
            log.finish();
        }
    }

    /// Keeps the unsent bytes of `send_buffer` for this connection.
    pub(crate) fn keep(&mut self, send_buffer: &mut SendBuffer) {
        let (common, account) = (&self.shared.common, &self.seat.account);
        let unsent = Unsent::of(
            send_buffer,
            common,
            account,
            &mut self.stream,
            &self.deadline,
        );
        self.unsent = Some(unsent);
        if let Some(log) = &self.log {
            log.charge_to(account);
        }
    }

    /// Limits the bytes that the stream itself holds for sending.
    #[inline]
    pub(crate) fn limit_buffer(&mut self) {
        self.stream.limit_buffer(&self.seat.account);
    }
}
