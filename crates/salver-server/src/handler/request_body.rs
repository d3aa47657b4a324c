//! The content of a request as a stream: what the connection receives of it, and what a handler has taken.
//!
//! ```text
//! socket ──► ContentSender ──► one buffer ──► RequestBody ──► handler
//!    ▲            room: the client may send more ◄── taken
//!    └── nothing is read, no window is given back, while there is none
//! ```

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use salver_http1::BodyBuffer;

use super::content_buffer::{ContentBuffer, MemoryExhausted};
use crate::memory_budget::Account;

/// The bytes of one request's content that are received before the handler takes them.
const MOST: usize = 64 * 1024;

/// The content of a request, as it is received: an [`http_body::Body`] of [`Bytes`], with the trailers if there are any.
///
/// The client sends no more than 64 KiB that were not taken: what is not polled is not received. What was taken counts
/// as memory of the connection ([`Settings::connection_memory`](crate::Settings::connection_memory)) until it is dropped.
/// A client that waits for `100 Continue` is sent that when the content is first polled.
///
/// It fails with an [`io::Error`], after which the request has no answer any more: `ConnectionAborted` if the client went
/// away or the request has been answered, `TimedOut` if it sent less than
/// [`min_rate`](crate::Settings::min_rate) for [`idle_timeout`](crate::Settings::idle_timeout), `InvalidData` if the
/// content is malformed or longer than [`max_body`](crate::Settings::max_body), `OutOfMemory` if there is none for it.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use http_body::Body;
/// use salver_server::RequestBody;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let mut content = RequestBody::from("for tests of handlers");
/// let mut length = 0;
/// while let Some(frame) = poll_fn(|context| Pin::new(&mut content).poll_frame(context)).await {
///     length += frame?.data_ref().map_or(0, |piece| piece.len());
/// }
/// assert_eq!(length, 21);
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Default)]
pub struct RequestBody(Inner);

enum Inner {
    Whole(Bytes),
    Incoming(Arc<Channel>),
}

impl Default for Inner {
    fn default() -> Self {
        Inner::Whole(Bytes::new())
    }
}

/// The channel from a connection to a handler.
struct Channel(Mutex<ChannelState>);

struct ChannelState {
    received: ContentBuffer,
    /// Content that a handler has taken and left to the next one.
    rewound: Bytes,
    end: ContentEnd,
    /// The bytes still to come, if the client has announced them.
    left: Option<u64>,
    /// The bytes that were taken since the connection last looked.
    taken: usize,
    /// The handlers that may still take some.
    readers: usize,
    /// True once a handler has asked for content.
    is_asked_for: bool,
    /// True while a handler waits for content.
    waits: bool,
    /// True while a handler waits for all of it: then it stays in the buffer, however much it is.
    is_collected: bool,
    /// True if the client need not send any, however long it is waited for.
    owes_nothing: bool,
    /// The time at which a handler was last given content.
    given: Instant,
    handler: Option<Waker>,
    connection: Option<Waker>,
}

/// The end of content, as far as it is known.
enum ContentEnd {
    Open,
    Whole(Option<HeaderMap>),
    Failed(io::ErrorKind, &'static str),
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that is left of the content, once it is whole.
    fn poll_whole(&self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
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
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The connection's end of a request's content. When it is dropped before the content is whole, that has failed.
pub(crate) struct ContentSender(Arc<Channel>);

impl ContentSender {
    /// A channel for content of `length` bytes, if that is announced, as memory of this account.
    pub(crate) fn new(account: &Arc<Account>, length: Option<u64>) -> (Self, RequestBody) {
        let channel = Arc::new(Channel(Mutex::new(ChannelState {
            received: ContentBuffer::new(account),
            rewound: Bytes::new(),
            end: ContentEnd::Open,
            left: length,
            taken: 0,
            readers: 1,
            is_asked_for: false,
            waits: false,
            is_collected: false,
            owes_nothing: false,
            given: Instant::now(),
            handler: None,
            connection: None,
        })));
        let body = RequestBody(Inner::Incoming(Arc::clone(&channel)));
        (ContentSender(channel), body)
    }

    /// The bytes that may be received now. If there are none, the task is woken when there are.
    pub(crate) fn room(&self, account: &Account, context: &Context<'_>) -> usize {
        let mut state = self.0.lock();
        let room = match state.is_collected {
            // Some in any case: what finds no memory is refused.
            true => account.room_up_to(MOST),
            false => state.received.room(MOST),
        };
        if room == 0 {
            state.connection = Some(context.waker().clone());
        }
        room
    }

    /// Appends content by `append`, at most so many bytes.
    pub(crate) fn receive<R>(
        &self,
        most: usize,
        append: impl FnOnce(&mut BodyBuffer) -> R,
    ) -> (R, Result<(), MemoryExhausted>) {
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
        let counted = state.received.count();
        let mut waker = None;
        if state.readers == 0 {
            drop(state.received.take());
        } else if state.is_collected {
            // The client may send as much more.
            state.taken = state.taken.saturating_add(more);
        } else if more > 0 {
            state.waits = false;
            waker = state.handler.take();
        }
        drop(state);
        wake(waker);
        (result, counted)
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
pub(crate) struct ContentWatch(Arc<Channel>);

impl ContentWatch {
    /// The time since which the handler has had something to do; now if it waits for the client.
    pub(crate) fn busy_since(&self) -> Instant {
        let state = self.0.lock();
        match state.waits {
            true => Instant::now(),
            false => state.given,
        }
    }
}

impl RequestBody {
    /// The content for another handler, which is asked after this one: what that leaves.
    pub(super) fn for_next(&self) -> Self {
        RequestBody(match &self.0 {
            Inner::Whole(bytes) => Inner::Whole(bytes.clone()),
            Inner::Incoming(channel) => {
                channel.lock().readers += 1;
                Inner::Incoming(Arc::clone(channel))
            }
        })
    }

    /// A watch, if the content is not here already.
    pub(crate) fn watch(&self) -> Option<ContentWatch> {
        match &self.0 {
            Inner::Whole(_) => None,
            Inner::Incoming(channel) => Some(ContentWatch(Arc::clone(channel))),
        }
    }

    /// All of the content. The next handler is given all of it, too.
    ///
    /// # Errors
    /// As when it is polled.
    pub(super) async fn collect(self) -> io::Result<Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Ok(bytes.clone()),
            Inner::Incoming(channel) => poll_fn(|context| channel.poll_whole(context)).await,
        }
    }

    /// Lets the client send whenever it wants: in another protocol.
    pub(super) fn owe_nothing(&self) {
        if let Inner::Incoming(channel) = &self.0 {
            channel.lock().owes_nothing = true;
        }
    }

    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let channel = match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Inner::Whole(bytes) => {
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))));
            }
            Inner::Incoming(channel) => channel,
        };
        let mut state = channel.lock();
        let is_first = !std::mem::replace(&mut state.is_asked_for, true);
        if !state.rewound.is_empty() {
            let again = std::mem::take(&mut state.rewound);
            return Poll::Ready(Some(Ok(Frame::data(again))));
        }
        let (polled, wakes) = if state.received.len() > 0 {
            let piece = state.received.take();
            state.taken = state.taken.saturating_add(piece.len());
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            state.left = state.left.map(|left| left.saturating_sub(length));
            state.given = Instant::now();
            (Poll::Ready(Some(Ok(Frame::data(piece)))), true)
        } else {
            let polled = match &mut state.end {
                ContentEnd::Open => Poll::Pending,
                ContentEnd::Whole(trailers) => Poll::Ready(
                    trailers
                        .take()
                        .map(|trailers| Ok(Frame::trailers(trailers))),
                ),
                ContentEnd::Failed(kind, why) => {
                    Poll::Ready(Some(Err(io::Error::new(*kind, *why))))
                }
            };
            if polled.is_pending() {
                state.waits = true;
                state.handler = Some(context.waker().clone());
            } else {
                state.given = Instant::now();
            }
            (polled, is_first)
        };
        let waker = if wakes { state.connection.take() } else { None };
        drop(state);
        wake(waker);
        polled
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.poll(context)
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole(bytes) => bytes.is_empty(),
            Inner::Incoming(channel) => {
                let state = channel.lock();
                let is_taken = state.received.len() == 0 && state.rewound.is_empty();
                is_taken && matches!(state.end, ContentEnd::Whole(None))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        let exact = |bytes: &Bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(exact(bytes)),
            Inner::Incoming(channel) => {
                let state = channel.lock();
                match (state.rewound.is_empty(), state.left) {
                    (false, _) => SizeHint::with_exact(exact(&state.rewound)),
                    (true, Some(left)) => SizeHint::with_exact(left),
                    (true, None) => SizeHint::default(),
                }
            }
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Inner::Incoming(channel) = &self.0 else {
            return;
        };
        let mut state = channel.lock();
        state.readers = state.readers.saturating_sub(1);
        state.waits = false;
        state.is_collected = false;
        let mut waker = None;
        if state.readers == 0 {
            state.rewound = Bytes::new();
            drop(state.received.take());
            waker = state.connection.take();
        }
        drop(state);
        wake(waker);
    }
}

impl<B: Into<Bytes>> From<B> for RequestBody {
    fn from(content: B) -> Self {
        RequestBody(Inner::Whole(content.into()))
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = http_body::Body::size_hint(self);
        f.debug_struct("RequestBody")
            .field("left", &hint.exact())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
