//! One request and its answer, on a stream of their own.

mod sending;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, StoppedError, VarInt};
use salver_assets::{Content, Method, Request, ResponsePlan};
use salver_http3::{
    CONTINUE, Code, Event, FieldSection, RequestHead, RequestStream, StreamFailure, Urgency,
};

use super::connection::{Connection, code};
use super::send_order::Place;
use super::stall_timer::StallTimer;
use super::translate::{given, request};
use salver_semantics::LeastRate;

use crate::asking::{Asked, ask};
use crate::ending::report;
use crate::handler::RequestBody;
use crate::listener::canonical;
use crate::memory_budget::Charge;

/// A request and its answer.
pub(super) struct Exchange {
    connection: Rc<Connection>,
    send: SendStream,
    receive: RecvStream,
    stream: RequestStream,
    /// The request whose content is awaited.
    held: Option<Waiting>,
    /// What came too early to be read.
    next: Option<Bytes>,
    is_head: bool,
    urgency: Urgency,
    /// What QUIC was told of it.
    applied: i32,
    /// Up to when the client's priorities have been looked at.
    reprioritised: u64,
    stall_timer: StallTimer,
    /// Of the answer's content.
    length: u64,
    /// While the answer is on its way.
    place: Option<Place>,
    /// Done when the client does not want the answer any more; made when it waits for its turn.
    withdrawn: Option<Pin<Box<Stopped>>>,
    /// The memory of the request, with its head as far as it has come.
    charge: Charge,
    /// What of it is not the head.
    base: usize,
}

/// What [`SendStream::stopped`] gives.
type Stopped = dyn Future<Output = Result<Option<VarInt>, StoppedError>>;

/// Why an exchange ends early.
enum Failure {
    /// Answered, and not to be read any further.
    Request(StreamFailure),
    /// The client took too long to send it.
    Late,
    /// There is no room for its content.
    Full,
    /// The client does not want it any more, or is gone.
    Gone,
    /// The client takes nothing.
    Stalled,
    /// The content can not be sent as the head said.
    Content(io::Error),
}

impl Failure {
    /// Whether what was asked for led to nothing, by what the client did.
    fn is_fruitless(&self) -> bool {
        matches!(self, Failure::Request(_) | Failure::Late | Failure::Gone)
    }
}

impl<F: Into<StreamFailure>> From<F> for Failure {
    fn from(failure: F) -> Self {
        Failure::Request(failure.into())
    }
}

/// A request whose content is awaited.
struct Waiting {
    request: Request<'static>,
    /// For handlers, if there are any: all lines of its head, and its content.
    more: Option<(FieldSection, RequestBody)>,
}

impl Exchange {
    pub(super) fn new(
        connection: Rc<Connection>,
        send: SendStream,
        receive: RecvStream,
        charge: Charge,
    ) -> Self {
        Exchange {
            connection,
            send,
            receive,
            stream: RequestStream::default(),
            held: None,
            next: None,
            is_head: false,
            urgency: Urgency::default(),
            applied: 0,
            reprioritised: 0,
            stall_timer: StallTimer::default(),
            length: 0,
            place: None,
            withdrawn: None,
            base: charge.bytes(),
            charge,
        }
    }

    /// Reads the request and answers it.
    pub(super) async fn serve(mut self) {
        let answer = self.answer().await;
        let led_to_nothing = answer.as_ref().is_err_and(Failure::is_fruitless);
        // A client that reads nothing of its answer keeps no room from others.
        self.held = None;
        let sent = match answer {
            Ok(plan) => self.send(plan).await,
            Err(Failure::Request(StreamFailure::Refused(refusal))) => {
                let plan = ResponsePlan::error(refusal.status, refusal.reason, vec![]);
                let sent = self.send(self.without_content_for_head(plan)).await;
                let _ = self.receive.stop(code(refusal.code()));
                sent
            }
            Err(failure @ (Failure::Late | Failure::Full)) => {
                let plan = match failure {
                    Failure::Late => ResponsePlan::error(408, "Request Timeout", vec![]),
                    _ => ResponsePlan::error(503, "Service Unavailable", vec![]),
                };
                let sent = self.send(self.without_content_for_head(plan)).await;
                let _ = self.receive.stop(code(Code::NoError));
                sent
            }
            Err(failure) => Err(failure),
        };
        if led_to_nothing || sent.as_ref().is_err_and(Failure::is_fruitless) {
            self.connection.came_to_nothing();
        } else if sent.is_ok() {
            self.connection.came_to_something();
        }
        let Err(failure) = sent else { return };
        let reset = match failure {
            Failure::Request(StreamFailure::Connection(error)) => {
                return self.connection.fail(error);
            }
            Failure::Request(StreamFailure::Stream(why)) => why,
            Failure::Request(StreamFailure::Refused(refusal)) => refusal.code(),
            Failure::Late | Failure::Full | Failure::Gone => Code::RequestCancelled,
            Failure::Stalled => {
                report(
                    &self.connection.shared.context.common,
                    &io::ErrorKind::TimedOut.into(),
                );
                Code::RequestCancelled
            }
            Failure::Content(error) => {
                report(&self.connection.shared.context.common, &error);
                Code::InternalError
            }
        };
        // What has not left is not to complete anything: never padded, never cut short unseen.
        let _ = self.send.reset(code(reset));
        let _ = self.receive.stop(code(reset));
    }

    fn without_content_for_head(&self, mut plan: ResponsePlan) -> ResponsePlan {
        if self.is_head {
            plan.content = Content::Empty;
        }
        plan
    }

    /// The plan of the answer.
    async fn answer(&mut self) -> Result<ResponsePlan, Failure> {
        let asked = poll_fn(|context| self.poll_request(context)).await;
        self.stall_timer.renew();
        let asked = asked?;
        Ok(match asked {
            Asked::Plan(plan) => plan,
            Asked::Later(mut plan) => {
                self.connection.await_answer();
                let mut withdrawn = pin!(self.send.stopped());
                poll_fn(|context| match plan.as_mut().poll(context) {
                    Poll::Ready(plan) => Poll::Ready(Ok(plan)),
                    Poll::Pending => withdrawn.as_mut().poll(context).map(|_| Err(Failure::Gone)),
                })
                .await?
            }
        })
    }

    /// Reads until there is a whole request, and asks.
    fn poll_request(&mut self, context: &mut Context<'_>) -> Poll<Result<Asked, Failure>> {
        let shared = Rc::clone(&self.connection.shared);
        let mut section = shared.section.borrow_mut();
        loop {
            let Some(bytes) = ready!(self.poll_piece(context))? else {
                self.stream.end()?;
                let incomplete = StreamFailure::Stream(Code::RequestIncomplete);
                let Waiting { request, more } = self.held.take().ok_or(incomplete)?;
                let (section, content) = more.unzip();
                let section = section.unwrap_or_default();
                return Poll::Ready(Ok(self.ask(&section, &request, content)));
            };
            let mut input = &*bytes;
            loop {
                let mut more = self.held.as_mut().and_then(|held| held.more.as_mut());
                let content = more.as_mut().map(|(_, content)| content.buffer());
                let limits = &shared.limits;
                let received = self
                    .stream
                    .receive(limits, &mut input, &mut section, content);
                if more.is_some_and(|(_, content)| content.count().is_err()) {
                    return Poll::Ready(Err(Failure::Full));
                }
                match received {
                    Ok(Event::Head) => {}
                    Ok(Event::Incomplete) => {
                        let held = self.base + self.stream.held();
                        let more = held.saturating_sub(self.charge.bytes());
                        let account = &self.connection.seat.account;
                        if more > 0 && account.room_up_to(more) < more {
                            return Poll::Ready(Err(Failure::Full));
                        }
                        self.charge.set(held);
                        break;
                    }
                    Err(failure) => {
                        self.is_head |= self.held.is_none() && section.is_head();
                        return Poll::Ready(Err(failure.into()));
                    }
                }
                let head = match RequestHead::read(&section, &shared.limits) {
                    Ok(head) => head,
                    Err(refusal) => {
                        self.is_head = section.is_head();
                        return Poll::Ready(Err(refusal.into()));
                    }
                };
                self.stall_timer.renew();
                self.stream.announce(head.content_length);
                self.urgency = head.urgency;
                let expects = head.expect_continue;
                let request = request(head);
                self.is_head = request.method == Method::Head;
                let refused = matches!(request.method, Method::NotAllowed | Method::NotImplemented);
                let content = shared
                    .context
                    .common
                    .request_body(&self.connection.seat.account);
                if expects && refused && content.is_none() {
                    // The client asked whether to send the content; it need not (RFC 9110 section
                    // 10.1.1), and if it does all the same nobody reads it.
                    return Poll::Ready(Ok(self.ask(&section, &request, None)));
                }
                // Nearly always the end has come with the head, and nothing is copied.
                if input.is_empty() && self.has_ended(context) {
                    self.stream.end()?;
                    return Poll::Ready(Ok(self.ask(&section, &request, None)));
                }
                if expects {
                    // A few bytes, for which there is room at the beginning of a stream; who does
                    // not get them sends the content after a while all the same.
                    let mut going_on = [Bytes::from_static(CONTINUE)];
                    let _ = pin!(self.send.write_chunks(&mut going_on)).poll(context);
                }
                self.held = Some(Waiting {
                    request: request.into_owned(),
                    more: content.map(|content| (section.clone(), content)),
                });
            }
        }
    }

    /// Asks for the answer to a whole request.
    fn ask(
        &self,
        section: &FieldSection,
        request: &Request<'_>,
        content: Option<RequestBody>,
    ) -> Asked {
        let connection = &self.connection;
        let context = &connection.shared.context;
        let address = || canonical(connection.quic.remote_address());
        let given = || given(section, request, content, address());
        ask(
            context,
            &connection.seat.account,
            request,
            given,
            context.clock.now(),
        )
    }

    /// What comes next of the request; `None` at its end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Failure>> {
        if let Some(next) = self.next.take() {
            return Poll::Ready(Ok(Some(next)));
        }
        match self.poll_read(context) {
            // No piece prolongs the time for all of them.
            Poll::Ready(read) => Poll::Ready(read.map_err(|_| Failure::Gone)),
            Poll::Pending => {
                let shared = &self.connection.shared;
                let settings = &shared.context.common.settings;
                let timeout = match self.held {
                    None => settings.header_timeout,
                    Some(_) => settings.idle_timeout,
                };
                if self
                    .stall_timer
                    .is_over(shared, context, &LeastRate::pause(timeout), || 0)
                {
                    return Poll::Ready(Err(Failure::Late));
                }
                Poll::Pending
            }
        }
    }

    /// Whether the end of the request is here already.
    fn has_ended(&mut self, context: &mut Context<'_>) -> bool {
        match self.poll_read(context) {
            Poll::Ready(Ok(None)) => true,
            Poll::Ready(Ok(next)) => {
                self.next = next;
                false
            }
            // An error comes again.
            Poll::Ready(Err(_)) | Poll::Pending => false,
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ReadError>> {
        let reading = pin!(self.receive.read_chunk(usize::MAX, true));
        reading
            .poll(context)
            .map_ok(|chunk| chunk.map(|chunk| chunk.bytes))
    }
}
