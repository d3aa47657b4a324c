//! Answering one request: from its head to the send buffer, or to a response that takes longer.

use std::task::Context;
use std::time::Instant;

use salver_access_log::Protocol;
use salver_assets::strategy::Transport;
use salver_assets::{Content, Now, RequestPath, ResponsePlan};
use salver_http1::{BodyLength, Persistence, RequestHead, request_method};

use super::content::{MOST_DRAINED, RequestContent, UnfinishedRequest};
use super::slow::{AnswerTerms, SlowResponse};
use super::translate::{
    engine_request, log_record, push_content, push_head, push_whole, request_details,
    takes_trailers, to_http_request,
};
use super::{Flow, Http1Connection};
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::dispatch::{Dispatched, dispatch, error_plan};
use crate::handler::{IncomingContent, RequestBody, Upgrade, WholeAnswer};
use crate::rendered_responses::RenderedResponses;
use crate::send_buffer::SendBuffer;
use crate::sites::Destination;

impl<S: ByteStream> Http1Connection<S> {
    /// Answers a request whose content is still to come, which its handler is given as it comes.
    pub(super) fn answer_before_content(
        &mut self,
        head: RequestHead<'_>,
        send_buffer: &mut SendBuffer,
        now: Now,
    ) -> Option<Flow> {
        let common = &self.wire.shared.common;
        if !common.handlers.permits_content(head.raw.field_lines()) {
            let head = RequestHead {
                persistent: false,
                ..head
            };
            return self.answer(head, None, send_buffer, None, now);
        }
        let length = match head.body {
            BodyLength::Sized(length) => Some(length),
            BodyLength::None | BodyLength::Chunked => None,
        };
        let account = &self.wire.seat.account;
        let (content, body) = IncomingContent::new(account, length, head.expect_continue);
        match self.answer(head, Some(body), send_buffer, None, now) {
            Some(Flow::Slow(mut slow)) => {
                slow.content = Some(RequestContent::new(content));
                Some(Flow::Slow(slow))
            }
            flow => {
                let left = MOST_DRAINED;
                self.unfinished = Some(UnfinishedRequest::Answered { left });
                flow
            }
        }
    }

    /// Appends the last answer of the connection: to the request whose body is awaited, else to the one that `input`
    /// begins with. Nothing is appended if that has been answered.
    pub(super) fn refuse(
        &mut self,
        status: u16,
        reason: &str,
        input: &[u8],
        send_buffer: &mut SendBuffer,
    ) {
        let log = self.wire.log.as_deref();
        let (method, record) = match self.unfinished.take() {
            Some(UnfinishedRequest::Answered { .. }) => return,
            Some(UnfinishedRequest::Awaited(head)) => {
                let head = head.borrow();
                let authority = head.raw.authority();
                let record = log.map(|log| log_record(log, &head, authority, Instant::now()));
                (Some(head.method), record)
            }
            None => {
                let record = log.map(|log| log.unread(Protocol::Http11, input));
                (request_method(input), record)
            }
        };
        let plan = error_plan(status, reason, method);
        self.push_head(send_buffer, &plan, Persistence::Close);
        self.log_answer(record, &plan, send_buffer.left());
        push_content(send_buffer, &plan);
    }

    /// Answers one request; `None` if the answer is in `send_buffer` and others may follow. `alone` is given if there is no
    /// other answer to send with it and no further request: the responses that are ready, and the context of the task, by
    /// which a handler may answer at once.
    pub(super) fn answer(
        &self,
        head: RequestHead<'_>,
        content: Option<RequestBody>,
        send_buffer: &mut SendBuffer,
        alone: Option<(&mut RenderedResponses, &mut Context<'_>)>,
        now: Now,
    ) -> Option<Flow> {
        let has_content = content.is_some();
        let (may_upgrade, mut offered) = (head.body == BodyLength::None, None);
        let mut terms = AnswerTerms {
            method: head.method,
            version: head.version,
            persistence: self.persistence(&head),
            takes_trailers: false,
            continues: false,
        };
        let expects_continue = head.expect_continue;
        let log = self.wire.log.as_deref();
        let (raw, authority) = (head.raw, head.raw.authority());
        let record = log.map(|log| log_record(log, &head, authority, now.instant));
        let mut request = engine_request(head);
        let wire = &self.wire;
        let over_tls = S::TRANSPORT == Transport::PassesThrough;
        let host = authority.unwrap_or_default();
        request.secure_context = wire.secure_context(host, &request.fields);
        let http_request = |path: Option<&RequestPath<'_>>| {
            let (version, peer) = (terms.version, wire.peer());
            let content = (content, wire.shared.spare_fields.take());
            let head = (raw, authority);
            let mut protocols = None;
            let peer = (peer, &mut protocols);
            let mut request = to_http_request(version, head, &request, path, content, peer);
            if let (Some(request), Some(protocols)) = (&mut request, protocols)
                && may_upgrade
            {
                let account = &wire.seat.account;
                let (content, body) = IncomingContent::new(account, None, false);
                Upgrade::offer_switch(protocols, account, body, request);
                offered = Some(RequestContent::of_upgrade(content));
            }
            request
        };
        let details = || request_details(raw, over_tls);
        let (responses, context) = alone.unzip();
        let mut dispatched = dispatch(
            &wire.shared,
            &wire.seat,
            &request,
            http_request,
            details,
            || Destination {
                authority: host,
                server_name: wire.stream.server_name(),
            },
            (context, now),
        );
        let persistence = match &dispatched {
            Dispatched::Ready(_) | Dispatched::Whole(_)
                if has_content && (expects_continue || self.leaves_much()) =>
            {
                Persistence::Close
            }
            _ => terms.persistence,
        };
        if let Dispatched::Whole(whole) = dispatched {
            // Records are of plans.
            if record.is_none() {
                return self.push_whole(send_buffer, whole, persistence);
            }
            dispatched = Dispatched::Ready(whole.into_plan());
        }
        let Dispatched::Ready(plan) = &dispatched else {
            terms.takes_trailers = wire.shared.common.has_handlers && takes_trailers(raw);
            return Some(slow(dispatched, terms, record, offered));
        };
        terms.persistence = persistence;
        if let Some(responses) = responses.filter(|_| persistence == Persistence::KeepAlive) {
            let fields = self.listener_fields.of(plan);
            if let Some(number) = responses.find(plan, &wire.shared.clock.date(), &fields) {
                self.log_answer(record, plan, responses.head_length(number, plan));
                return Some(Flow::Rendered(number));
            }
        }
        self.push_head(send_buffer, plan, persistence);
        self.log_answer(record, plan, send_buffer.left());
        if let Content::File(_) | Content::Parts(_) = plan.content {
            return Some(slow(dispatched, terms, None, None));
        }
        push_content(send_buffer, plan);
        (persistence == Persistence::Close).then_some(Flow::Ends)
    }

    /// Appends the whole answer of a handler; as [`answer`](Self::answer).
    fn push_whole(
        &self,
        send_buffer: &mut SendBuffer,
        answer: WholeAnswer,
        persistence: Persistence,
    ) -> Option<Flow> {
        let shared = &self.wire.shared;
        let fields = self.listener_fields.of_site(answer.driver_fields);
        push_whole(
            send_buffer,
            &answer,
            &shared.clock.date(),
            fields,
            persistence,
        );
        shared.spare_fields.set(answer.into_spare());
        (persistence == Persistence::Close).then_some(Flow::Ends)
    }

    /// Queues the record of an answer whose content follows behind `before` unsent bytes.
    #[inline]
    pub(super) fn log_answer(&self, record: Option<LogRecord>, plan: &ResponsePlan, before: usize) {
        if let (Some(log), Some(mut record)) = (&self.wire.log, record) {
            record.answer(plan);
            log.queue_whole(record, before);
        }
    }

    pub(super) fn push_head(
        &self,
        send_buffer: &mut SendBuffer,
        plan: &ResponsePlan,
        persistence: Persistence,
    ) {
        let date = &self.wire.shared.clock.date();
        let fields = self.listener_fields.of(plan);
        push_head(send_buffer, plan, date, &fields, persistence);
    }

    fn persistence(&self, head: &RequestHead<'_>) -> Persistence {
        let lasts = head.persistent && !self.wire.shared.drains();
        Persistence::new(head.version, lasts)
    }
}

fn slow(
    answer: Dispatched,
    terms: AnswerTerms,
    record: Option<LogRecord>,
    upgrade: Option<Box<RequestContent>>,
) -> Flow {
    Flow::Slow(Box::new(SlowResponse {
        send_buffer: SendBuffer::default(),
        answer: answer.planned(),
        terms,
        record,
        content: None,
        upgrade,
    }))
}
