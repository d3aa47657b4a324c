//! One request and its answer, on a stream of their own.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, VarInt};
use salver_assets::{Content, Method, Request, ResponsePlan};
use salver_http3::{
    CONTINUE, Code, Event, FieldSection, RequestHead, RequestStream, StreamFailure, Urgency,
    write_data_header,
};

use super::connection::{Connection, code};
use super::patience::Patience;
use super::translate::{given, push_head, request};
use super::turns::Turn;
use crate::asking::{Asked, ask};
use crate::ending::report;
use crate::handler::RequestBody;
use crate::transmit::reading::Reading;

/// What is read from a file at a time.
const PIECE: usize = 64 * 1024;

/// The same, as the reader knows it: QUIC does not tell how much a client wants.
const AHEAD: u64 = 64 * 1024;

/// The delivery of longer content is waited for, so that a shutdown does not cut it off; what is
/// shorter arrives soon.
const LONG: u64 = 64 * 1024;

/// Room for the head of an answer.
const HEAD: usize = 512;

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
    applied: Urgency,
    /// Up to when the client's priorities have been looked at.
    reprioritised: u64,
    patience: Patience,
    /// While content is on its way.
    turn: Option<Turn>,
}

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
    pub(super) fn new(connection: Rc<Connection>, send: SendStream, receive: RecvStream) -> Self {
        Exchange {
            connection,
            send,
            receive,
            stream: RequestStream::default(),
            held: None,
            next: None,
            is_head: false,
            urgency: Urgency::default(),
            applied: Urgency::default(),
            reprioritised: 0,
            patience: Patience::default(),
            turn: None,
        }
    }

    /// Reads the request and answers it.
    pub(super) async fn serve(mut self) {
        let answer = self.answer().await;
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
        self.patience.renew();
        let asked = asked?;
        Ok(match asked {
            Asked::Plan(plan) => plan,
            Asked::Later(mut plan) => {
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
                    Ok(Event::Incomplete) => break,
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
                self.patience.renew();
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
        let address = || connection.quic.remote_address();
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
                if self.patience.is_over(shared, context, timeout, || 0) {
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

    /// Sends the answer, all of it.
    async fn send(&mut self, plan: ResponsePlan) -> Result<(), Failure> {
        let connection = Rc::clone(&self.connection);
        let shared = &connection.shared;
        self.turn = Some(connection.turns.take(self.urgency.value()));
        self.prioritise();
        let mut head = Vec::with_capacity(HEAD);
        push_head(
            &mut head,
            &plan,
            &shared.context.clock.date(),
            &shared.front,
        );
        let length = match plan.content {
            Content::Empty => {
                self.write(&mut [head.into()]).await?;
                0
            }
            Content::Memory(bytes) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                write_data_header(&mut head, length);
                self.write(&mut [head.into(), bytes]).await?;
                length
            }
            content @ (Content::File(_) | Content::Parts(_)) => {
                let mut reading = Reading::new(content);
                let length = reading.left();
                write_data_header(&mut head, length);
                let mut sent = self.write(&mut [head.into()]).await;
                while sent.is_ok() && reading.left() > 0 {
                    self.prioritise();
                    let disk = connection.disk();
                    let next = poll_fn(|cx| reading.poll_next(&disk, cx, PIECE, AHEAD));
                    sent = match next.await {
                        Ok(piece) => self.write(&mut [piece]).await,
                        Err(error) => Err(Failure::Content(error)),
                    };
                }
                reading.end(&connection.disk());
                sent?;
                length
            }
        };
        self.turn = None;
        // Fails only if the client does not want it any more.
        let _ = self.send.finish();
        if length > LONG || connection.drains() {
            self.deliver().await?;
        }
        Ok(())
    }

    /// Has QUIC send this answer before less urgent ones.
    fn prioritise(&mut self) {
        let said = self.connection.reprioritised();
        if said != self.reprioritised {
            self.reprioritised = said;
            let stream = VarInt::from(self.send.id()).into_inner();
            if let Some(urgency) = self.connection.urgency(stream) {
                self.urgency = urgency;
            }
        }
        if self.urgency != self.applied {
            self.applied = self.urgency;
            if let Some(turn) = &mut self.turn {
                turn.change(self.urgency.value());
            }
            // In QUIC the larger number comes first, and nothing said is 0.
            let usual = i32::from(Urgency::default().value());
            let _ = self
                .send
                .set_priority(usual - i32::from(self.urgency.value()));
        }
    }

    /// Hands over all of `chunks` to QUIC, as there is room for it.
    async fn write(&mut self, mut chunks: &mut [Bytes]) -> Result<(), Failure> {
        while !chunks.is_empty() {
            let written = poll_fn(|context| self.poll_write(context, chunks)).await?;
            chunks = chunks.get_mut(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// How many of `chunks` are written whole.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        chunks: &mut [Bytes],
    ) -> Poll<Result<usize, Failure>> {
        if let Some(turn) = &mut self.turn {
            ready!(turn.poll(context));
        }
        let written = pin!(self.send.write_chunks(chunks)).poll(context);
        match written {
            Poll::Ready(written) => {
                if let Some(turn) = &mut self.turn {
                    turn.handed_over();
                }
                self.patience.renew();
                let written = written.map(|written| written.chunks);
                Poll::Ready(written.map_err(|_| Failure::Gone))
            }
            Poll::Pending if self.takes_nothing(context) => Poll::Ready(Err(Failure::Stalled)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Waits until the client has everything.
    async fn deliver(&mut self) -> Result<(), Failure> {
        let mut delivered = pin!(self.send.stopped());
        poll_fn(|context| match delivered.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(Ok(())),
            Poll::Pending if self.takes_nothing(context) => Poll::Ready(Err(Failure::Stalled)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Whether the client took nothing for too long, of this answer or of any other.
    fn takes_nothing(&mut self, context: &Context<'_>) -> bool {
        let shared = &self.connection.shared;
        let timeout = shared.context.common.settings.send_timeout;
        let progress = || self.connection.sent();
        self.patience.is_over(shared, context, timeout, progress)
    }
}
