//! The task of one request and its answer, on a stream of their own.

mod content;
mod sending;
mod streaming;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, StoppedError, VarInt};
use salver_access_log::Protocol;
use salver_assets::{Method, RequestPath, SecureContext};
use salver_fields::{Priority, RequestHead};
use salver_http3::{CONTINUE, ErrorCode, Event, RequestStream, StreamFailure};
use salver_semantics::LeastRate;

use self::content::RequestContent;
use super::Http3Context;
use super::send_order::SendSlot;
use super::shared_connection::{AwaitedAnswer, SharedConnection, code};
use super::stall_timer::StallTimer;
use crate::access_log::ConnectionLog;
use crate::access_log::record::LogRecord;
use crate::dispatch::{Dispatched, dispatch, engine_request, error_plan};
use crate::handler::{Answer, IncomingContent, Peer, RequestBody, to_http_request};
use crate::listener::canonical;
use crate::memory_budget::Charge;
use crate::report::report;
use crate::sites::Destination;

/// The task of one request and its answer.
pub(super) struct RequestTask {
    connection: Rc<SharedConnection>,
    /// The generation that the request came to, and its log.
    shared: Rc<Http3Context>,
    log: Option<Rc<ConnectionLog>>,
    send: SendStream,
    receive: RecvStream,
    stream: RequestStream,
    /// The request whose content is awaited, though nobody wants it.
    unfinished: Option<RequestHead<'static>>,
    /// The content of the request that is answered, if a handler may want it.
    content: Option<Box<RequestContent>>,
    /// Input that was received before it could be parsed.
    next: Option<Bytes>,
    /// The method, if it is known.
    method: Option<Method>,
    priority: Priority,
    /// The priority that QUIC was told.
    applied: i32,
    /// The number of the client's priority updates that have been applied.
    reprioritised: u64,
    stall_timer: StallTimer,
    /// The length of the answer's content.
    length: u64,
    /// The slot of the answer while it is sent.
    slot: Option<SendSlot>,
    /// Something while the answer waits for its handler, not for the client.
    awaited: Option<AwaitedAnswer>,
    /// Ready when the client has stopped the stream; made when the answer waits for its turn.
    withdrawn: Option<Pin<Box<Stopped>>>,
    /// The memory of the request, with its head as far as it was received.
    charge: Charge,
    /// The part of it that is not the head.
    base: usize,
    /// The record of the request, which is logged when the task ends.
    record: Option<LogRecord>,
    /// The bytes before the content that have not been handed over.
    head_left: usize,
}

/// The future of [`SendStream::stopped`].
type Stopped = dyn Future<Output = Result<Option<VarInt>, StoppedError>>;

/// The failure of a request or its answer.
enum RequestFailure {
    /// The request is refused, or the stream or connection ends.
    Request(StreamFailure),
    /// The client took too long to send the request.
    Late,
    /// There is no memory for the request.
    Full,
    /// The client has stopped the stream, or is gone.
    Gone,
    /// The client takes too little of the answer.
    Stalled,
    /// The content cannot be sent as the head announced it.
    Content(io::Error),
}

impl RequestFailure {
    /// True if the request led to nothing, by the client's fault.
    fn is_fruitless(&self) -> bool {
        matches!(
            self,
            RequestFailure::Request(_) | RequestFailure::Late | RequestFailure::Gone
        )
    }
}

impl<F: Into<StreamFailure>> From<F> for RequestFailure {
    fn from(failure: F) -> Self {
        RequestFailure::Request(failure.into())
    }
}

impl RequestTask {
    pub(super) fn new(
        connection: Rc<SharedConnection>,
        send: SendStream,
        receive: RecvStream,
        charge: Charge,
    ) -> Self {
        let (shared, log) = connection.shared_and_log();
        RequestTask {
            connection,
            shared,
            log,
            send,
            receive,
            stream: RequestStream::default(),
            unfinished: None,
            content: None,
            next: None,
            method: None,
            priority: Priority::default(),
            applied: 0,
            reprioritised: 0,
            stall_timer: StallTimer::default(),
            length: 0,
            slot: None,
            awaited: None,
            withdrawn: None,
            base: charge.bytes(),
            charge,
            record: None,
            head_left: 0,
        }
    }

    /// Reads the request and answers it.
    pub(super) async fn serve(&mut self) {
        let answer = self.answer().await;
        let led_to_nothing = answer.as_ref().is_err_and(RequestFailure::is_fruitless);
        // A client that reads nothing of its answer keeps no room from others.
        self.unfinished = None;
        let error = |status, text| error_plan(status, text, self.method);
        // The plan, and why the request is not read any further.
        let planned = match answer {
            Ok(answer) => Ok((answer, None)),
            Err(RequestFailure::Request(StreamFailure::Refused(refusal))) => {
                let plan = error(refusal.status, refusal.reason);
                Ok((plan.into(), Some(ErrorCode::of(&refusal))))
            }
            Err(RequestFailure::Late) => Ok((
                error(408, "Request Timeout").into(),
                Some(ErrorCode::NoError),
            )),
            Err(RequestFailure::Full) => Ok((
                error(503, "Service Unavailable").into(),
                Some(ErrorCode::NoError),
            )),
            Err(failure) => Err(failure),
        };
        let sent = match planned {
            Ok((answer, mut stop)) => {
                let sent = self.send(answer).await;
                if self.has_content_to_come() {
                    // RFC 9114 section 4.1: the rest of the content is of no use.
                    stop.get_or_insert(ErrorCode::NoError);
                }
                if let Some(stop) = stop {
                    let _ = self.receive.stop(code(stop));
                }
                sent
            }
            Err(failure) => Err(failure),
        };
        if led_to_nothing || sent.as_ref().is_err_and(RequestFailure::is_fruitless) {
            self.connection.count_fruitless();
        } else if sent.is_ok() {
            self.connection.count_delivered();
        }
        let Err(failure) = sent else { return };
        let reset = match failure {
            RequestFailure::Request(StreamFailure::Connection(error)) => {
                return self.connection.fail(error);
            }
            RequestFailure::Request(StreamFailure::Stream(why)) => why,
            RequestFailure::Request(StreamFailure::Refused(refusal)) => ErrorCode::of(&refusal),
            RequestFailure::Late | RequestFailure::Full | RequestFailure::Gone => {
                ErrorCode::RequestCancelled
            }
            RequestFailure::Stalled => {
                let error = io::ErrorKind::TimedOut.into();
                report(&self.shared.context.common, &error);
                ErrorCode::RequestCancelled
            }
            RequestFailure::Content(error) => {
                report(&self.shared.context.common, &error);
                ErrorCode::InternalError
            }
        };
        // A reset, so that an answer that is cut short never looks whole.
        let _ = self.send.reset(code(reset));
        let _ = self.receive.stop(code(reset));
    }

    /// The answer.
    async fn answer(&mut self) -> Result<Answer, RequestFailure> {
        let asked = poll_fn(|context| self.poll_request(context)).await;
        self.stall_timer.renew();
        let asked = asked?;
        Ok(match asked.planned() {
            Ok(plan) => plan.into(),
            Err(mut plan) => {
                let mut withdrawn = pin!(self.send.stopped());
                let answer = poll_fn(|context| {
                    // Content goes before: what has come with the head is there when it is first asked for.
                    self.receive_content(context)?;
                    if let Poll::Ready(answer) = plan.as_mut().poll(context) {
                        return Poll::Ready(Ok(answer));
                    }
                    self.check_content(context)?;
                    self.await_answer();
                    withdrawn
                        .as_mut()
                        .poll(context)
                        .map(|_| Err(RequestFailure::Gone))
                });
                let answer = answer.await?;
                self.awaited = None;
                answer
            }
        })
    }

    /// Reads until there is a whole request, and dispatches it.
    fn poll_request(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Dispatched, RequestFailure>> {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        let scratch = &mut *scratch;
        loop {
            let Some(bytes) = ready!(self.poll_piece(context))? else {
                self.stream.end()?;
                let incomplete = StreamFailure::Stream(ErrorCode::RequestIncomplete);
                let head = self.unfinished.take().ok_or(incomplete)?;
                return Poll::Ready(Ok(self.dispatch(head, None, context)));
            };
            let mut input = &*bytes;
            loop {
                let limits = &shared.limits;
                let received = self.stream.receive(limits, &mut input, scratch, None);
                match received {
                    Ok(Event::Head) => {}
                    Ok(Event::Trailers) => continue,
                    Ok(Event::Incomplete) => {
                        let held = self.base + self.stream.held();
                        let more = held.saturating_sub(self.charge.bytes());
                        let account = &self.connection.seat.account;
                        if more > 0 && account.room_up_to(more) < more {
                            return Poll::Ready(Err(RequestFailure::Full));
                        }
                        self.charge.set(held);
                        break;
                    }
                    Err(failure) => {
                        return Poll::Ready(Err(failure.into()));
                    }
                }
                self.method = scratch.section.method();
                let head = scratch.section.request()?;
                self.stall_timer.renew();
                self.stream.announce(head.content_length);
                self.priority = head.priority;
                let expects = head.expects_continue;
                let common = &shared.context.common;
                if expects && !head.method.is_served() && !common.has_handlers {
                    // The client waits before it sends the content; it need not send it (RFC 9110 section 10.1.1),
                    // and if it does all the same it is not read.
                    return Poll::Ready(Ok(self.dispatch(head, None, context)));
                }
                // Nearly always the end has come with the head, and nothing is copied.
                if input.is_empty() && self.has_ended(context) {
                    self.stream.end()?;
                    return Poll::Ready(Ok(self.dispatch(head, None, context)));
                }
                if common.has_handlers {
                    let account = &self.connection.seat.account;
                    let length = head.content_length;
                    let (content, body) = IncomingContent::new(account, length, expects);
                    if !input.is_empty() {
                        self.next = Some(bytes.slice_ref(input));
                    }
                    self.content = Some(RequestContent::new(content));
                    return Poll::Ready(Ok(self.dispatch(head, Some(body), context)));
                }
                if expects {
                    self.send_continue(context);
                }
                self.unfinished = Some(head.into_owned());
            }
        }
    }

    /// Tells the client to send its content (RFC 9110 section 10.1.1): a few bytes, for which there is room at the
    /// beginning of a stream. A client that does not get them sends the content after a while all the same.
    fn send_continue(&mut self, context: &mut Context<'_>) {
        let mut going_on = [Bytes::from_static(CONTINUE)];
        let _ = pin!(self.send.write_chunks(&mut going_on)).poll(context);
    }

    /// Dispatches a request, whose content may still be to come.
    fn dispatch(
        &mut self,
        head: RequestHead<'_>,
        content: Option<RequestBody>,
        task: &mut Context<'_>,
    ) -> Dispatched {
        // Content goes before: what has come with the head is there when it is first asked for.
        let task = content.is_none().then_some(task);
        let connection = &self.connection;
        let log = self.log.as_deref();
        let now = connection.shared().context.clock.now();
        self.record = log.map(|log| log.record_of(Protocol::Http3, &head, now.instant));
        if let Some(record) = &self.record {
            self.charge.set(self.charge.bytes() + record.memory());
        }
        let context = &self.shared.context;
        let (mut request, more) = engine_request(head);
        request.secure_context = SecureContext::Secure;
        let http_request = |path: Option<&RequestPath<'_>>| {
            let peer = Peer {
                address: canonical(connection.quic.remote_address()),
                over_tls: true,
            };
            let version = http::Version::HTTP_3;
            to_http_request(
                version,
                &request,
                path,
                more.lines.iter(),
                (content, http::HeaderMap::new()),
                Some(peer),
            )
        };
        let details = || more.details(true, request.method);
        dispatch(
            context,
            &connection.seat,
            &request,
            http_request,
            details,
            || Destination {
                authority: more.authority(),
                server_name: Some(connection.server_name()),
            },
            (task, now),
        )
    }

    /// The next piece of the request; `None` at its end.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, RequestFailure>> {
        if let Some(next) = self.next.take() {
            return Poll::Ready(Ok(Some(next)));
        }
        match self.poll_read(context, usize::MAX) {
            // The time is that of the whole head, or of the whole content.
            Poll::Ready(read) => Poll::Ready(read.map_err(|_| RequestFailure::Gone)),
            Poll::Pending => {
                let shared = &self.shared;
                let settings = &shared.context.common.settings;
                let timeout = match self.unfinished {
                    None => settings.header_timeout,
                    Some(_) => settings.idle_timeout,
                };
                if self
                    .stall_timer
                    .is_over(shared, context, &LeastRate::pause(timeout), || 0)
                {
                    return Poll::Ready(Err(RequestFailure::Late));
                }
                Poll::Pending
            }
        }
    }

    /// True if the end of the request has been received already.
    fn has_ended(&mut self, context: &mut Context<'_>) -> bool {
        match self.poll_read(context, usize::MAX) {
            Poll::Ready(Ok(None)) => true,
            Poll::Ready(Ok(next)) => {
                self.next = next;
                false
            }
            // An error comes again.
            Poll::Ready(Err(_)) | Poll::Pending => false,
        }
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<Bytes>, ReadError>> {
        let reading = pin!(self.receive.read_chunk(most, true));
        reading
            .poll(context)
            .map_ok(|chunk| chunk.map(|chunk| chunk.bytes))
    }
}
