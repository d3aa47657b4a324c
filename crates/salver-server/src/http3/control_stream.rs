//! The server's own control stream (RFC 9114 section 6.2.1).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use quinn::SendStream;

/// The stream of the server's SETTINGS and GOAWAY.
pub(super) struct ControlStream {
    stream: RefCell<SendStream>,
    /// True if a frame was written only in part: then no other can follow.
    is_broken: Cell<bool>,
}

impl ControlStream {
    /// Opens the stream. `None` if the client does not allow it (RFC 9114 section 6.2 asks for at least three
    /// streams).
    pub(super) fn open(quic: &quinn::Connection) -> Option<Self> {
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(stream)) = pin!(quic.open_uni()).poll(&mut context) else {
            return None;
        };
        Some(ControlStream {
            stream: RefCell::new(stream),
            is_broken: Cell::new(false),
        })
    }

    /// Writes `bytes`; `false` if the client has no room for them, for which RFC 9114 section 6.2 asks.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        if self.is_broken.get() {
            return false;
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut stream = self.stream.borrow_mut();
        let written = pin!(stream.write_all(bytes)).poll(&mut context);
        let is_whole = matches!(written, Poll::Ready(Ok(())));
        self.is_broken.set(!is_whole);
        is_whole
    }

    /// True if there is room to send on the connection; if not, the task is woken when there is. QUIC does not tell
    /// why another stream has no room, but writing nothing to this one, whose own window is never used up, finds none
    /// only if there is none on the whole connection.
    pub(super) fn connection_has_room(&self, context: &mut Context<'_>) -> bool {
        let mut stream = self.stream.borrow_mut();
        pin!(stream.write(&[])).poll(context).is_ready()
    }
}
