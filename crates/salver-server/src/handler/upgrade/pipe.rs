//! A bounded pipe: from who writes to an upgraded connection to the content of its response.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::Frame;

use crate::handler::content_buffer::ContentBuffer;
use crate::memory_budget::Account;

/// The bytes that are held at a time.
const MOST: usize = 64 * 1024;

struct State {
    held: ContentBuffer,
    /// True once nothing more is written.
    has_ended: bool,
    /// True once nobody takes any more.
    is_broken: bool,
    writer: Option<Waker>,
    reader: Option<Waker>,
}

type Shared = Arc<Mutex<State>>;

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pipe whose bytes are memory of this account.
pub(super) fn pipe(account: &Arc<Account>) -> (PipeBody, PipeWriter) {
    let shared = Arc::new(Mutex::new(State {
        held: ContentBuffer::new(account),
        has_ended: false,
        is_broken: false,
        writer: None,
        reader: None,
    }));
    (PipeBody(Arc::clone(&shared)), PipeWriter(shared))
}

/// The end of a pipe that is written to.
pub(super) struct PipeWriter(Shared);

impl PipeWriter {
    pub(super) fn push(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.0);
        if state.is_broken || state.has_ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(state.held.room(MOST));
        if count == 0 && !bytes.is_empty() {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.held.reserve(count, usize::MAX, MOST);
        let bytes = bytes.get(..count).unwrap_or_default();
        state.held.buffer().content.extend_from_slice(bytes);
        // What is held goes on its way in any case, and is bounded.
        let _ = state.held.count();
        let reader = state.reader.take();
        drop(state);
        wake(reader);
        Poll::Ready(Ok(count))
    }

    /// Ready when all that was written has been taken.
    pub(super) fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        if state.held.len() == 0 {
            return Poll::Ready(Ok(()));
        }
        if state.is_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ends what is written.
    pub(super) fn end(&self) {
        let mut state = lock(&self.0);
        state.has_ended = true;
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a pipe that is read, as content.
pub(super) struct PipeBody(Shared);

impl http_body::Body for PipeBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut state = lock(&self.0);
        if state.held.len() > 0 {
            let piece = state.held.take();
            let writer = state.writer.take();
            drop(state);
            wake(writer);
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if state.has_ended {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for PipeBody {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.is_broken = true;
        drop(state.held.take());
        let writer = state.writer.take();
        drop(state);
        wake(writer);
    }
}

/// Wakes a task, if there is one; without a lock, as it may be run at once.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body;
    use salver_test::Wakes;

    use super::*;
    use crate::memory_budget::MemoryBudget;

    fn new() -> (PipeBody, PipeWriter) {
        let account = MemoryBudget::new(1 << 30, 0).open(0, false).unwrap();
        pipe(&account)
    }

    /// The next piece that is there.
    fn next(body: &mut PipeBody, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let polled = Pin::new(body).poll_frame(context);
        polled.map(|polled| polled.map(|frame| frame.unwrap().into_data().unwrap()))
    }

    #[test]
    fn it_holds_no_more_than_its_bound_and_each_end_is_woken_by_the_other() {
        let (mut body, writer) = new();
        let ((reads, reader), (writes, waker)) = (Wakes::new(), Wakes::new());
        let mut reader = Context::from_waker(&reader);
        let mut context = Context::from_waker(&waker);
        assert!(next(&mut body, &mut reader).is_pending());
        let mut held = 0;
        while let Poll::Ready(written) = writer.push(&mut context, &[b'x'; 10_000]) {
            held += written.unwrap();
            assert_eq!(reads.count(), 1);
        }
        assert_eq!(held, MOST);
        assert!(writer.poll_flush(&mut context).is_pending());
        assert_eq!(writes.count(), 0);
        let taken = next(&mut body, &mut reader);
        assert!(matches!(taken, Poll::Ready(Some(piece)) if piece.len() == MOST));
        assert_eq!(writes.count(), 1);
        assert!(matches!(
            writer.poll_flush(&mut context),
            Poll::Ready(Ok(()))
        ));
        assert!(next(&mut body, &mut reader).is_pending());
        drop(writer);
        assert_eq!(reads.count(), 2);
        assert_eq!(next(&mut body, &mut reader), Poll::Ready(None));
    }

    #[test]
    fn what_was_written_before_the_end_is_read_and_nothing_is_written_behind_it() {
        let (mut body, writer) = new();
        let mut context = Context::from_waker(Waker::noop());
        let mut write = |bytes: &[u8]| writer.push(&mut context, bytes);
        assert!(matches!(write(b"last"), Poll::Ready(Ok(4))));
        writer.end();
        assert!(matches!(write(b"later"), Poll::Ready(Err(_))));
        let last = next(&mut body, &mut context);
        assert_eq!(last, Poll::Ready(Some(Bytes::from_static(b"last"))));
        assert_eq!(next(&mut body, &mut context), Poll::Ready(None));
    }

    #[test]
    fn a_writer_whose_reader_has_gone_fails() {
        let (body, writer) = new();
        let (writes, waker) = Wakes::new();
        let mut context = Context::from_waker(&waker);
        while writer.push(&mut context, &[b'x'; 10_000]).is_ready() {}
        drop(body);
        assert_eq!(writes.count(), 1);
        assert!(matches!(
            writer.push(&mut context, b"x"),
            Poll::Ready(Err(_))
        ));
        assert!(matches!(
            writer.poll_flush(&mut context),
            Poll::Ready(Ok(()))
        ));
    }
}
