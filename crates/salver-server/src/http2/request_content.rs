//! The content of requests, received piece by piece for handlers.

use std::time::Instant;

use salver_access_log::Protocol;
use salver_assets::{Method, Now, ResponsePlan};

use super::Http2Connection;
use crate::byte_stream::ByteStream;
use crate::dispatch::error_plan;
use crate::handler::{MemoryExhausted, RequestBody};
use crate::send_buffer::SendBuffer;

/// The content of one request, as far as it was received.
pub(super) struct RequestContent {
    stream: u32,
    content: RequestBody,
    /// The time by which all of it must be received: other streams of the connection do not prolong it.
    until: Instant,
}

impl<S: ByteStream> Http2Connection<S> {
    /// Keeps a piece of a request's content, if there are handlers.
    pub(super) fn keep_content(
        &mut self,
        stream: u32,
        piece: &[u8],
        now: Now,
    ) -> Result<(), MemoryExhausted> {
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
                self.contents.push_mut(RequestContent {
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

    /// Answers a request, whose content is dropped.
    pub(super) fn refuse(&mut self, stream: u32, plan: ResponsePlan, send_buffer: &mut SendBuffer) {
        self.take_content(stream);
        let method = self.protocol.method(stream).map_or("", Method::token);
        let log = self.wire.log.as_deref();
        let record = log.map(|log| log.unread(Protocol::Http2, method.as_bytes()));
        self.respond(stream, plan, record, send_buffer);
    }

    /// Refuses requests whose content takes too long.
    pub(super) fn refuse_late(&mut self, now: Now, send_buffer: &mut SendBuffer) {
        let is_late = |incoming: &&RequestContent| incoming.until <= now.instant;
        while let Some(late) = self.contents.iter().find(is_late) {
            let stream = late.stream;
            let plan = error_plan(408, "Request Timeout", self.protocol.method(stream));
            self.refuse(stream, plan, send_buffer);
        }
    }
}
