//! Field sections as frames bring them: the heads of requests, and trailers.

use salver_fields::{FieldSection, Priority, Rejection, RequestHead, Scratch};

use super::{ClosedReason, Connection, Event, FieldBlock, FrameOutcome, ReceiveArgs};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::{Frame, depends_on, flag};
use crate::limits::Limits;
use crate::streams::StreamState;
use crate::streams::incoming::{ContentCount, IncomingContent, IncomingRequest};

/// The number of streams that may be open at a time however short memory is.
const LEAST_STREAMS: usize = 4;

/// The largest field block, as a multiple of `max_head`.
const BLOCK_FACTOR: usize = 2;

impl<T> Connection<T> {
    pub(super) fn headers(
        &mut self,
        args: &ReceiveArgs<'_>,
        scratch: &mut Scratch,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        // Section 5.1.1: clients open odd streams.
        if frame.stream.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let mut block = frame.unpadded()?;
        let mut depends_on_itself = false;
        if frame.has(flag::PRIORITY) {
            let (dependency, rest) = block
                .split_at_checked(5)
                .ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
            depends_on_itself = depends_on(dependency) == Some(frame.stream);
            block = rest;
        }
        let head = FieldBlock {
            stream: frame.stream,
            ends_stream: frame.has(flag::END_STREAM),
            depends_on_itself,
            bytes: Vec::new(),
        };
        if frame.has(flag::END_HEADERS) {
            return self.section(args, scratch, &head, block);
        }
        self.block = Some(Box::new(FieldBlock {
            bytes: block.to_vec(),
            ..head
        }));
        Ok(FrameOutcome::Frame)
    }

    pub(super) fn continuation(
        &mut self,
        args: &ReceiveArgs<'_>,
        scratch: &mut Scratch,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        let Some(mut block) = self.block.take() else {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        };
        if frame.payload.is_empty() {
            self.count_idle_frame(args)?;
        }
        block.bytes.extend_from_slice(frame.payload);
        if block.bytes.len() > args.limits.request.max_head.saturating_mul(BLOCK_FACTOR) {
            return Err(ErrorCode::ENHANCE_YOUR_CALM.into());
        }
        if !frame.has(flag::END_HEADERS) {
            self.block = Some(block);
            return Ok(FrameOutcome::Frame);
        }
        let bytes = std::mem::take(&mut block.bytes);
        self.section(args, scratch, &block, &bytes)
    }

    /// Decodes a whole field section, even one that is refused: the next one may refer to it.
    fn section(
        &mut self,
        args: &ReceiveArgs<'_>,
        scratch: &mut Scratch,
        block: &FieldBlock,
        bytes: &[u8],
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        let Scratch { section, text } = scratch;
        section.keep_lines(args.limits.for_program || args.limits.keeps_lines);
        section.take_protocol(args.limits.for_program);
        section.clear();
        self.decoder
            .decode(bytes, text, |line| section.add(&args.limits.request, line))
            .map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        let id = block.stream;
        if id <= self.last {
            return self.trailers(args, block, section);
        }
        let distance = (id - self.last) / 2;
        self.opened = self.opened.checked_shl(distance).unwrap_or(0) | 1;
        self.reset = self.reset.checked_shl(distance).unwrap_or(0);
        self.last = id;
        if self.goes_away() {
            // The client learns of it from GOAWAY.
            self.mark_reset(id);
            self.count_idle_frame(args)?;
            return Ok(FrameOutcome::Frame);
        }
        if block.depends_on_itself {
            return Err(ErrorCode::PROTOCOL_ERROR.on(id));
        }
        let most = usize::try_from(args.limits.max_streams).unwrap_or(usize::MAX);
        let crowded = self.held() > self.room && self.streams.len() >= LEAST_STREAMS;
        if self.streams.len() >= most || crowded {
            return Err(ErrorCode::REFUSED_STREAM.on(id));
        }
        Ok(FrameOutcome::Head(id, block.ends_stream))
    }

    /// Opens a stream by its request, whose memory is `held` bytes.
    #[inline]
    pub(super) fn open<'s>(
        &mut self,
        limits: &Limits,
        id: u32,
        ends: bool,
        (request, held): (RequestHead<'s>, usize),
    ) -> Event<'s, T> {
        let (priority, expects_continue) = (request.priority, request.expects_continue);
        // Files need no content: a client that waits before it sends any is answered at once.
        let wants_content = limits.for_program || !expects_continue;
        if ends || !wants_content {
            self.open_answering(id, ends, priority);
            return Event::Request {
                stream: id,
                request,
                is_whole: ends,
            };
        }
        if limits.for_program {
            self.open_answering(id, false, priority);
            let incoming = IncomingContent::new(request.method, request.content_length);
            self.streams.expect(id, incoming);
            return Event::Request {
                stream: id,
                request,
                is_whole: false,
            };
        }
        let incoming = IncomingRequest {
            count: ContentCount::new(request.content_length),
            request: request.into_owned(),
            held,
        };
        let state = StreamState::Receiving(Box::new(incoming));
        self.open_in(state, id, ends, priority);
        Event::Again
    }

    /// Opens a stream whose request can be answered.
    pub(super) fn open_answering(&mut self, id: u32, ends: bool, priority: Priority) {
        self.progress += 1;
        self.open_in(StreamState::Answering, id, ends, priority);
    }

    fn open_in(&mut self, state: StreamState<T>, id: u32, ends: bool, priority: Priority) {
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
        args: &ReceiveArgs<'_>,
        block: &FieldBlock,
        section: &FieldSection,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        let id = block.stream;
        let (closed, was_opened) = (self.closed_reason(id), self.opened & self.bit(id) != 0);
        let Some(stream) = self.streams.get(id) else {
            return match closed {
                // The end of a stream this old is no longer known.
                _ if self.bit(id) == 0 => self.idle_frame(args),
                ClosedReason::ResetHere => self.idle_frame(args),
                // Section 5.1.1: a stream that was passed over cannot be opened any more.
                _ if !was_opened => Err(ErrorCode::PROTOCOL_ERROR.into()),
                _ => Err(ErrorCode::STREAM_CLOSED.into()),
            };
        };
        if stream.is_whole {
            return Err(ErrorCode::STREAM_CLOSED.into());
        }
        // Section 8.1: trailers end the stream.
        let is_wrong = !block.ends_stream || block.depends_on_itself;
        stream.is_whole = true;
        let count = match (&stream.incoming, &stream.state) {
            (Some(incoming), _) => incoming.count,
            (None, StreamState::Receiving(incoming)) => incoming.count,
            (None, StreamState::Answering | StreamState::Sending { .. }) => ContentCount::default(),
        };
        let is_given = stream.incoming.is_some();
        let is_short = count
            .expected
            .is_some_and(|expected| expected != count.received);
        match section.check_trailers() {
            Ok(()) if !is_wrong && !is_short && is_given => Ok(FrameOutcome::Trailers(id)),
            Ok(()) if !is_wrong && !is_short => Ok(self.finish_request(id)),
            Err(Rejection::Refused(refusal)) if !is_wrong => self.refuse_request(id, refusal),
            _ => Err(ErrorCode::PROTOCOL_ERROR.on(id)),
        }
    }
}
