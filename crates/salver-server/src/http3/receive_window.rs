//! The receive window of a connection: the bytes that its client may send on all streams before they are read.
//!
//! Content that a handler does not take yet lies unread, and takes that part of the window away from all other streams of the
//! connection: heads of requests could not come any more. So each stream that may hold so much is lent as much beside it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use quinn::VarInt;

use crate::memory_budget::{Account, Charge};

/// The receive window of one connection.
pub(super) struct ReceiveWindow {
    quic: quinn::Connection,
    bytes: Cell<u32>,
}

/// Bytes by which a receive window is larger, for as long as this is there.
pub(super) struct WindowLoan {
    window: Rc<ReceiveWindow>,
    bytes: u32,
    /// The memory that QUIC may need for them.
    _charge: Charge,
}

impl ReceiveWindow {
    /// The window of a connection that has begun with so many bytes.
    pub(super) fn new(quic: &quinn::Connection, bytes: u32) -> Rc<Self> {
        Rc::new(ReceiveWindow {
            quic: quic.clone(),
            bytes: Cell::new(bytes),
        })
    }

    /// Makes the window larger by so many bytes, if the account has room for them and for `besides`.
    pub(super) fn widen(
        self: &Rc<Self>,
        bytes: u32,
        besides: u32,
        account: &Arc<Account>,
    ) -> Option<WindowLoan> {
        let room = account.room();
        if room < u64::from(bytes) + u64::from(besides) {
            return None;
        }
        self.set(self.bytes.get().saturating_add(bytes));
        Some(WindowLoan {
            window: Rc::clone(self),
            bytes,
            _charge: account.charge(usize::try_from(bytes).unwrap_or(usize::MAX)),
        })
    }

    fn set(&self, bytes: u32) {
        self.bytes.set(bytes);
        self.quic.set_receive_window(VarInt::from_u32(bytes));
    }
}

impl Drop for WindowLoan {
    /// What the client has been granted already it keeps: QUIC grants it no more until that is used up.
    fn drop(&mut self) {
        let rest = self.window.bytes.get().saturating_sub(self.bytes);
        self.window.set(rest);
    }
}
