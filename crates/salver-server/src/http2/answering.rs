//! Answering the requests of a connection: from their heads to those of their answers.

use std::task::{Context, Poll};

use salver_access_log::Protocol;
use salver_assets::strategy::Transport;
use salver_assets::{Content, Method, Now, RequestPath};
use salver_fields::RequestHead;
use salver_http2::{RenderedHead, UNKNOWN_LENGTH};

use super::request_content::RequestContent;
use super::sending::{Sending, end_all};
use super::translate::{render_head, rendered_head};
use super::{Http2Connection, PendingAnswer};
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::dispatch::{dispatch, engine_request, error_plan};
use crate::handler::{Answer, IncomingContent, Upgrade, UpgradeKind, to_http_request};
use crate::send_buffer::SendBuffer;
use crate::sites::Destination;
use crate::transmit::loader_disk::Reading;
use crate::wire::Wire;

impl<S: ByteStream> Http2Connection<S> {
    pub(super) fn answer(
        &mut self,
        stream: u32,
        (head, is_whole): (RequestHead<'_>, bool),
        send_buffer: &mut SendBuffer,
        (context, now): (&mut Context<'_>, Now),
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
        let is_connect = head.method == Method::Connect;
        let (mut request, more) = engine_request(head);
        if is_connect && more.protocol().is_some() {
            // As over HTTP/1.1, where the same is asked by GET: what rules protect, they protect here, too.
            request.method = Method::Get;
        }
        let wire = &self.wire;
        let over_tls = S::TRANSPORT == Transport::PassesThrough;
        let authority = more.authority();
        request.secure_context = wire.secure_context(authority, &request.fields);
        let http_request = |path: Option<&RequestPath<'_>>| {
            let (version, peer) = (http::Version::HTTP_2, wire.peer());
            let is_open = content.is_some();
            let (lines, empty) = (more.lines.iter(), (content, http::HeaderMap::new()));
            let mut request = to_http_request(version, &request, path, lines, empty, peer)?;
            if is_open && is_connect {
                let protocol = http::HeaderValue::from_bytes(more.protocol()?).ok()?;
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
            // Content goes before: what has come with the head is there when it is first asked for.
            (is_whole.then_some(context), now),
        )
        .planned()
        {
            Ok(plan) => {
                self.drop_content(stream);
                let answer = match is_connect {
                    false => plan.into(),
                    true => without_tunnel(plan.into()),
                };
                self.respond(stream, answer, record, send_buffer);
            }
            Err(mut plan) => {
                if is_connect {
                    plan = Box::pin(async move { without_tunnel(plan.await) });
                }
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
            mut streamed,
            upgrade,
        } = answer;
        if upgrade == Some(UpgradeKind::Switch) {
            // It was given for another request, of HTTP/1.1.
            let plan = error_plan(500, "Internal Server Error", None);
            return self.respond(stream, plan.into(), record, send_buffer);
        }
        if let Some(streamed) = &mut streamed {
            streamed.charge_to(&self.wire.seat.account);
            if self
                .content(stream)
                .is_some_and(IncomingContent::begin_answer)
            {
                send_buffer.write(|buffer| self.protocol.send_continue(stream, buffer));
            }
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
        let fields = self.listener_fields.of(&plan);
        let more = fields.block();
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

/// The answer to a CONNECT. Any success would be taken for a tunnel (RFC 9110 section 9.3.6), which only an accepted
/// upgrade is.
fn without_tunnel(answer: Answer) -> Answer {
    match answer.upgrade {
        None if (200..300).contains(&answer.plan.status) => {
            let text = "Not Implemented: nothing here accepts this protocol";
            error_plan(501, text, None).into()
        }
        _ => answer,
    }
}
