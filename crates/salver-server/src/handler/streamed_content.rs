//! Streamed content as it is sent: piece by piece, as long as its head says, and no handler's panic ends the loop.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use salver_semantics::message::may_be_trailer;

use super::body::{BodyError, StreamedBody};
use crate::memory_budget::{Account, Charge};

/// The empty frames that a body may give in a row before others have their turn.
const MOST_EMPTY: usize = 32;

/// The content of an answer that its handler streams.
pub(crate) struct StreamedContent {
    /// The body, until it has ended.
    body: Option<StreamedBody>,
    /// The bytes that are left, if the head says how many there are.
    left: Option<u64>,
    /// A piece that was polled and not given yet.
    piece: Bytes,
    /// The memory of that, once it is known whose it is.
    charge: Option<Charge>,
    /// The trailers, once they have come.
    trailers: Option<HeaderMap>,
}

/// The lines of a trailer section.
pub(crate) type TrailerLines = Vec<(String, Bytes)>;

/// The next of some content.
#[derive(Debug)]
pub(crate) enum NextPiece {
    /// Some bytes, and true if nothing follows them.
    Content(Bytes, bool),
    /// The end, with trailers or without.
    End(Option<TrailerLines>),
}

/// The error of content that does not become what its head says.
#[derive(Debug)]
enum StreamError {
    Failed(BodyError),
    Panicked,
    TooShort,
    TooLong,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Failed(error) => {
                write!(f, "the content of a handler's answer failed: {error}")
            }
            StreamError::Panicked => f.write_str("the content of a handler's answer panicked"),
            StreamError::TooShort => {
                f.write_str("the content of a handler's answer is shorter than its Content-Length")
            }
            StreamError::TooLong => {
                f.write_str("the content of a handler's answer is longer than its Content-Length")
            }
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StreamError::Failed(error) => Some(&**error),
            StreamError::Panicked | StreamError::TooShort | StreamError::TooLong => None,
        }
    }
}

/// True if this is the error of a handler's content.
pub(crate) fn is_of_handler(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|error| error.is::<StreamError>())
}

impl StreamedContent {
    /// The content of this body, which has `length` bytes if the head says so.
    pub(super) fn new(body: StreamedBody, length: Option<u64>) -> Self {
        StreamedContent {
            body: Some(body),
            left: length,
            piece: Bytes::new(),
            charge: None,
            trailers: None,
        }
    }

    /// Counts what is polled and not given as memory of this account.
    pub(crate) fn charge_to(&mut self, account: &Arc<Account>) {
        self.charge = Some(account.charge(self.piece.len()));
    }

    /// Counts the memory of the piece.
    fn count(&mut self) {
        if let Some(charge) = &mut self.charge {
            charge.set(self.piece.len());
        }
    }

    /// The bytes that are left, if the head says how many there are.
    pub(crate) fn left(&self) -> Option<u64> {
        self.left
    }

    /// True if all has been given that the head says, so that only trailers or an error can follow.
    pub(crate) fn is_complete(&self) -> bool {
        self.left == Some(0) && self.piece.is_empty()
    }

    /// All of the content, if it is here already and has at most `most` bytes and no trailers; otherwise nothing is
    /// lost.
    ///
    /// # Errors
    /// As [`poll_next`](Self::poll_next), before anything was sent.
    pub(super) fn take_whole(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> io::Result<Option<Bytes>> {
        if let Poll::Ready(polled) = self.poll_piece(context) {
            polled.map_err(io::Error::other)?;
        }
        let is_whole = self.body.is_none() && self.trailers.is_none() && self.piece.len() <= most;
        Ok(is_whole.then(|| std::mem::take(&mut self.piece)))
    }

    /// The next bytes, at most `most` of them, which is not 0, or the end.
    ///
    /// # Errors
    /// The content is not what the head says, and the answer cannot become whole.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<io::Result<NextPiece>> {
        if self.piece.is_empty() {
            ready!(self.poll_piece(context)).map_err(io::Error::other)?;
        }
        if self.piece.is_empty() {
            let trailers = self.trailers.take();
            return Poll::Ready(Ok(NextPiece::End(trailers.and_then(trailer_fields))));
        }
        let piece = match self.piece.len() > most {
            true => self.piece.split_to(most),
            false => std::mem::take(&mut self.piece),
        };
        if self.is_complete() {
            // The client may give no window for an end that it knows already.
            if let Poll::Ready(Err(error)) = self.poll_piece(context) {
                return Poll::Ready(Err(io::Error::other(error)));
            }
        }
        self.count();
        let is_last = self.piece.is_empty() && self.body.is_none() && self.trailers.is_none();
        Poll::Ready(Ok(NextPiece::Content(piece, is_last)))
    }

    /// The end with its trailers, if nothing comes before it.
    ///
    /// # Errors
    /// As [`poll_next`](Self::poll_next).
    pub(crate) fn poll_end(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<TrailerLines>>> {
        if self.piece.is_empty() {
            ready!(self.poll_piece(context)).map_err(io::Error::other)?;
            self.count();
        }
        match self.piece.is_empty() {
            true => Poll::Ready(Ok(self.trailers.take().and_then(trailer_fields))),
            false => Poll::Pending,
        }
    }

    /// Polls until there is a piece, or the body has ended. What a body gives behind its trailers is dropped.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        let mut empty = 0;
        while self.piece.is_empty()
            && let Some(body) = &mut self.body
        {
            if empty == MOST_EMPTY {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            empty += 1;
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let polled = body.as_mut().poll_any(context);
                (polled, body.has_ended())
            }));
            let Ok((polled, has_ended)) = polled else {
                self.drop_body();
                return Poll::Ready(Err(StreamError::Panicked));
            };
            match ready!(polled) {
                None => self.drop_body(),
                Some(Err(error)) => {
                    self.drop_body();
                    return Poll::Ready(Err(StreamError::Failed(error)));
                }
                Some(Ok(frame)) => {
                    match frame.into_data() {
                        Ok(piece) => self.piece = piece,
                        Err(frame) => {
                            self.trailers = frame.into_trailers().ok();
                            self.drop_body();
                        }
                    }
                    if has_ended {
                        self.drop_body();
                    }
                }
            }
            let length = u64::try_from(self.piece.len()).unwrap_or(u64::MAX);
            if let Some(left) = &mut self.left {
                *left = match left.checked_sub(length) {
                    None => return Poll::Ready(Err(StreamError::TooLong)),
                    Some(left @ 1..) if self.body.is_none() => {
                        self.left = Some(left);
                        return Poll::Ready(Err(StreamError::TooShort));
                    }
                    Some(left) => left,
                };
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Drops the body. A panic of its end no longer matters.
    fn drop_body(&mut self) {
        let body = self.body.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
    }
}

impl Drop for StreamedContent {
    fn drop(&mut self) {
        self.drop_body();
    }
}

/// The trailer fields that are sent; `None` if there are none.
fn trailer_fields(trailers: HeaderMap) -> Option<TrailerLines> {
    let all = trailers.iter();
    let may = all.filter(|(name, _)| may_be_trailer(name.as_str()));
    let fields = may.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().to_owned(), value)
    });
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests;
