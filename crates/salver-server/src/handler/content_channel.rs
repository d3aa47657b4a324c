//! The channel from a connection to the handler of a request: what was received of its content and not taken yet.
//!
//! ```text
//! socket ──► ContentSender ──► one buffer ──► RequestBody ──► handler
//!    ▲            room: the client may send more ◄── taken
//!    └── nothing is read, no window is given back, while there is none
//! ```

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use salver_http1::BodyBuffer;

use super::content_buffer::{ContentBuffer, MemoryExhausted};
use crate::memory_budget::Account;

/// The bytes of one request's content that are received before the handler takes them.
pub(super) const MOST: usize = 64 * 1024;

/// The channel from a connection to a handler.
pub(super) struct Channel(Mutex<ChannelState>);

pub(super) struct ChannelState {
    pub(super) received: ContentBuffer,
    /// Content that a handler has taken and left to the next one.
    pub(super) rewound: Bytes,
    pub(super) end: ContentEnd,
    /// The bytes still to come, if the client has announced them.
    pub(super) left: Option<u64>,
    /// The bytes that were taken since the connection last looked.
    pub(super) taken: usize,
    /// The handlers that may still take some.
    pub(super) readers: usize,
    /// True once a handler has asked for content.
    pub(super) is_asked_for: bool,
    /// True while a handler waits for content.
    pub(super) waits: bool,
    /// True while nothing is received, as there is no room.
    pub(super) is_full: bool,
    /// True while a handler waits for all of it: then it stays in the buffer, however much it is.
    pub(super) is_collected: bool,
    /// True if the client need not send any, however long it is waited for.
    pub(super) owes_nothing: bool,
    /// The time at which a handler was last given content.
    pub(super) given: Instant,
    /// The task of the handler that waits.
    pub(super) handler: Option<Waker>,
    pub(super) connection: Option<Waker>,
}

/// The end of content, as far as it is known.
pub(super) enum ContentEnd {
    Open,
    Whole(Option<HeaderMap>),
    Failed(io::ErrorKind, &'static str),
}

impl Channel {
    pub(super) fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that is left of the content, once it is whole.
    pub(super) fn poll_whole(&self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut state = self.lock();
        let result = match state.end {
            ContentEnd::Open => {
                let mut waker = None;
                if !state.is_collected {
                    state.is_collected = true;
                    state.is_asked_for = true;
                    state.taken = state.taken.saturating_add(state.received.len());
                    waker = state.connection.take();
                }
                state.waits = true;
                state.handler = Some(context.waker().clone());
                drop(state);
                wake(waker);
                return Poll::Pending;
            }
            ContentEnd::Failed(kind, why) => Err(io::Error::new(kind, why)),
            ContentEnd::Whole(_) => {
                if state.rewound.is_empty() {
                    state.rewound = state.received.take();
                }
                Ok(state.rewound.clone())
            }
        };
        state.is_collected = false;
        state.given = Instant::now();
        Poll::Ready(result)
    }
}

/// Wakes a task, if there is one; without a lock, as it may be run at once.
pub(super) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The connection's end of a request's content. When it is dropped before the content is whole, that has failed.
pub(crate) struct ContentSender(Arc<Channel>);

impl ContentSender {
    /// A channel for content of `length` bytes, if that is announced, as memory of this account; its ends.
    pub(super) fn new(account: &Arc<Account>, length: Option<u64>) -> (Self, Arc<Channel>) {
        let channel = Arc::new(Channel(Mutex::new(ChannelState {
            received: ContentBuffer::new(account),
            rewound: Bytes::new(),
            end: ContentEnd::Open,
            left: length,
            taken: 0,
            readers: 1,
            is_asked_for: false,
            waits: false,
            is_full: false,
            is_collected: false,
            owes_nothing: false,
            given: Instant::now(),
            handler: None,
            connection: None,
        })));
        (ContentSender(Arc::clone(&channel)), channel)
    }

    /// The bytes that may be received now. If there are none, the task is woken when there are.
    pub(crate) fn room(&self, account: &Account, context: &Context<'_>) -> usize {
        let mut state = self.0.lock();
        let room = match state.is_collected || state.waits {
            // Some in any case: what finds no memory is refused.
            true => account.room_up_to(MOST),
            // A handler that has something to do may give memory back by that.
            false => state.received.room_left(MOST),
        };
        state.is_full = room == 0;
        if state.is_full {
            state.connection = Some(context.waker().clone());
        }
        room
    }

    /// Appends content by `append`, at most `most` bytes; also returns how many it was.
    pub(super) fn receive<R>(
        &self,
        most: usize,
        append: impl FnOnce(&mut BodyBuffer) -> R,
    ) -> (R, usize, Result<(), MemoryExhausted>) {
        let mut state = self.0.lock();
        let before = state.received.len();
        // Of what was received some may be the next request.
        let left = state
            .left
            .map(|left| usize::try_from(left).unwrap_or(usize::MAX));
        let to_come = left.map_or(usize::MAX, |left| left.saturating_sub(before));
        let in_all = if state.is_collected { usize::MAX } else { MOST };
        state.received.reserve(most.min(to_come), to_come, in_all);
        let result = append(state.received.buffer());
        let more = state.received.len() - before;
        if state.readers == 0 {
            // Before it counts: what nobody wants needs no memory.
            drop(state.received.take());
        }
        let counted = state.received.count();
        let mut waker = None;
        if state.is_collected {
            // The client may send as much more.
            state.taken = state.taken.saturating_add(more);
        } else if more > 0 {
            state.waits = false;
            waker = state.handler.take();
        }
        drop(state);
        wake(waker);
        (result, more, counted)
    }

    /// Takes out the trailer section that was received.
    pub(crate) fn take_trailers(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().received.buffer().trailers)
    }

    /// Ends the content.
    pub(crate) fn finish(&self, trailers: Option<HeaderMap>) {
        self.end(ContentEnd::Whole(trailers));
    }

    /// Ends the content, which is not whole.
    pub(crate) fn fail(&self, kind: io::ErrorKind, why: &'static str) {
        self.end(ContentEnd::Failed(kind, why));
    }

    fn end(&self, end: ContentEnd) {
        let mut state = self.0.lock();
        if let ContentEnd::Open = state.end {
            state.end = end;
            state.waits = false;
        }
        let waker = state.handler.take();
        drop(state);
        wake(waker);
    }

    /// True if the content has ended.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.0.lock().end, ContentEnd::Open)
    }

    /// The bytes that were taken since the last call. The task is woken when there are more.
    pub(crate) fn taken(&self, context: &Context<'_>) -> usize {
        let mut state = self.0.lock();
        state.connection = Some(context.waker().clone());
        std::mem::take(&mut state.taken)
    }

    /// True once the content has been asked for; if not, the task is woken when it is.
    pub(crate) fn is_asked_for(&self, context: &Context<'_>) -> bool {
        let mut state = self.0.lock();
        if !state.is_asked_for {
            state.connection = Some(context.waker().clone());
        }
        state.is_asked_for
    }

    /// Lets the client send whenever it wants: the answer has begun. True if a handler has asked for content.
    pub(super) fn begin_answer(&self) -> bool {
        let mut state = self.0.lock();
        state.owes_nothing = true;
        state.is_asked_for
    }

    /// True while a handler waits for the client, which has to send.
    pub(crate) fn waits(&self) -> bool {
        let state = self.0.lock();
        state.waits && state.readers > 0 && !state.owes_nothing
    }

    /// True if nobody will take any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.0.lock().readers == 0
    }
}

impl Drop for ContentSender {
    fn drop(&mut self) {
        let why = "the request is over, or its client has gone away";
        self.fail(io::ErrorKind::ConnectionAborted, why);
    }
}

/// A look at how far the handler of some content has come.
#[derive(Clone)]
pub(crate) struct ContentWatch(Arc<Channel>);

impl ContentWatch {
    pub(super) fn new(channel: &Arc<Channel>) -> Self {
        ContentWatch(Arc::clone(channel))
    }

    /// Notes that the task of a handler goes on: one that waited for the client has something else to do, unless it asks
    /// for content again.
    pub(super) fn go_on(&self, context: &Context<'_>) {
        let mut state = self.0.lock();
        // Another task, to which the handler has given the content, waits still.
        let is_same = |handler: &Waker| handler.will_wake(context.waker());
        if state.waits && state.handler.as_ref().is_some_and(is_same) {
            state.waits = false;
            state.given = Instant::now();
        }
    }

    /// The time since which the handler has had something to do; now if it waits for the client.
    pub(crate) fn busy_since(&self) -> Instant {
        let state = self.0.lock();
        match state.waits {
            true => Instant::now(),
            false => state.given,
        }
    }
}
