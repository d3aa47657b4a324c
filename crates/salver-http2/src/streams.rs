//! The open streams of a connection, and the order in which they send.
//!
//! ```text
//!            content follows          asked                    an answer with content
//! (idle) ──► Receiving ────► all of it ───► Answering ───────────────────────► Sending
//!   │ no content                 ▲             │ an answer without content        │ all sent
//!   └────────────────────────────┘             └──────────────► (closed) ◄────────┘
//! ```
//!
//! Where content is for a program, a request is asked about at once, and its content follows while it is answered.
//!
//! A reset by either side closes at any time. More urgent streams send first; among equals each sends a portion, in
//! the order in which they came, so that small answers are whole soon and a large one holds up none (RFC 9218 section
//! 10).

pub(crate) mod incoming;

use core::time::Duration;
use std::collections::VecDeque;

use salver_fields::{Priority, URGENCIES};
use salver_semantics::{LeastRate, RateCredit};
use slab::Slab;

use self::incoming::{IncomingContent, IncomingRequest};

/// The length of an answer's content that is known only at its end.
pub const UNKNOWN_LENGTH: u64 = u64::MAX;

/// The bytes that an answer may send before others of its urgency have their turn. Most files of a site fit, so they
/// are not interleaved.
const PORTION: u64 = 64 * 1024;

/// The same for an incremental answer: turns change with every frame.
const INCREMENTAL_PORTION: u64 = 1;

/// The number of streams whose memory is kept when none is open: a client that opens one at a time needs no more.
const KEPT: usize = 8;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream<T> {
    pub(crate) id: u32,
    pub(crate) state: StreamState<T>,
    /// The flow-control window: the bytes that may be sent (RFC 9113 section 6.9.1). Below 0 after the peer made it
    /// smaller.
    pub(crate) window: i64,
    pub(crate) priority: Priority,
    /// True if the client has ended its side.
    pub(crate) is_whole: bool,
    /// The content of its request, where the caller is given it as it comes.
    pub(crate) incoming: Option<Box<IncomingContent>>,
    /// The ticket of its place in a queue; a place with another ticket is void.
    ticket: u32,
    is_queued: bool,
    /// The bytes left of its portion.
    portion: u64,
    /// The client's credit of time while this window is used up.
    pace: Option<RateCredit>,
    /// The bytes sent since the pace was checked.
    sent: u64,
    /// The memory that it takes, in bytes.
    held: usize,
}

impl<T> Stream<T> {
    /// True if its request has been given to the caller.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.state, StreamState::Receiving(_))
    }
}

/// The state of an open stream.
#[derive(Debug)]
pub(crate) enum StreamState<T> {
    /// The request's content is awaited.
    Receiving(Box<IncomingRequest>),
    /// The request has been given to the caller, whose answer is awaited.
    Answering,
    /// The answer is being sent; `left` bytes of it are left.
    Sending { content: T, left: u64 },
}

/// The turn of a stream to send content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTurn {
    pub(crate) key: usize,
    urgency: usize,
    /// The bytes that it may send now: at least one, unless its stream is [held up](crate::Connection::held_up).
    pub most: usize,
    /// The bytes that it may send in this turn and those that follow, as the windows are now.
    pub ahead: u64,
}

/// All open streams of a connection.
#[derive(Debug)]
pub(crate) struct Streams<T> {
    all: Slab<Stream<T>>,
    /// The identifiers of the streams and their keys, sorted by identifier.
    index: Vec<(u32, usize)>,
    /// The keys of streams that can send, with their tickets, by urgency. A place with an old ticket is void.
    queues: [VecDeque<(usize, u32)>; URGENCIES],
    /// The keys of streams that could send, but whose next bytes have to be waited for.
    stalled: Vec<(usize, u32)>,
    next_ticket: u32,
    /// The memory that all streams take, in bytes.
    held: usize,
}

impl<T> Streams<T> {
    pub(crate) fn new() -> Self {
        Streams {
            all: Slab::new(),
            index: Vec::new(),
            queues: [const { VecDeque::new() }; URGENCIES],
            stalled: Vec::new(),
            next_ticket: 0,
            held: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The memory that all streams take, in bytes, without the content of answers that the caller keeps elsewhere.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Opens a stream. Identifiers only grow (RFC 9113 section 5.1.1).
    pub(crate) fn open(
        &mut self,
        id: u32,
        state: StreamState<T>,
        is_whole: bool,
        window: i64,
        priority: Priority,
    ) {
        let owned = match &state {
            StreamState::Receiving(incoming) => incoming.held + size_of::<IncomingRequest>(),
            StreamState::Answering | StreamState::Sending { .. } => 0,
        };
        let held = owned + size_of::<Stream<T>>() + size_of::<(u32, usize)>();
        self.held += held;
        let key = self.all.insert(Stream {
            id,
            state,
            window,
            priority,
            is_whole,
            incoming: None,
            ticket: 0,
            is_queued: false,
            portion: 0,
            pace: None,
            sent: 0,
            held,
        });
        self.index.push((id, key));
    }

    /// Expects the content of a stream's request, which the caller has.
    pub(crate) fn expect(&mut self, id: u32, incoming: IncomingContent) {
        let held = size_of::<IncomingContent>();
        if let Some(stream) = self.get(id) {
            stream.incoming = Some(Box::new(incoming));
            stream.held += held;
            self.held += held;
        }
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.index.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    pub(crate) fn get(&mut self, id: u32) -> Option<&mut Stream<T>> {
        let (_, key) = self.index.get(self.place(id)?)?;
        self.all.get_mut(*key)
    }

    pub(crate) fn by_key(&mut self, key: usize) -> Option<&mut Stream<T>> {
        self.all.get_mut(key)
    }

    /// Closes a stream. When the last one is closed, little memory is kept.
    pub(crate) fn close(&mut self, id: u32) -> Option<Stream<T>> {
        let place = self.place(id)?;
        let (_, key) = self.index.remove(place);
        let stream = self.all.try_remove(key);
        self.held -= stream.as_ref().map_or(0, |stream| stream.held);
        if self.index.is_empty() && self.all.capacity() > KEPT {
            // Tickets go on: a queue's entry must not fit a later stream.
            let next_ticket = self.next_ticket;
            *self = Streams::new();
            self.next_ticket = next_ticket;
        }
        stream
    }

    /// Changes all windows (RFC 9113 section 6.9.2); `false` if one becomes larger than `most`.
    pub(crate) fn widen(&mut self, by: i64, most: i64) -> bool {
        let mut fits = true;
        for (_, stream) in &mut self.all {
            stream.window += by;
            fits &= stream.window <= most;
        }
        let keys: Vec<usize> = self.all.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.enqueue(key);
        }
        fits
    }

    /// Queues a stream, if it can send.
    pub(crate) fn enqueue_id(&mut self, id: u32) {
        if let Some((_, key)) = self.place(id).and_then(|place| self.index.get(place)) {
            self.enqueue(*key);
        }
    }

    fn enqueue(&mut self, key: usize) {
        let Some(stream) = self.all.get_mut(key) else {
            return;
        };
        let sends = matches!(&stream.state, StreamState::Sending { left, .. } if *left > 0);
        if !sends || stream.is_queued || stream.window <= 0 {
            return;
        }
        stream.is_queued = true;
        stream.portion = portion(stream.priority);
        self.next_ticket = self.next_ticket.wrapping_add(1);
        stream.ticket = self.next_ticket;
        if let Some(queue) = self.queues.get_mut(usize::from(stream.priority.urgency)) {
            queue.push_back((key, stream.ticket));
        }
    }

    /// Changes the priority of a stream.
    pub(crate) fn prioritise(&mut self, id: u32, priority: Priority) {
        if let Some(stream) = self.get(id)
            && stream.priority != priority
        {
            let before = std::mem::replace(&mut stream.priority, priority);
            if std::mem::take(&mut stream.is_queued) {
                let ticket = stream.ticket;
                // A stream has one place, however often its priority changes.
                if let Some(queue) = self.queues.get_mut(usize::from(before.urgency)) {
                    queue.retain(|(_, other)| *other != ticket);
                }
            }
            self.enqueue_id(id);
        }
    }

    /// The streams with content left whose client has held back their windows for too long, given the
    /// time since the last call.
    pub(crate) fn stalled(&mut self, rate: &LeastRate, time: Duration) -> Vec<u32> {
        let mut stalled = Vec::new();
        for (_, stream) in &mut self.all {
            if let StreamState::Sending { .. } = stream.state {
                let sent = std::mem::take(&mut stream.sent);
                // One that waits for others, or for a disk, is not held up by its client.
                let waits = if stream.window > 0 {
                    Duration::ZERO
                } else {
                    time
                };
                if !RateCredit::pass_or_begin(&mut stream.pace, rate, waits, sent) {
                    stalled.push(stream.id);
                }
            }
        }
        stalled
    }

    /// The next turn, if at most `most` bytes may be sent at once, and `ahead` in all.
    pub(crate) fn next(&mut self, most: usize, ahead: u64) -> Option<SendTurn> {
        if most == 0 {
            return None;
        }
        for (urgency, queue) in self.queues.iter_mut().enumerate() {
            while let Some((key, ticket)) = queue.front().copied() {
                let stream = self.all.get_mut(key);
                let stream = stream.filter(|stream| stream.ticket == ticket && stream.is_queued);
                if let Some(stream) = stream {
                    if let StreamState::Sending { left, .. } = &stream.state
                        && let Ok(window @ 1..) = u64::try_from(stream.window)
                    {
                        let mine = window.min(*left);
                        let most = usize::try_from(mine).unwrap_or(most).min(most);
                        let ahead = ahead.min(mine);
                        return Some(SendTurn {
                            key,
                            urgency,
                            most,
                            ahead,
                        });
                    }
                    stream.is_queued = false;
                }
                queue.pop_front();
            }
        }
        None
    }

    /// Passes over the stream that had this turn, until [`unstall`](Self::unstall).
    pub(crate) fn stall(&mut self, turn: SendTurn) {
        let queue = self.queues.get_mut(turn.urgency);
        if let Some(entry) = queue.and_then(VecDeque::pop_front) {
            if let Some(stream) = self.all.get_mut(turn.key) {
                stream.is_queued = false;
            }
            self.stalled.push(entry);
        }
    }

    /// Queues the streams again that were passed over.
    pub(crate) fn unstall(&mut self) {
        for (key, ticket) in std::mem::take(&mut self.stalled) {
            if self
                .all
                .get(key)
                .is_some_and(|stream| stream.ticket == ticket)
            {
                self.enqueue(key);
            }
        }
    }

    /// Counts `length` bytes sent in this turn; true if the answer is whole now.
    pub(crate) fn sent(&mut self, turn: SendTurn, length: usize) -> bool {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let Some(stream) = self.all.get_mut(turn.key) else {
            return false;
        };
        let StreamState::Sending { left, .. } = &mut stream.state else {
            return false;
        };
        *left = left.saturating_sub(length);
        let is_whole = *left == 0;
        stream.window = stream.window.saturating_sub_unsigned(length);
        stream.portion = stream.portion.saturating_sub(length);
        stream.sent = stream.sent.saturating_add(length);
        if is_whole || stream.portion == 0 {
            stream.is_queued = false;
            if let Some(queue) = self.queues.get_mut(turn.urgency) {
                queue.pop_front();
            }
            self.enqueue(turn.key);
        }
        is_whole
    }

    /// Sets the bytes that are left of the answer whose turn it is.
    pub(crate) fn set_left(&mut self, turn: SendTurn, bytes: u64) {
        if let Some(stream) = self.all.get_mut(turn.key)
            && let StreamState::Sending { left, .. } = &mut stream.state
        {
            *left = bytes;
        }
    }

    /// Closes all streams, one after the other.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Stream<T>> {
        let all = std::mem::replace(self, Streams::new()).all;
        all.into_iter().map(|(_, stream)| stream)
    }

    /// The turns of the streams that have content left and no window, where the connection's is `window`.
    pub(crate) fn held_up(&self, window: i64) -> Vec<SendTurn> {
        let all = self.all.iter();
        let held_up = all.filter(|(_, stream)| {
            matches!(stream.state, StreamState::Sending { .. }) && stream.window.min(window) <= 0
        });
        let turn = |(key, stream): (usize, &Stream<T>)| SendTurn {
            key,
            urgency: usize::from(stream.priority.urgency),
            most: 0,
            ahead: 0,
        };
        held_up.map(turn).collect()
    }

    /// True if any answer is awaited or being sent.
    pub(crate) fn is_answering(&self) -> bool {
        self.all.iter().any(|(_, stream)| stream.is_known())
    }

    /// The content of the answers that are being sent, each with the window of its stream.
    pub(crate) fn sending(&self) -> impl Iterator<Item = (&T, i64)> {
        self.all
            .iter()
            .filter_map(|(_, stream)| match &stream.state {
                StreamState::Sending { content, .. } => Some((content, stream.window)),
                StreamState::Receiving(_) | StreamState::Answering => None,
            })
    }
}

fn portion(priority: Priority) -> u64 {
    if priority.incremental {
        INCREMENTAL_PORTION
    } else {
        PORTION
    }
}

#[cfg(test)]
mod tests;
