//! One connection: frames in, events out; answers in, frames out.

mod answer;
mod content;
mod control;
mod goodbye;
mod section;

pub use self::answer::Stalled;

use salver_fields::{Priority, Rejection, RequestHead, Scratch};
use salver_semantics::{FloodGuard, Method, RateCredit, Refusal};

use self::goodbye::Goodbye;
use crate::error::{ErrorCode, Fault};
use crate::frame::{Frame, PREFACE, flag, kind, push_number, push_settings, setting};
use crate::hpack::Decoder;
use crate::limits::Limits;
use crate::streams::{State, Stream, Streams};

/// The window that each side has until it is told otherwise (RFC 9113 section 6.9.2).
const INITIAL_WINDOW: i64 = 65_535;

/// What the bytes so far amount to.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all events are requests")]
pub enum Event<'s, T> {
    /// Nothing yet: call again when there is more input.
    Incomplete,
    /// Nothing that the caller need know: call again with what is left.
    Again,
    /// Content of a request that is not whole yet; for who has a use for it. Each piece comes once.
    Content {
        /// Its stream.
        stream: u32,
        /// The next piece of the content.
        content: &'s [u8],
    },
    /// Answer this: by [`Connection::respond`], now or later.
    Request {
        /// Its stream.
        stream: u32,
        /// The request.
        request: RequestHead<'s>,
        /// The last piece of its content.
        content: &'s [u8],
    },
    /// Answer this request by its refusal: by [`Connection::respond`], now or later.
    Refused {
        /// Its stream.
        stream: u32,
        /// Its method, if it is known.
        method: Option<Method>,
        /// The status, and a sentence for people.
        refusal: Refusal,
    },
    /// A request is withdrawn, or its answer is not wanted any more, or cannot be had.
    Cancelled {
        /// The stream.
        stream: u32,
        /// What its answer was made of, if it was on its way.
        content: Option<T>,
    },
    /// Send what is to be sent, and close.
    Ended,
}

/// What a connection is doing: it decides which time limit applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// No stream is open.
    Idle,
    /// The preface or a field block has come in part.
    Head,
    /// The content of a request is awaited, and no answer is on its way.
    Body,
    /// Answers are on their way.
    Answering,
}

/// One connection. `T` is what the caller keeps with an answer that is on its way.
#[derive(Debug)]
pub struct Connection<T> {
    /// Bytes of the preface that have come.
    preface: usize,
    /// Whether the client's first SETTINGS have come.
    is_open: bool,
    has_ended: bool,
    decoder: Decoder,
    block: Option<Box<Block>>,
    streams: Streams<T>,
    /// The highest stream that the client has opened.
    last: u32,
    /// Bit n: the client opened stream `last - 2n`.
    opened: u64,
    /// Bit n: stream `last - 2n` was reset by this side; what was on its way is ignored.
    reset: u64,
    /// Bytes that may be sent on all streams together.
    window: i64,
    /// The window of a new stream.
    initial_window: i64,
    /// Content received since the client last heard of its window.
    taken: u32,
    /// The next field block must say that this side uses no dynamic table.
    resize: bool,
    flood_guard: FloodGuard,
    /// Of streams that are not open yet.
    priorities: Vec<(u32, Priority)>,
    /// Bytes of content sent for which the client has not widened a window yet.
    credit: u64,
    goodbye: Goodbye,
    /// What the client may still take its time for while it lets nothing be sent at all.
    pace: Option<RateCredit>,
    /// Bytes of content sent since the pace was looked at.
    sent: u64,
    /// Bytes that may be held before further streams are refused.
    room: usize,
    peer_goes_away: bool,
    /// Grows with everything that leads somewhere.
    progress: u64,
}

/// What each step of receiving needs of its caller.
struct Call<'a> {
    limits: &'a Limits,
    second: u64,
    scratch: &'a mut Scratch,
    out: &'a mut Vec<u8>,
}

/// A field block that has come in part.
#[derive(Debug)]
struct Block {
    stream: u32,
    ends_stream: bool,
    /// Depends on itself (RFC 7540 section 5.3.1).
    is_selfish: bool,
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
            taken: 0,
            resize: false,
            flood_guard: FloodGuard::new(),
            priorities: Vec::new(),
            credit: 0,
            goodbye: Goodbye::Unsaid,
            pace: None,
            sent: 0,
            room: usize::MAX,
            peer_goes_away: false,
            progress: 0,
        }
    }

    /// Appends what this side sends first.
    pub fn begin(&self, limits: &Limits, out: &mut Vec<u8>) {
        let max_head = u32::try_from(limits.request.max_head).unwrap_or(u32::MAX);
        push_settings(
            out,
            &[
                (setting::MAX_CONCURRENT_STREAMS, limits.max_streams),
                (setting::MAX_HEADER_LIST_SIZE, max_head),
                (setting::NO_RFC7540_PRIORITIES, 1),
            ],
        );
    }

    /// What the connection is doing.
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

    /// Grows with every request, with content that comes and with content that is sent. A client
    /// for which it stands still only keeps the connection busy.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// Whether nothing is left to do, and nothing will come.
    pub fn is_over(&self) -> bool {
        let no_more = self.peer_goes_away || self.goes_away();
        self.has_ended || no_more && self.streams.len() == 0
    }

    /// Memory that is held for streams, and for input that is not whole, in bytes. Not what the caller
    /// keeps elsewhere of the answers.
    pub fn held(&self) -> usize {
        let block = self.block.as_ref();
        block.map_or(0, |block| block.bytes.capacity()) + self.streams.held()
    }

    /// From now on refuses further streams while more than this is held, in bytes (RFC 9113 section 8.7: they
    /// can be sent again). A few are always taken. At first there is no such bound.
    pub fn limit_held(&mut self, bytes: usize) {
        self.room = bytes;
    }

    /// The method of the request on a stream whose content is awaited.
    pub fn method(&mut self, stream: u32) -> Option<Method> {
        match &self.streams.get(stream)?.state {
            State::Receiving(incoming) => Some(incoming.request.method),
            State::Answering | State::Sending { .. } => None,
        }
    }

    /// Streams that are open.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Takes what has been received and not yet been consumed. Returns how many bytes are consumed
    /// and what they amount to; what has to be said to the client is appended to `out`.
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
            let mut call = Call {
                limits,
                second,
                scratch,
                out,
            };
            let (length, done) = match self.read(&mut call, rest) {
                Ok(read) => read,
                Err(fault) => {
                    let frame = Frame::read(rest).ok().flatten();
                    let length = frame.map_or(rest.len(), |(length, _)| length);
                    (length, self.give_up(limits, second, fault, call.out))
                }
            };
            consumed += length;
            match done {
                Done::Frame => {}
                done => break done,
            }
        };
        let event = match done {
            Done::Incomplete => Event::Incomplete,
            Done::Closed(stream, content) => Event::Cancelled { stream, content },
            Done::Content(stream, content) => Event::Content { stream, content },
            Done::Held(stream, request, content) => Event::Request {
                stream,
                request: *request,
                content,
            },
            Done::Refused(stream, method, refusal) => Event::Refused {
                stream,
                method,
                refusal,
            },
            Done::Head(stream, ends) => match scratch.section.request() {
                // RFC 9113 section 8.1.1.
                Ok(head) if ends && head.content_length.is_some_and(|length| length > 0) => {
                    self.malformed(limits, second, stream, out)
                }
                Ok(head) => self.open(limits, stream, ends, (head, scratch.section.held()), out),
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
            Done::Frame | Done::Ended => Event::Ended,
        };
        (consumed, event)
    }

    fn read<'i>(
        &mut self,
        call: &mut Call<'_>,
        input: &'i [u8],
    ) -> Result<(usize, Done<'i, T>), Fault> {
        if self.preface < PREFACE.len() {
            let expected = PREFACE.get(self.preface..).unwrap_or_default();
            let count = expected.len().min(input.len());
            if input.get(..count) != expected.get(..count) {
                return Err(ErrorCode::PROTOCOL_ERROR.into());
            }
            self.preface += count;
            let done = if count < expected.len() {
                Done::Incomplete
            } else {
                Done::Frame
            };
            return Ok((count, done));
        }
        let Some((length, frame)) = Frame::read(input)? else {
            return Ok((0, Done::Incomplete));
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
            kind::DATA => self.data(call, &frame),
            kind::HEADERS => self.headers(call, &frame),
            kind::CONTINUATION => self.continuation(call, &frame),
            kind::PRIORITY => self.priority(call, &frame),
            kind::RST_STREAM => self.reset_by_peer(call, &frame),
            kind::SETTINGS => self.settings(call, &frame),
            kind::PUSH_PROMISE => Err(ErrorCode::PROTOCOL_ERROR.into()),
            kind::PING => self.ping(call, &frame),
            kind::GOAWAY => self.goaway(call, &frame),
            kind::WINDOW_UPDATE => self.window_update(call, &frame),
            kind::PRIORITY_UPDATE => self.priority_update(call, &frame),
            // Section 4.1: what is unknown is ignored.
            _ => self.spend(call).map(|()| Done::Frame),
        }?;
        Ok((length, done))
    }

    /// A frame that leads to nothing.
    fn spend(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        if self
            .flood_guard
            .spend(call.limits.max_idle_frames, call.second)
        {
            Ok(())
        } else {
            Err(ErrorCode::ENHANCE_YOUR_CALM.into())
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
        let fault = Fault::Stream(stream, ErrorCode::PROTOCOL_ERROR);
        match self.give_up(limits, second, fault, out) {
            Done::Ended => Event::Ended,
            _ => Event::Again,
        }
    }

    /// Says what was wrong.
    fn give_up(
        &mut self,
        limits: &Limits,
        second: u64,
        fault: Fault,
        out: &mut Vec<u8>,
    ) -> Done<'static, T> {
        let code = match fault {
            Fault::Stream(stream, code)
                if self.flood_guard.spend(limits.max_idle_frames, second) =>
            {
                return match self.reset(stream, code, out) {
                    Some(closed) => Done::Closed(stream, content(closed)),
                    None => Done::Frame,
                };
            }
            Fault::Stream(..) => ErrorCode::ENHANCE_YOUR_CALM,
            Fault::Connection(code) => code,
        };
        self.push_goaway(code, out);
        self.has_ended = true;
        Done::Ended
    }

    /// Resets a stream from this side.
    fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) -> Option<Stream<T>> {
        push_number(out, kind::RST_STREAM, stream, code.0);
        self.mark_reset(stream);
        self.streams.close(stream)
    }

    /// The bit of a stream in the masks; 0 for one that is too old.
    fn bit(&self, stream: u32) -> u64 {
        let age = self.last.saturating_sub(stream) / 2;
        1u64.checked_shl(age).unwrap_or(0)
    }

    fn mark_reset(&mut self, stream: u32) {
        self.reset |= self.bit(stream);
    }

    /// What a frame on a stream that is not open means (RFC 9113 section 5.1).
    fn on_closed(&self, stream: u32) -> Closed {
        if stream > self.last {
            Closed::Idle
        } else if self.reset & self.bit(stream) != 0 {
            Closed::ResetHere
        } else {
            Closed::Ended
        }
    }
}

fn content<T>(stream: Stream<T>) -> Option<T> {
    match stream.state {
        State::Sending { content, .. } => Some(content),
        State::Receiving(_) | State::Answering => None,
    }
}

/// What one frame amounts to.
#[derive(Debug)]
enum Done<'i, T> {
    Incomplete,
    /// Nothing that the caller need know.
    Frame,
    /// A stream was reset.
    Closed(u32, Option<T>),
    Content(u32, &'i [u8]),
    /// A field section that opens a stream, and whether it ends the client's side. It is in the
    /// scratch.
    Head(u32, bool),
    Held(u32, Box<RequestHead<'static>>, &'i [u8]),
    Refused(u32, Option<Method>, Refusal),
    Ended,
}

/// Why a stream is not open.
enum Closed {
    Idle,
    ResetHere,
    Ended,
}

#[cfg(test)]
mod tests;
