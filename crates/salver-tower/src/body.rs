//! Bodies: the content of an answer, read as it is polled.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use salver_assets::Content;
use salver_assets::reading::Reading;

use crate::load_pool::ContentReads;

/// The bytes of a frame of content that is not in memory.
const FRAME: usize = 64 * 1024;

/// The same, as the reader knows it: hyper does not tell how much a client wants.
const AHEAD: u64 = 64 * 1024;

/// The content of an answer. What is in memory is given in one piece, without a copy; files are
/// read as the body is asked for, in pieces of 64 KiB or less.
///
/// It fails, with `InvalidData` or `UnexpectedEof`, if a file is changed while it is sent: then the
/// answer must not look whole, and servers end the connection or reset the stream.
#[derive(Default)]
pub struct Body(Inner);

#[derive(Default)]
enum Inner {
    #[default]
    Done,
    Memory(Bytes),
    Reading(Box<Reading>, ContentReads),
}

impl Body {
    pub(crate) fn new(content: Content, reads: ContentReads) -> Self {
        Body(match content {
            Content::Empty => Inner::Done,
            Content::Memory(bytes) => Inner::Memory(bytes),
            content @ (Content::File(_) | Content::Parts(_)) => {
                Inner::Reading(Box::new(Reading::new(content)), reads)
            }
        })
    }

    /// The bytes that have not been given yet.
    fn left(&self) -> u64 {
        match &self.0 {
            Inner::Done => 0,
            Inner::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Inner::Reading(reading, _) => reading.left(),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let bytes = match &mut self.0 {
            Inner::Done => return Poll::Ready(None),
            Inner::Memory(bytes) => Ok(std::mem::take(bytes)),
            Inner::Reading(reading, reads) if reading.left() > 0 => {
                let bytes = ready!(reading.poll_next(reads, context, FRAME, AHEAD));
                let ended = |bytes: &Bytes| bytes.is_empty();
                match bytes {
                    Ok(bytes) if ended(&bytes) => Err(io::ErrorKind::UnexpectedEof.into()),
                    bytes => bytes,
                }
            }
            Inner::Reading(..) => Ok(Bytes::new()),
        };
        if bytes.is_err() || self.left() == 0 {
            self.finish();
        }
        match bytes {
            Ok(bytes) if bytes.is_empty() => Poll::Ready(None),
            bytes => Poll::Ready(Some(bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

impl Body {
    fn finish(&mut self) {
        if let Inner::Reading(reading, reads) = std::mem::take(&mut self.0) {
            reading.end(&reads);
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("left", &self.left()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `BodyExt::boxed` of hyper's examples and poem ask for.
    #[test]
    fn bodies_are_sent_and_shared_between_threads() {
        fn check<T: Send + Sync + Unpin + 'static>() {}
        check::<Body>();
    }
}
