//! The content of a request as a stream, as a handler is given it.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::content_channel::{Channel, ContentEnd, ContentWatch, wake};

/// The content of a request, as it is received: an [`http_body::Body`] of [`Bytes`], with the trailers if there are any.
///
/// The client sends no more than 64 KiB that were not taken: what is not polled is not received. What was taken counts
/// as memory of the connection ([`Settings::connection_memory`](crate::Settings::connection_memory)) until it is dropped.
/// A client that waits for `100 Continue` is sent that when the content is first polled.
///
/// It fails with an [`io::Error`], once and at its end, after which the request has no answer any more: `ConnectionAborted` if the client went
/// away or the request has been answered, `TimedOut` if it sent less than
/// [`min_rate`](crate::Settings::min_rate) for [`idle_timeout`](crate::Settings::idle_timeout) while it was waited for and
/// no answer had begun, `InvalidData` if the
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
    Incoming {
        channel: Arc<Channel>,
        /// True once its error has been given, behind which there is nothing: who passes over errors comes to an end.
        has_failed: bool,
    },
}

impl Default for Inner {
    fn default() -> Self {
        Inner::Whole(Bytes::new())
    }
}

impl RequestBody {
    /// The content that comes through this channel.
    pub(super) fn incoming(channel: Arc<Channel>) -> Self {
        RequestBody(Inner::Incoming {
            channel,
            has_failed: false,
        })
    }

    /// The content for another handler, which is asked after this one: what that leaves.
    pub(super) fn for_next(&self) -> Self {
        match &self.0 {
            Inner::Whole(bytes) => RequestBody(Inner::Whole(bytes.clone())),
            Inner::Incoming { channel, .. } => {
                channel.lock().readers += 1;
                RequestBody::incoming(Arc::clone(channel))
            }
        }
    }

    /// A watch, if the content is not here already.
    pub(crate) fn watch(&self) -> Option<ContentWatch> {
        match &self.0 {
            Inner::Whole(_) => None,
            Inner::Incoming { channel, .. } => Some(ContentWatch::new(channel)),
        }
    }

    /// All of the content. The next handler is given all of it, too.
    ///
    /// # Errors
    /// As when it is polled.
    pub(super) async fn collect(self) -> io::Result<Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Ok(bytes.clone()),
            Inner::Incoming { channel, .. } => poll_fn(|context| channel.poll_whole(context)).await,
        }
    }

    /// Lets the client send whenever it wants: in another protocol.
    pub(super) fn owe_nothing(&self) {
        if let Inner::Incoming { channel, .. } = &self.0 {
            channel.lock().owes_nothing = true;
        }
    }

    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let (channel, has_failed) = match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Inner::Whole(bytes) => {
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))));
            }
            Inner::Incoming {
                has_failed: true, ..
            } => return Poll::Ready(None),
            Inner::Incoming {
                channel,
                has_failed,
            } => (channel, has_failed),
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
                    *has_failed = true;
                    Poll::Ready(Some(Err(io::Error::new(*kind, *why))))
                }
            };
            if polled.is_pending() {
                state.waits = true;
                state.handler = Some(context.waker().clone());
            } else {
                state.given = Instant::now();
            }
            (polled, is_first || state.is_full)
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
            Inner::Incoming {
                has_failed: true, ..
            } => true,
            Inner::Incoming { channel, .. } => {
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
            Inner::Incoming { channel, .. } => {
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
        let Inner::Incoming { channel, .. } = &self.0 else {
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
