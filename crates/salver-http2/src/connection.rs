//! The protocol of one connection: frames in, events out; answers in, frames out.

mod answer;
mod content;
mod control;
mod event;
mod goaway;
mod section;

pub use self::answer::Stalled;
pub use self::event::Event;

use salver_fields::{Priority, Rejection, RequestHead, Scratch};
use salver_semantics::{FloodGuard, Method, RateCredit, Refusal};

use self::goaway::GoawayState;
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::{Frame, PREFACE, flag, kind, push_number, push_settings, setting};
use crate::hpack::Decoder;
use crate::limits::Limits;
use crate::streams::{Stream, StreamState, Streams};

/// The window that each side has until it is told otherwise (RFC 9113 section 6.9.2).
const INITIAL_WINDOW: i64 = 65_535;

/// The phase of a connection, which decides the time limit that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// No stream is open.
    Idle,
    /// A part of the preface or of a field block has been received.
    Head,
    /// The content of a request is awaited, and no answer is being made or sent.
    Body,
    /// Answers are being made or sent.
    Answering,
}

/// The protocol of one connection. `T` is the content of an answer that is being sent, which the caller gives.
#[derive(Debug)]
pub struct Connection<T> {
    /// The number of bytes of the preface that have been received.
    preface: usize,
    /// True after the client's first SETTINGS.
    is_open: bool,
    has_ended: bool,
    decoder: Decoder,
    block: Option<Box<FieldBlock>>,
    streams: Streams<T>,
    /// The highest stream that the client has opened.
    last: u32,
    /// The streams that the client opened: bit n stands for stream `last - 2n`.
    opened: u64,
    /// The streams that this side reset, whose later frames are ignored: bit n stands for stream `last - 2n`.
    reset: u64,
    /// The connection's flow-control window: the bytes that may be sent on all streams together.
    window: i64,
    /// The window of a new stream.
    initial_window: i64,
    /// The bytes of content that the client may still send on all streams together.
    receive_window: i64,
    /// The bytes up to which that window is widened.
    receive_limit: i64,
    /// The bytes of content that the client may have sent on streams whose answers were whole before, and that lead to
    /// nothing by no fault of its own.
    granted: u64,
    /// True if the next field block must announce that this side uses no dynamic table.
    resize: bool,
    flood_guard: FloodGuard,
    /// The priorities of streams that are not open yet.
    priorities: Vec<(u32, Priority)>,
    /// The bytes of content sent for which the client has not widened a window yet.
    credit: u64,
    goaway_state: GoawayState,
    /// The client's credit of time while its connection window is used up.
    pace: Option<RateCredit>,
    /// The bytes of content sent since the pace was checked.
    sent: u64,
    /// The bytes that may be held before further streams are refused.
    room: usize,
    peer_goes_away: bool,
    /// A counter of requests and of content, see [`progress`](Connection::progress).
    progress: u64,
}

/// The arguments of [`Connection::receive`] that each of its steps needs.
struct ReceiveArgs<'a> {
    limits: &'a Limits,
    second: u64,
    out: &'a mut Vec<u8>,
}

/// A field block that is incomplete.
#[derive(Debug)]
struct FieldBlock {
    stream: u32,
    ends_stream: bool,
    /// True if the stream depends on itself (RFC 7540 section 5.3.1).
    depends_on_itself: bool,
    bytes: Vec<u8>,
}

impl<T> Default for Connection<T> {
    fn default() -> Self {
        Connection::new()
    }
}

impl<T> Connection<T> {
    /// A connection on which nothing has been received.
    pub fn new() -> Self {
        Connection {
            preface: 0,
            is_open: false,
            has_ended: false,
            decoder: Decoder::new(),
            block: None,
            streams: Streams::new(),
            last: 0,
            opened: 0,
            reset: 0,
            window: INITIAL_WINDOW,
            initial_window: INITIAL_WINDOW,
            receive_window: INITIAL_WINDOW,
            receive_limit: INITIAL_WINDOW,
            granted: 0,
            resize: false,
            flood_guard: FloodGuard::default(),
            priorities: Vec::new(),
            credit: 0,
            goaway_state: GoawayState::Unsent,
            pace: None,
            sent: 0,
            room: usize::MAX,
            peer_goes_away: false,
            progress: 0,
        }
    }

    /// Appends the server's preface: its SETTINGS.
    pub fn begin(&self, limits: &Limits, out: &mut Vec<u8>) {
        let max_head = u32::try_from(limits.request.max_head).unwrap_or(u32::MAX);
        let settings = [
            (setting::MAX_CONCURRENT_STREAMS, limits.max_streams),
            (setting::MAX_HEADER_LIST_SIZE, max_head),
            (setting::NO_RFC7540_PRIORITIES, 1),
            // RFC 8441 section 3: a program may accept an extended CONNECT, files never do.
            (setting::ENABLE_CONNECT_PROTOCOL, 1),
        ];
        let count = settings.len() - usize::from(!limits.for_program);
        push_settings(out, settings.get(..count).unwrap_or_default());
    }

    /// The phase of the connection.
    pub fn phase(&self) -> Phase {
        if self.block.is_some() || !self.is_open {
            return Phase::Head;
        }
        if self.streams.len() == 0 {
            return Phase::Idle;
        }
        if self.streams.is_answering() {
            Phase::Answering
        } else {
            Phase::Body
        }
    }

    /// A counter that grows with every request, and with content that is received or sent. A client for which it
    /// stands still only keeps the connection busy.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// True if the connection can be closed: no stream is open, and none will be.
    pub fn is_over(&self) -> bool {
        let no_more = self.peer_goes_away || self.goes_away();
        self.has_ended || no_more && self.streams.len() == 0
    }

    /// The memory of streams and of incomplete input, in bytes, without the content of answers that the caller keeps
    /// elsewhere.
    pub fn held(&self) -> usize {
        let block = self.block.as_ref();
        block.map_or(0, |block| block.bytes.capacity()) + self.streams.held()
    }

    /// Sets the limit in bytes of [`held`](Self::held) beyond which further streams are refused (RFC 9113 section
    /// 8.7: they can be sent again). A few are always accepted. At first there is no limit.
    pub fn limit_held(&mut self, bytes: usize) {
        self.room = bytes;
    }

    /// The method of the request on a stream whose content is awaited.
    pub fn method(&mut self, stream: u32) -> Option<Method> {
        let stream = self.streams.get(stream)?;
        let given = stream.incoming.as_ref().map(|incoming| incoming.method);
        given.or(match &stream.state {
            StreamState::Receiving(incoming) => Some(incoming.request.method),
            StreamState::Answering | StreamState::Sending { .. } => None,
        })
    }

    /// True if a stream is open.
    pub fn is_open(&mut self, stream: u32) -> bool {
        self.streams.get(stream).is_some()
    }

    /// The number of open streams.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes the bytes that have been received and not yet been consumed. Returns the number of bytes consumed, and
    /// the event; frames for the client are appended to `out`.
    ///
    /// Until the event is [`Event::Incomplete`] or [`Event::Ended`], call again with what is left.
    /// With `Incomplete` fewer bytes are left than one frame has at most. `second` is a clock that
    /// never goes back.
    pub fn receive<'s>(
        &mut self,
        limits: &Limits,
        input: &'s [u8],
        second: u64,
        scratch: &'s mut Scratch,
        out: &mut Vec<u8>,
    ) -> (usize, Event<'s, T>) {
        let mut consumed = 0;
        let done = loop {
            if self.has_ended {
                return (input.len(), Event::Ended);
            }
            let rest = input.get(consumed..).unwrap_or_default();
            let mut args = ReceiveArgs {
                limits,
                second,
                out,
            };
            let (length, done) = match self.read(&mut args, scratch, rest) {
                Ok(read) => read,
                Err(error) => {
                    let frame = Frame::read(rest).ok().flatten();
                    let length = frame.map_or(rest.len(), |(length, _)| length);
                    (length, self.handle_error(limits, second, error, args.out))
                }
            };
            consumed += length;
            match done {
                FrameOutcome::Frame => {}
                done => break done,
            }
        };
        let event = match done {
            FrameOutcome::Incomplete => Event::Incomplete,
            FrameOutcome::Closed(stream, content) => Event::Cancelled { stream, content },
            FrameOutcome::Content(stream, content, ends) => Event::Content {
                stream,
                content,
                ends,
            },
            FrameOutcome::Trailers(stream) => Event::Trailers {
                stream,
                lines: scratch.section.lines(),
            },
            FrameOutcome::Request(stream, request) => Event::Request {
                stream,
                request: *request,
                is_whole: true,
            },
            FrameOutcome::Refused(stream, method, refusal) => Event::Refused {
                stream,
                method,
                refusal,
            },
            FrameOutcome::Head(stream, ends) => match scratch.section.request() {
                // RFC 9113 section 8.1.1.
                Ok(head) if ends && head.content_length.is_some_and(|length| length > 0) => {
                    self.malformed(limits, second, stream, out)
                }
                Ok(head) => self.open(limits, stream, ends, (head, scratch.section.held())),
                Err(Rejection::Refused(refusal)) => {
                    self.open_answering(stream, ends, Priority::default());
                    Event::Refused {
                        stream,
                        method: scratch.section.method(),
                        refusal,
                    }
                }
                Err(Rejection::Malformed(_)) => self.malformed(limits, second, stream, out),
            },
            FrameOutcome::Frame | FrameOutcome::Ended => Event::Ended,
        };
        (consumed, event)
    }

    fn read<'i>(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        scratch: &mut Scratch,
        input: &'i [u8],
    ) -> Result<(usize, FrameOutcome<'i, T>), ProtocolError> {
        if self.preface < PREFACE.len() {
            let expected = PREFACE.get(self.preface..).unwrap_or_default();
            let count = expected.len().min(input.len());
            if input.get(..count) != expected.get(..count) {
                return Err(ErrorCode::PROTOCOL_ERROR.into());
            }
            self.preface += count;
            let done = if count < expected.len() {
                FrameOutcome::Incomplete
            } else {
                FrameOutcome::Frame
            };
            return Ok((count, done));
        }
        let Some((length, frame)) = Frame::read(input)? else {
            return Ok((0, FrameOutcome::Incomplete));
        };
        // Section 3.4: SETTINGS first.
        if !self.is_open && (frame.kind != kind::SETTINGS || frame.has(flag::ACK)) {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        // Section 6.10: nothing between the parts of a field block.
        let continued = self.block.as_ref().map(|block| block.stream);
        let continues = frame.kind == kind::CONTINUATION;
        if continues != continued.is_some() || continues && continued != Some(frame.stream) {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let done = match frame.kind {
            kind::DATA => self.data(args, &frame),
            kind::HEADERS => self.headers(args, scratch, &frame),
            kind::CONTINUATION => self.continuation(args, scratch, &frame),
            kind::PRIORITY => self.priority(args, &frame),
            kind::RST_STREAM => self.reset_by_peer(args, &frame),
            kind::SETTINGS => self.settings(args, &frame),
            kind::PUSH_PROMISE => Err(ErrorCode::PROTOCOL_ERROR.into()),
            kind::PING => self.ping(args, &frame),
            kind::GOAWAY => self.goaway(args, &frame),
            kind::WINDOW_UPDATE => self.window_update(args, &frame),
            kind::PRIORITY_UPDATE => self.priority_update(args, &frame),
            // Section 4.1: unknown types are ignored.
            _ => self.idle_frame(args),
        }?;
        Ok((length, done))
    }

    /// The outcome of a frame that leads to nothing, which is counted.
    fn idle_frame<'i>(
        &mut self,
        args: &ReceiveArgs<'_>,
    ) -> Result<FrameOutcome<'i, T>, ProtocolError> {
        self.count_idle_frame(args).map(|()| FrameOutcome::Frame)
    }

    /// Counts a frame that leads to nothing.
    fn count_idle_frame(&mut self, args: &ReceiveArgs<'_>) -> Result<(), ProtocolError> {
        let most = args.limits.max_idle_frames;
        match self.flood_guard.spend(most, args.second) {
            true => Ok(()),
            false => Err(ErrorCode::ENHANCE_YOUR_CALM.into()),
        }
    }

    /// The request that was to open a stream is malformed: an error of the stream (RFC 9113 section 8.1.1).
    fn malformed<'s>(
        &mut self,
        limits: &Limits,
        second: u64,
        stream: u32,
        out: &mut Vec<u8>,
    ) -> Event<'s, T> {
        let error = ErrorCode::PROTOCOL_ERROR.on(stream);
        match self.handle_error(limits, second, error, out) {
            FrameOutcome::Ended => Event::Ended,
            _ => Event::Again,
        }
    }

    /// Resets the stream of a error, or ends the connection with GOAWAY.
    fn handle_error(
        &mut self,
        limits: &Limits,
        second: u64,
        error: ProtocolError,
        out: &mut Vec<u8>,
    ) -> FrameOutcome<'static, T> {
        let code = match error {
            ProtocolError::Stream(stream, code)
                if self.flood_guard.spend(limits.max_idle_frames, second) =>
            {
                return match self.reset(stream, code, out) {
                    Some(closed) => FrameOutcome::Closed(stream, content(closed)),
                    None => FrameOutcome::Frame,
                };
            }
            ProtocolError::Stream(..) => ErrorCode::ENHANCE_YOUR_CALM,
            ProtocolError::Connection(code) => code,
        };
        self.push_goaway(code, out);
        self.has_ended = true;
        FrameOutcome::Ended
    }

    /// Resets a stream from this side.
    fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) -> Option<Stream<T>> {
        push_number(out, kind::RST_STREAM, stream, code.0);
        self.mark_reset(stream);
        self.streams.close(stream)
    }

    /// The bit of a stream in `opened` and `reset`; 0 for one that is too old.
    fn bit(&self, stream: u32) -> u64 {
        let age = self.last.saturating_sub(stream) / 2;
        1u64.checked_shl(age).unwrap_or(0)
    }

    fn mark_reset(&mut self, stream: u32) {
        self.reset |= self.bit(stream);
    }

    /// The reason why a stream is not open, which decides how a frame on it is treated (RFC 9113 section 5.1).
    fn closed_reason(&self, stream: u32) -> ClosedReason {
        if stream > self.last {
            ClosedReason::Idle
        } else if self.reset & self.bit(stream) != 0 {
            ClosedReason::ResetHere
        } else {
            ClosedReason::Ended
        }
    }
}

fn content<T>(stream: Stream<T>) -> Option<T> {
    match stream.state {
        StreamState::Sending { content, .. } => Some(content),
        StreamState::Receiving(_) | StreamState::Answering => None,
    }
}

/// The outcome of one frame.
#[derive(Debug)]
enum FrameOutcome<'i, T> {
    Incomplete,
    /// A frame that is of no use to the caller.
    Frame,
    /// A stream that was reset, and the content of its answer.
    Closed(u32, Option<T>),
    /// A piece of content, and true if it is the last.
    Content(u32, &'i [u8], bool),
    /// Trailers. They are in the scratch.
    Trailers(u32),
    /// A field section that opens a stream, and true if it ends the client's side. It is in the scratch.
    Head(u32, bool),
    Request(u32, Box<RequestHead<'static>>),
    Refused(u32, Option<Method>, Refusal),
    Ended,
}

/// The reason why a stream is not open.
enum ClosedReason {
    Idle,
    ResetHere,
    Ended,
}

#[cfg(test)]
mod tests;
