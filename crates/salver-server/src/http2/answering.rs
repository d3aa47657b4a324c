//! Answering the requests of a connection: from their heads to those of their answers.

use std::task::{Context, Poll};

use salver_access_log::Protocol;
use salver_assets::strategy::Transport;
use salver_assets::{Content, Now, RequestPath};
use salver_fields::RequestHead;
use salver_http2::{RenderedHead, UNKNOWN_LENGTH};

use super::request_content::RequestContent;
use super::sending::{Sending, end_all};
use super::translate::{render_head, rendered_head};
use super::{Http2Connection, PendingAnswer};
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::dispatch::{Dispatched, dispatch, engine_request, error_plan};
use crate::handler::{Answer, IncomingContent, Upgrade, UpgradeKind, to_http_request};
use crate::send_buffer::SendBuffer;
use crate::sites::Destination;
use crate::transmit::loader_disk::Reading;
use crate::wire::Wire;

impl<S: ByteStream> Http2Connection<S> {
    pub(super) fn answer(
        &mut self,
        stream: u32,
        head: RequestHead<'_>,
        is_whole: bool,
        send_buffer: &mut SendBuffer,
        now: Now,
    ) {
        let mut content = None;
        if !is_whole && self.wire.shared.common.has_handlers {
            let account = &self.wire.seat.account;
            let (length, expects) = (head.content_length, head.expects_continue);
            let (incoming, body) = IncomingContent::new(account, length, expects);
            self.contents.push(RequestContent { stream, incoming });
            content = Some(body);
        }
        let log = self.wire.log.as_deref();
        let record = log.map(|log| log.record_of(Protocol::Http2, &head, now.instant));
        let (mut request, more) = engine_request(head);
        let wire = &self.wire;
        let over_tls = S::TRANSPORT == Transport::PassesThrough;
        let authority = more.authority();
        request.secure_context = wire.secure_context(authority, &request.fields);
        let http_request = |path: Option<&RequestPath<'_>>| {
            let (version, peer) = (http::Version::HTTP_2, wire.peer());
            let is_open = content.is_some();
            let lines = more.lines.iter();
            let mut request = to_http_request(version, &request, path, lines, content, peer)?;
            if is_open && request.method() == http::Method::CONNECT {
                let mut lines = more.lines.iter();
                let protocol = lines.find(|(name, _)| *name == b":protocol")?.1;
                let protocol = http::HeaderValue::from_bytes(protocol).ok()?;
                Upgrade::offer_connect(protocol, &wire.seat.account, &mut request);
            }
            Some(request)
        };
        let details = || more.details(over_tls, request.method);
        match dispatch(
            &wire.shared,
            &wire.seat,
            &request,
            http_request,
            details,
            || Destination {
                authority,
                server_name: wire.stream.server_name(),
            },
            now,
        ) {
            Dispatched::Ready(plan) => {
                self.drop_content(stream);
                self.respond(stream, plan.into(), record, send_buffer);
            }
            Dispatched::Pending(plan) => {
                self.pending.push(PendingAnswer {
                    stream,
                    plan,
                    record,
                });
                // Its request is charged from now on.
                self.limit_streams();
            }
        }
    }

    pub(super) fn respond(
        &mut self,
        stream: u32,
        answer: Answer,
        mut record: Option<LogRecord>,
        send_buffer: &mut SendBuffer,
    ) {
        let Answer {
            mut plan,
            streamed,
            upgrade,
        } = answer;
        if upgrade == Some(UpgradeKind::Switch) {
            // It was given for another request, of HTTP/1.1.
            let plan = error_plan(500, "Internal Server Error", None);
            return self.respond(stream, plan.into(), record, send_buffer);
        }
        let Wire { shared, seat, .. } = &self.wire;
        let file = shared.common.hold_open(&seat.account, &mut plan);
        if let Some(record) = &mut record {
            match streamed {
                None => record.answer(&plan),
                Some(_) => record.answer_streamed(&plan),
            }
        }
        let content = std::mem::replace(&mut plan.content, Content::Empty);
        let date = &shared.clock.date();
        let made;
        let head: &RenderedHead = match rendered_head(&plan) {
            Some(head) => head,
            None => {
                made = render_head(&plan);
                &made
            }
        };
        let more = self.listener_fields.of(&plan).block();
        let protocol = &mut self.protocol;
        let reading = Reading::new(content);
        let length = match streamed {
            None => reading.left(),
            Some(_) => UNKNOWN_LENGTH,
        };
        let sending = Sending {
            reading,
            streamed,
            _file: file,
            record,
        };
        let left = send_buffer
            .write(|buffer| protocol.respond(stream, head, more, date, (sending, length), buffer));
        end_all(left, &self.wire, send_buffer.left());
    }

    /// Sends the answers that no longer wait for a load or a handler.
    pub(super) fn send_pending(&mut self, context: &mut Context<'_>, send_buffer: &mut SendBuffer) {
        let mut place = 0;
        while let Some(pending) = self.pending.get_mut(place) {
            match pending.plan.as_mut().poll(context) {
                Poll::Pending => place += 1,
                Poll::Ready(answer) => {
                    let PendingAnswer { stream, record, .. } = self.pending.swap_remove(place);
                    self.respond(stream, answer, record, send_buffer);
                }
            }
        }
    }
}
