//! One request and its answer, on a stream of their own.

mod sending;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, StoppedError, VarInt};
use salver_assets::{Method, RequestPath, ResponsePlan};
use salver_fields::{Priority, RequestHead};
use salver_http3::{CONTINUE, Code, Event, RequestStream, StreamFailure};
use salver_semantics::{LeastRate, Method as Sent};

use super::send_order::Place;
use super::shared::{Connection, code};
use super::stall_timer::StallTimer;
use crate::asking::{Asked, ask, error, method, request};
use crate::handler::{Peer, RequestBody, given};
use crate::listener::canonical;
use crate::memory_budget::Charge;
use crate::report::report;

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
    /// Its method, if it is known.
    method: Option<Sent>,
    priority: Priority,
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
    head: RequestHead<'static>,
    /// For handlers, if there are any.
    content: Option<RequestBody>,
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
            method: None,
            priority: Priority::default(),
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
    pub(super) async fn serve(&mut self) {
        let answer = self.answer().await;
        let led_to_nothing = answer.as_ref().is_err_and(Failure::is_fruitless);
        // A client that reads nothing of its answer keeps no room from others.
        self.held = None;
        let error = |status, text| error(status, text, self.method);
        // The plan, and why the request is not read any further.
        let planned = match answer {
            Ok(plan) => Ok((plan, None)),
            Err(Failure::Request(StreamFailure::Refused(refusal))) => {
                let plan = error(refusal.status, refusal.reason);
                Ok((plan, Some(Code::of(&refusal))))
            }
            Err(Failure::Late) => Ok((error(408, "Request Timeout"), Some(Code::NoError))),
            Err(Failure::Full) => Ok((error(503, "Service Unavailable"), Some(Code::NoError))),
            Err(failure) => Err(failure),
        };
        let sent = match planned {
            Ok((plan, stop)) => {
                let sent = self.send(plan).await;
                if let Some(stop) = stop {
                    let _ = self.receive.stop(code(stop));
                }
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
            Failure::Request(StreamFailure::Refused(refusal)) => Code::of(&refusal),
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
        let mut scratch = shared.scratch.borrow_mut();
        let scratch = &mut *scratch;
        loop {
            let Some(bytes) = ready!(self.poll_piece(context))? else {
                self.stream.end()?;
                let incomplete = StreamFailure::Stream(Code::RequestIncomplete);
                let Waiting { head, content } = self.held.take().ok_or(incomplete)?;
                return Poll::Ready(Ok(self.ask(head, content)));
            };
            let mut input = &*bytes;
            loop {
                let mut content = self.held.as_mut().and_then(|held| held.content.as_mut());
                let buffer = content.as_mut().map(|content| content.buffer());
                let limits = &shared.limits;
                let received = self.stream.receive(limits, &mut input, scratch, buffer);
                if content.is_some_and(|content| content.count().is_err()) {
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
                        return Poll::Ready(Err(failure.into()));
                    }
                }
                self.method = scratch.section.method();
                let head = scratch.section.request()?;
                self.stall_timer.renew();
                self.stream.announce(head.content_length);
                self.priority = head.priority;
                let expects = head.expects_continue;
                let method = method(head.method);
                let refused = matches!(method, Method::NotAllowed | Method::NotImplemented);
                let content = shared
                    .context
                    .common
                    .request_body(&self.connection.seat.account);
                if expects && refused && content.is_none() {
                    // The client asked whether to send the content; it need not (RFC 9110 section
                    // 10.1.1), and if it does all the same nobody reads it.
                    return Poll::Ready(Ok(self.ask(head, None)));
                }
                // Nearly always the end has come with the head, and nothing is copied.
                if input.is_empty() && self.has_ended(context) {
                    self.stream.end()?;
                    return Poll::Ready(Ok(self.ask(head, None)));
                }
                if expects {
                    // A few bytes, for which there is room at the beginning of a stream; who does
                    // not get them sends the content after a while all the same.
                    let mut going_on = [Bytes::from_static(CONTINUE)];
                    let _ = pin!(self.send.write_chunks(&mut going_on)).poll(context);
                }
                let head = head.into_owned();
                self.held = Some(Waiting { head, content });
            }
        }
    }

    /// Asks for the answer to a whole request.
    fn ask(&self, head: RequestHead<'_>, content: Option<RequestBody>) -> Asked {
        let connection = &self.connection;
        let context = &connection.shared.context;
        let (request, lines) = request(head);
        let given = |path: Option<&RequestPath<'_>>| {
            let peer = Peer {
                address: canonical(connection.quic.remote_address()),
                over_tls: true,
            };
            let version = http::Version::HTTP_3;
            given(version, &request, path, lines.iter(), content, Some(peer))
        };
        let now = context.clock.now();
        ask(context, &connection.seat.account, &request, given, now)
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
