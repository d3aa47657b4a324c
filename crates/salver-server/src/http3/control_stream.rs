//! The server's own control stream (RFC 9114 section 6.2.1).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use quinn::SendStream;

/// The stream on which this side says what concerns the connection.
pub(super) struct ControlStream {
    stream: RefCell<SendStream>,
    /// Whether something was said only in part: then nothing can follow.
    is_broken: Cell<bool>,
}

impl ControlStream {
    /// Opens the stream. `None` if the client has no room for it (RFC 9114 section 6.2 asks for at least three
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

    /// Says `bytes`, if the client has room for them, which is asked for by RFC 9114 section 6.2; `false` if
    /// it has not.
    pub(super) fn say(&self, bytes: &[u8]) -> bool {
        if self.is_broken.get() {
            return false;
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut stream = self.stream.borrow_mut();
        let said = pin!(stream.write_all(bytes)).poll(&mut context);
        let is_said = matches!(said, Poll::Ready(Ok(())));
        self.is_broken.set(!is_said);
        is_said
    }

    /// Whether QUIC takes anything at all on this connection at the moment; if not, the task is woken when it
    /// does. Nobody says so of another stream, but writing nothing to this one, whose own window is never used
    /// up, finds no room only if there is none on the whole connection.
    pub(super) fn connection_has_room(&self, context: &mut Context<'_>) -> bool {
        let mut stream = self.stream.borrow_mut();
        pin!(stream.write(&[])).poll(context).is_ready()
    }
}
