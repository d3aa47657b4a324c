//! The content of requests, which handlers are given as it comes.

use std::io;
use std::task::Context;

use http::HeaderMap;
use salver_access_log::Protocol;
use salver_assets::{Method, Now, ResponsePlan};
use salver_http2::Phase;

use super::Http2Connection;
use super::sending::end_all;
use crate::byte_stream::ByteStream;
use crate::dispatch::error_plan;
use crate::handler::{IncomingContent, receive_step};
use crate::send_buffer::SendBuffer;
use crate::send_pace::step;

/// The most bytes of content that a client may have on its way on all streams.
const WINDOW: usize = 65_535;

/// The content of one request that is still to come.
pub(super) struct RequestContent {
    pub(super) stream: u32,
    pub(super) incoming: IncomingContent,
}

impl<S: ByteStream> Http2Connection<S> {
    /// Takes a piece of a request's content, which may be the last.
    pub(super) fn receive_content(
        &mut self,
        stream: u32,
        piece: &[u8],
        ends: bool,
        send_buffer: &mut SendBuffer,
    ) {
        let Some(content) = self.content(stream) else {
            // Nobody wants it.
            return;
        };
        let append =
            |buffer: &mut salver_http1::BodyBuffer| buffer.content.extend_from_slice(piece);
        let ((), counted) = content.receive(piece.len(), append);
        if counted.is_err() {
            let why = "there is no memory for the content";
            self.fail_content(stream, io::ErrorKind::OutOfMemory, why);
            self.cut_short(stream, (503, "Service Unavailable"), send_buffer);
        } else if ends {
            self.finish_content(stream, None);
        }
    }

    /// The content of a request that is still to come.
    pub(super) fn content(&mut self, stream: u32) -> Option<&mut IncomingContent> {
        let mut all = self.contents.iter_mut();
        let found = all.find(|content| content.stream == stream);
        found.map(|content| &mut content.incoming)
    }

    /// Ends the content of a request, which is whole.
    pub(super) fn finish_content(&mut self, stream: u32, trailers: Option<HeaderMap>) {
        if let Some(content) = self.content(stream) {
            content.sender.finish(trailers);
        }
        self.drop_content(stream);
    }

    /// Ends the content of a request, which is not whole.
    pub(super) fn fail_content(&mut self, stream: u32, kind: io::ErrorKind, why: &'static str) {
        if let Some(content) = self.content(stream) {
            content.sender.fail(kind, why);
        }
        self.drop_content(stream);
    }

    /// Forgets the content of a request.
    pub(super) fn drop_content(&mut self, stream: u32) {
        self.contents.retain(|content| content.stream != stream);
    }

    /// Answers a request with a refusal, whatever its handler does.
    pub(super) fn refuse(&mut self, stream: u32, plan: ResponsePlan, send_buffer: &mut SendBuffer) {
        let mut pending = self.pending.iter();
        let record = match pending.position(|pending| pending.stream == stream) {
            Some(place) => self.pending.swap_remove(place).record,
            None => {
                let method = self.protocol.method(stream).map_or("", Method::token);
                let log = self.wire.log.as_deref();
                log.map(|log| log.unread(Protocol::Http2, method.as_bytes()))
            }
        };
        self.respond(stream, plan.into(), record, send_buffer);
    }

    /// Ends a request whose content has failed: by this status, or by a reset if its answer has begun.
    fn cut_short(&mut self, stream: u32, why: (u16, &str), send_buffer: &mut SendBuffer) {
        let mut pending = self.pending.iter();
        if pending.any(|pending| pending.stream == stream) {
            let (status, text) = why;
            let plan = error_plan(status, text, self.protocol.method(stream));
            self.refuse(stream, plan, send_buffer);
        } else {
            let protocol = &mut self.protocol;
            let sending = send_buffer.write(|buffer| protocol.cancel(stream, buffer));
            end_all(sending, &self.wire, send_buffer.left());
        }
    }

    /// Gives windows back for what handlers have taken, tells clients that wait for it to go on, and refuses requests
    /// whose content comes too slowly.
    pub(super) fn check_contents(
        &mut self,
        context: &Context<'_>,
        now: Now,
        send_buffer: &mut SendBuffer,
    ) {
        let protocol = &mut self.protocol;
        self.contents
            .retain(|content| protocol.is_open(content.stream));
        let room = self.wire.seat.account.room_up_to(WINDOW);
        let settings = &self.wire.shared.common.settings;
        let mut late = Vec::new();
        send_buffer.write(|buffer| {
            protocol.limit_content(room, buffer);
            for RequestContent { stream, incoming } in &mut self.contents {
                protocol.release(*stream, incoming.sender.taken(context), buffer);
                if incoming.is_continue_due(context) {
                    protocol.send_continue(*stream, buffer);
                }
                if incoming.is_late(now.instant, settings) {
                    late.push(*stream);
                }
            }
        });
        for stream in late {
            let why = "the client sends too slowly";
            self.fail_content(stream, io::ErrorKind::TimedOut, why);
            self.cut_short(stream, (408, "Request Timeout"), send_buffer);
        }
    }

    /// Has the connection woken for the next check of content that is waited for. If nothing else is, it may have to
    /// make room for others.
    pub(super) fn wait_for_contents(&self, now: Now) {
        if self.protocol.phase() == Phase::Head {
            // The rest of a head has a time of its own, which is short.
            return;
        }
        let waiting = self
            .contents
            .iter()
            .filter_map(|content| content.incoming.waits_since());
        let Some(since) = waiting.min() else { return };
        let settings = &self.wire.shared.common.settings;
        let next = now.instant + receive_step(settings).min(step(settings));
        let waits = |stream: u32| {
            let mut contents = self.contents.iter();
            contents.any(|content| content.stream == stream && content.incoming.sender.waits())
        };
        let mut pending = self.pending.iter();
        match pending.all(|pending| waits(pending.stream)) && !self.protocol.is_sending() {
            true => self.wire.deadline.set_waiting(next, since),
            false => self.wire.deadline.set(next),
        }
    }
}
