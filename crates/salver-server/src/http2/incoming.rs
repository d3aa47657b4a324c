//! The content of requests, piece by piece, for the handlers that are to have it.

use std::time::Instant;

use salver_assets::{Now, ResponsePlan};

use super::Connection;
use crate::asking::error;
use crate::handler::{Full, RequestBody};
use crate::outbox::Outbox;
use crate::stream::Stream;

/// The content of a request, as far as it has come.
pub(super) struct Incoming {
    stream: u32,
    content: RequestBody,
    /// When all of it must be here: what others of the connection do does not prolong that.
    until: Instant,
}

impl<S: Stream> Connection<S> {
    /// Keeps a piece of a request's content, if anybody is to have it.
    pub(super) fn hold(&mut self, stream: u32, piece: &[u8], now: Now) -> Result<(), Full> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut known = self.contents.iter_mut();
        let incoming = match known.find(|incoming| incoming.stream == stream) {
            Some(incoming) => incoming,
            None => {
                let common = &self.wire.shared.common;
                let Some(content) = common.request_body(&self.wire.seat.account) else {
                    return Ok(());
                };
                self.contents.push_mut(Incoming {
                    stream,
                    content,
                    until: now.instant + common.settings.idle_timeout,
                })
            }
        };
        incoming.content.buffer().extend_from_slice(piece);
        incoming.content.count()
    }

    pub(super) fn take_content(&mut self, stream: u32) -> Option<RequestBody> {
        let mut contents = self.contents.iter();
        let place = contents.position(|incoming| incoming.stream == stream)?;
        Some(self.contents.swap_remove(place).content)
    }

    /// Answers a request whose content nobody is to have.
    pub(super) fn refuse(&mut self, stream: u32, plan: ResponsePlan, outbox: &mut Outbox) {
        self.take_content(stream);
        self.respond(stream, plan, outbox);
    }

    /// Refuses requests whose content takes too long.
    pub(super) fn refuse_late(&mut self, now: Now, outbox: &mut Outbox) {
        let is_late = |incoming: &&Incoming| incoming.until <= now.instant;
        while let Some(late) = self.contents.iter().find(is_late) {
            let stream = late.stream;
            let plan = error(408, "Request Timeout", self.protocol.method(stream));
            self.refuse(stream, plan, outbox);
        }
    }
}
