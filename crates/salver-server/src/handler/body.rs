//! The content of a handler's response: whole, or streamed.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};

use super::upgrade_kind::UpgradeKind;

/// The content of a handler's response: whole - anything that is [`Into<Bytes>`](Bytes) - or streamed.
///
/// Streamed content is polled when the client can take more, on the loop of its connection, and dropped when the client
/// has gone away. Each frame is sent as soon as it is there. If it fails, panics, or has not the length that the response
/// says, the answer is cut short in such a way that the client notices: no further byte is sent, and the connection (over
/// HTTP/1.1) or the stream is reset.
///
/// ```
/// use std::convert::Infallible;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use bytes::Bytes;
/// use http::Response;
/// use http_body::Frame;
/// use salver_server::{Body, Reply};
///
/// /// Counts down, a line at a time.
/// struct CountDown(u32);
///
/// impl http_body::Body for CountDown {
///     type Data = Bytes;
///     type Error = Infallible;
///
///     fn poll_frame(
///         mut self: Pin<&mut Self>,
///         _: &mut Context<'_>,
///     ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
///         let Some(next) = self.0.checked_sub(1) else { return Poll::Ready(None) };
///         self.0 = next;
///         Poll::Ready(Some(Ok(Frame::data(format!("{next}\n").into()))))
///     }
/// }
///
/// let streamed: Reply = Response::new(Body::new(CountDown(10))).into();
/// let whole: Reply = Response::new("lift-off\n").into();
/// ```
pub struct Body(BodyKind);

pub(super) enum BodyKind {
    Whole(Bytes),
    Streamed(StreamedBody),
    /// What is sent in the protocol to which a connection is upgraded.
    Upgraded(UpgradeKind, StreamedBody),
}

/// A streamed body without its type.
pub(super) type StreamedBody = Pin<Box<dyn AnyBody + Send>>;

/// The error of a body of any type.
pub(super) type BodyError = Box<dyn Error + Send + Sync>;

/// Any [`http_body::Body`].
pub(super) trait AnyBody {
    fn poll_any(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>>;

    fn has_ended(&self) -> bool;

    fn length(&self) -> SizeHint;
}

impl<B> AnyBody for B
where
    B: http_body::Body,
    B::Error: Into<BodyError>,
{
    fn poll_any(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = |frame: Frame<B::Data>| {
            // Data that is `Bytes` is not copied.
            frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
        };
        let polled = self.poll_frame(context);
        polled.map(|polled| polled.map(|polled| polled.map(frame).map_err(Into::into)))
    }

    fn has_ended(&self) -> bool {
        self.is_end_stream()
    }

    fn length(&self) -> SizeHint {
        self.size_hint()
    }
}

impl Body {
    /// Streamed content: its frames, its trailers, and its length if [`size_hint`](http_body::Body::size_hint) is exact.
    /// Over HTTP/1.1 trailers are sent to clients that say `TE: trailers`; fields that may not be trailers (RFC 9110
    /// section 6.5.1) are left out.
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Body(BodyKind::Streamed(Box::pin(body)))
    }

    /// What is sent behind a response that accepts an upgrade of this kind.
    pub(super) fn upgraded<B>(kind: UpgradeKind, body: B) -> Self
    where
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Body(BodyKind::Upgraded(kind, Box::pin(body)))
    }

    /// The content, if it is whole.
    pub fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            BodyKind::Whole(bytes) => Some(bytes),
            BodyKind::Streamed(_) | BodyKind::Upgraded(..) => None,
        }
    }

    pub(super) fn into_kind(self) -> BodyKind {
        self.0
    }
}

impl Default for Body {
    fn default() -> Self {
        Body(BodyKind::Whole(Bytes::new()))
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(content: B) -> Self {
        Body(BodyKind::Whole(content.into()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            BodyKind::Whole(bytes) => f.debug_tuple("Whole").field(&bytes.len()).finish(),
            BodyKind::Streamed(_) => f.write_str("Streamed"),
            BodyKind::Upgraded(..) => f.write_str("Upgraded"),
        }
    }
}
