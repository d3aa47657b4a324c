//! Field sections: the heads of requests, and trailers.

use salver_fields::{FieldSection, Priority, Rejection, RequestHead, Scratch};

use super::{Block, Call, Closed, Connection, Done, Event};
use crate::error::{ErrorCode, Fault};
use crate::frame::{Frame, depends_on, flag};
use crate::limits::Limits;
use crate::streams::{Incoming, State};

/// Streams that are open at a time however short memory is.
const LEAST_STREAMS: usize = 4;

/// A field block comes in so many bytes at most, as multiple of `max_head`.
const BLOCK_FACTOR: usize = 2;

impl<T> Connection<T> {
    pub(super) fn headers(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        // Section 5.1.1: clients open odd streams.
        if frame.stream.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let mut block = frame.unpadded()?;
        let mut is_selfish = false;
        if frame.has(flag::PRIORITY) {
            let (dependency, rest) = block
                .split_at_checked(5)
                .ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
            is_selfish = depends_on(dependency) == Some(frame.stream);
            block = rest;
        }
        let head = Block {
            stream: frame.stream,
            ends_stream: frame.has(flag::END_STREAM),
            is_selfish,
            bytes: Vec::new(),
        };
        if frame.has(flag::END_HEADERS) {
            return self.section(call, &head, block);
        }
        self.block = Some(Box::new(Block {
            bytes: block.to_vec(),
            ..head
        }));
        Ok(Done::Frame)
    }

    pub(super) fn continuation(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        let Some(mut block) = self.block.take() else {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        };
        if frame.payload.is_empty() {
            self.spend(call)?;
        }
        block.bytes.extend_from_slice(frame.payload);
        if block.bytes.len() > call.limits.request.max_head.saturating_mul(BLOCK_FACTOR) {
            return Err(ErrorCode::ENHANCE_YOUR_CALM.into());
        }
        if !frame.has(flag::END_HEADERS) {
            self.block = Some(block);
            return Ok(Done::Frame);
        }
        let bytes = std::mem::take(&mut block.bytes);
        self.section(call, &block, &bytes)
    }

    /// A whole field section. Whatever becomes of it, it is decoded: the next one may refer to it.
    fn section(
        &mut self,
        call: &mut Call<'_>,
        block: &Block,
        bytes: &[u8],
    ) -> Result<Done<'static, T>, Fault> {
        let mut scratch = std::mem::take(call.scratch);
        let done = self.decoded(call, block, bytes, &mut scratch);
        *call.scratch = scratch;
        done
    }

    fn decoded(
        &mut self,
        call: &Call<'_>,
        block: &Block,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Done<'static, T>, Fault> {
        let Scratch { section, text } = scratch;
        section.keep_lines(call.limits.for_program);
        section.clear();
        self.decoder
            .decode(bytes, text, |line| section.add(&call.limits.request, line))
            .map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        let id = block.stream;
        if id <= self.last {
            return self.trailers(call, block, section);
        }
        let distance = (id - self.last) / 2;
        self.opened = self.opened.checked_shl(distance).unwrap_or(0) | 1;
        self.reset = self.reset.checked_shl(distance).unwrap_or(0);
        self.last = id;
        if self.goes_away() {
            // The client has been told, or is being told.
            self.mark_reset(id);
            self.spend(call)?;
            return Ok(Done::Frame);
        }
        if block.is_selfish {
            return Err(Fault::Stream(id, ErrorCode::PROTOCOL_ERROR));
        }
        let most = usize::try_from(call.limits.max_streams).unwrap_or(usize::MAX);
        let crowded = self.held() > self.room && self.streams.len() >= LEAST_STREAMS;
        if self.streams.len() >= most || crowded {
            return Err(Fault::Stream(id, ErrorCode::REFUSED_STREAM));
        }
        Ok(Done::Head(id, block.ends_stream))
    }

    /// Opens a stream by its request, of which so many bytes of memory are held.
    pub(super) fn open<'s>(
        &mut self,
        limits: &Limits,
        id: u32,
        ends: bool,
        (request, held): (RequestHead<'s>, usize),
        out: &mut Vec<u8>,
    ) -> Event<'s, T> {
        let (priority, expects_continue) = (request.priority, request.expects_continue);
        // Files need no content: who asks whether to send it is answered at once.
        let wants_content = limits.for_program || !expects_continue;
        if ends || !wants_content {
            self.open_answering(id, ends, priority);
            return Event::Request {
                stream: id,
                request,
                content: &[],
            };
        }
        if expects_continue {
            self.go_on(id, out);
        }
        let incoming = Incoming {
            request: request.into_owned(),
            received: 0,
            held,
        };
        let state = State::Receiving(Box::new(incoming));
        self.open_in(state, id, ends, priority);
        Event::Again
    }

    /// Opens a stream whose request can be answered.
    pub(super) fn open_answering(&mut self, id: u32, ends: bool, priority: Priority) {
        self.progress += 1;
        self.open_in(State::Answering, id, ends, priority);
    }

    fn open_in(&mut self, state: State<T>, id: u32, ends: bool, priority: Priority) {
        let early = self.priorities.iter().position(|(stream, _)| *stream == id);
        let priority = match early {
            Some(place) => self.priorities.swap_remove(place).1,
            None => priority,
        };
        self.streams
            .open(id, state, ends, self.initial_window, priority);
    }

    /// A field section on a stream that is, or was, open.
    fn trailers(
        &mut self,
        call: &Call<'_>,
        block: &Block,
        section: &FieldSection,
    ) -> Result<Done<'static, T>, Fault> {
        let id = block.stream;
        let (closed, was_opened) = (self.on_closed(id), self.opened & self.bit(id) != 0);
        let Some(stream) = self.streams.get(id) else {
            return match closed {
                // Of a stream this old it is no longer known how it ended.
                _ if self.bit(id) == 0 => self.spend(call).map(|()| Done::Frame),
                Closed::ResetHere => self.spend(call).map(|()| Done::Frame),
                // Section 5.1.1: a stream that was passed over cannot be opened any more.
                _ if !was_opened => Err(ErrorCode::PROTOCOL_ERROR.into()),
                _ => Err(ErrorCode::STREAM_CLOSED.into()),
            };
        };
        if stream.is_whole {
            return Err(ErrorCode::STREAM_CLOSED.into());
        }
        // Section 8.1: trailers end the stream.
        let is_wrong = !block.ends_stream || block.is_selfish;
        stream.is_whole = true;
        let is_short = match &stream.state {
            State::Receiving(incoming) => {
                let expected = incoming.request.content_length;
                expected.is_some_and(|expected| expected != incoming.received)
            }
            State::Answering | State::Sending { .. } => false,
        };
        match section.check_trailers() {
            Ok(()) if !is_wrong && !is_short => Ok(self.answer_held(id, &[])),
            Err(Rejection::Refused(refusal)) if !is_wrong => Ok(self.refuse_held(id, refusal)),
            _ => Err(Fault::Stream(id, ErrorCode::PROTOCOL_ERROR)),
        }
    }
}
