//! The streams of a connection that are open, and whose turn it is to send.
//!
//! ```text
//!            content follows          asked                    an answer with content
//! (idle) ──► Receiving ────► all of it ───► Answering ───────────────────────► Sending
//!   │ no content                 ▲             │ an answer without content        │ all sent
//!   └────────────────────────────┘             └──────────────► (closed) ◄────────┘
//! ```
//!
//! A reset by either side closes at any time. More urgent streams send first; among equals each
//! sends a portion, in the order in which they came, so that small answers are whole soon and a
//! large one holds up nobody (RFC 9218 section 10).

use core::time::Duration;
use std::collections::VecDeque;

use salver_fields::{Priority, RequestHead, URGENCIES};
use salver_semantics::{LeastRate, RateCredit};
use slab::Slab;

/// What an answer may send before others of its urgency have their turn, in bytes. Most files of a
/// site fit, so they are not interleaved.
const PORTION: u64 = 64 * 1024;

/// The same for an answer of which parts are of use: every frame.
const INCREMENTAL_PORTION: u64 = 1;

/// So many streams' memory is kept when none is open: who opens one at a time needs no more.
const KEPT: usize = 8;

/// One stream that is open.
#[derive(Debug)]
pub(crate) struct Stream<T> {
    pub(crate) id: u32,
    pub(crate) state: State<T>,
    /// Bytes that may be sent (RFC 9113 section 6.9.1). Below 0 after the peer made it smaller.
    pub(crate) window: i64,
    pub(crate) priority: Priority,
    /// Whether the client has ended its side.
    pub(crate) is_whole: bool,
    /// The place in a queue counts only with this ticket.
    ticket: u32,
    is_queued: bool,
    /// What is left of its portion.
    portion: u64,
    /// What its client may still take its time for.
    pace: Option<RateCredit>,
    /// Bytes sent since the pace was looked at.
    sent: u64,
    /// Bytes of memory that it takes.
    held: usize,
}

impl<T> Stream<T> {
    /// Whether its request has been given to the caller.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.state, State::Receiving(_))
    }
}

/// How far it is.
#[derive(Debug)]
pub(crate) enum State<T> {
    /// The request's content is awaited.
    Receiving(Box<Incoming>),
    /// The request is known to the caller, its answer is not here.
    Answering,
    /// So many bytes of the answer are left.
    Sending { content: T, left: u64 },
}

/// A request whose content is on its way.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) request: RequestHead<'static>,
    /// Length that has come.
    pub(crate) received: u64,
    /// Bytes of memory that the request takes.
    pub(crate) held: usize,
}

/// Whose turn it is to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    pub(crate) key: usize,
    urgency: usize,
    /// How many bytes it may send, at least one.
    pub most: usize,
    /// How many it may in this turn and those that follow, as the windows are now.
    pub ahead: u64,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Streams<T> {
    all: Slab<Stream<T>>,
    /// Identifiers and keys, by identifier.
    index: Vec<(u32, usize)>,
    /// By urgency: who can send, with the ticket. Whose ticket is an old one has another place.
    queues: [VecDeque<(usize, u32)>; URGENCIES],
    /// Who could send but has no bytes at hand.
    stalled: Vec<(usize, u32)>,
    next_ticket: u32,
    /// Bytes of memory that all of them take.
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

    /// Bytes of memory that the streams take, without what the caller keeps with them elsewhere.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Opens a stream. Identifiers only grow (RFC 9113 section 5.1.1).
    pub(crate) fn open(
        &mut self,
        id: u32,
        state: State<T>,
        is_whole: bool,
        window: i64,
        priority: Priority,
    ) {
        let owned = match &state {
            State::Receiving(incoming) => incoming.held + size_of::<Incoming>(),
            State::Answering | State::Sending { .. } => 0,
        };
        let held = owned + size_of::<Stream<T>>() + size_of::<(u32, usize)>();
        self.held += held;
        let key = self.all.insert(Stream {
            id,
            state,
            window,
            priority,
            is_whole,
            ticket: 0,
            is_queued: false,
            portion: 0,
            pace: None,
            sent: 0,
            held,
        });
        self.index.push((id, key));
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

    /// Closes a stream. When the last one is closed, little memory is held.
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

    /// Has a stream send when it can.
    pub(crate) fn enqueue_id(&mut self, id: u32) {
        if let Some((_, key)) = self.place(id).and_then(|place| self.index.get(place)) {
            self.enqueue(*key);
        }
    }

    fn enqueue(&mut self, key: usize) {
        let Some(stream) = self.all.get_mut(key) else {
            return;
        };
        let sends = matches!(&stream.state, State::Sending { left, .. } if *left > 0);
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

    /// Changes a priority.
    pub(crate) fn prioritise(&mut self, id: u32, priority: Priority) {
        if let Some(stream) = self.get(id)
            && stream.priority != priority
        {
            let before = std::mem::replace(&mut stream.priority, priority);
            if std::mem::take(&mut stream.is_queued) {
                let ticket = stream.ticket;
                // However often a client changes its mind, a stream has one place.
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
            if let State::Sending { .. } = stream.state {
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

    /// Whose turn it is, if at most `most` bytes may be sent at once, and `ahead` in all.
    pub(crate) fn next(&mut self, most: usize, ahead: u64) -> Option<Turn> {
        if most == 0 {
            return None;
        }
        for (urgency, queue) in self.queues.iter_mut().enumerate() {
            while let Some((key, ticket)) = queue.front().copied() {
                let stream = self.all.get_mut(key);
                let stream = stream.filter(|stream| stream.ticket == ticket && stream.is_queued);
                if let Some(stream) = stream {
                    if let State::Sending { left, .. } = &stream.state
                        && let Ok(window @ 1..) = u64::try_from(stream.window)
                    {
                        let mine = window.min(*left);
                        let most = usize::try_from(mine).unwrap_or(most).min(most);
                        let ahead = ahead.min(mine);
                        return Some(Turn {
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

    /// Whoever had this turn has no bytes at hand.
    pub(crate) fn stall(&mut self, turn: Turn) {
        let queue = self.queues.get_mut(turn.urgency);
        if let Some(entry) = queue.and_then(VecDeque::pop_front) {
            if let Some(stream) = self.all.get_mut(turn.key) {
                stream.is_queued = false;
            }
            self.stalled.push(entry);
        }
    }

    /// Lets those that had no bytes at hand try again.
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

    /// Whoever had this turn has sent `length` bytes; whether the answer is whole now.
    pub(crate) fn sent(&mut self, turn: Turn, length: usize) -> bool {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let Some(stream) = self.all.get_mut(turn.key) else {
            return false;
        };
        let State::Sending { left, .. } = &mut stream.state else {
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

    /// Closes one stream after the other, whatever its state.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Stream<T>> {
        let all = std::mem::replace(self, Streams::new()).all;
        all.into_iter().map(|(_, stream)| stream)
    }

    /// Whether any answer is awaited or on its way.
    pub(crate) fn is_answering(&self) -> bool {
        self.all.iter().any(|(_, stream)| stream.is_known())
    }

    /// Whether any answer has bytes left to send.
    pub(crate) fn is_sending(&self) -> bool {
        let sends = |stream: &Stream<T>| matches!(stream.state, State::Sending { .. });
        self.all.iter().any(|(_, stream)| sends(stream))
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
mod tests {
    use super::*;

    const FRAME: usize = 16 * 1024;

    fn priority(urgency: u8, incremental: bool) -> Priority {
        Priority {
            urgency,
            incremental,
        }
    }

    fn streams(of: &[(u32, Priority, u64)]) -> Streams<()> {
        let mut streams = Streams::new();
        for &(id, priority, left) in of {
            let state = State::Sending { content: (), left };
            streams.open(id, state, true, 1 << 30, priority);
            streams.enqueue_id(id);
        }
        streams
    }

    /// Who sends, frame by frame, until all is sent.
    fn order(streams: &mut Streams<()>) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some(turn) = streams.next(FRAME, 1 << 20) {
            let id = streams.by_key(turn.key).unwrap().id;
            order.push(id);
            if streams.sent(turn, turn.most) {
                streams.close(id);
            }
        }
        order
    }

    #[test]
    fn the_urgent_first_and_equals_in_their_order() {
        let length = 2 * FRAME as u64;
        let of = [
            (1, priority(5, false), length),
            (3, priority(3, false), length),
            (5, priority(0, false), length),
            (7, priority(3, false), length),
        ];
        assert_eq!(order(&mut streams(&of)), [5, 5, 3, 3, 7, 7, 1, 1]);
    }

    #[test]
    fn incremental_ones_alternate_and_large_ones_let_others_pass() {
        let length = 3 * FRAME as u64;
        let of = [
            (1, priority(3, true), length),
            (3, priority(3, true), length),
        ];
        assert_eq!(order(&mut streams(&of)), [1, 3, 1, 3, 1, 3]);
        let large = PORTION + 1;
        let of = [(1, priority(3, false), large), (3, priority(3, false), 1)];
        assert_eq!(order(&mut streams(&of)), [1, 1, 1, 1, 3, 1]);
    }

    #[test]
    fn a_changed_priority_moves() {
        let of = [
            (1, priority(3, false), 1),
            (3, priority(3, false), 1),
            (5, priority(4, false), 1),
        ];
        let mut streams = streams(&of);
        streams.prioritise(1, priority(7, false));
        streams.prioritise(5, priority(2, false));
        streams.prioritise(5, priority(4, false));
        streams.prioritise(5, priority(2, true));
        streams.prioritise(99, priority(0, false));
        assert_eq!(order(&mut streams), [5, 3, 1]);
        assert_eq!(streams.len(), 0);
    }

    #[test]
    fn windows_and_stalls() {
        let mut streams = streams(&[(1, priority(3, false), 10), (3, priority(3, false), 10)]);
        streams.get(1).unwrap().window = 4;
        let turn = streams.next(FRAME, 1 << 20).unwrap();
        assert_eq!((turn.key, turn.most), (0, 4));
        assert!(!streams.sent(turn, 4));
        // The first has no window left.
        let turn = streams.next(3, 1 << 20).unwrap();
        assert_eq!((turn.key, turn.most), (1, 3));
        streams.stall(turn);
        assert_eq!(streams.next(FRAME, 1 << 20), None);
        streams.unstall();
        assert_eq!(streams.next(FRAME, 1 << 20).map(|turn| turn.key), Some(1));
        assert!(streams.widen(2, 1 << 31));
        let turn = streams.next(FRAME, 1 << 20).unwrap();
        assert!(streams.sent(turn, 10));
        assert!(streams.close(3).is_some() && streams.close(3).is_none());
        assert_eq!(
            streams
                .next(FRAME, 1 << 20)
                .map(|turn| (turn.key, turn.most)),
            Some((0, 2))
        );
        assert!(!streams.widen(i64::from(u32::MAX), 1 << 31));
        assert_eq!(streams.next(0, 1 << 20), None);
        assert!(streams.is_sending());
        assert_eq!(streams.drain().count(), 1);
        assert!(!streams.is_sending() && streams.next(FRAME, 1 << 20).is_none());
    }
}
