//! The frames that control the connection and its streams: all but HEADERS, CONTINUATION and DATA.

use salver_fields::Priority;

use super::goaway::{GoawayState, LAST_PING};
use super::{ClosedReason, Connection, FrameOutcome, ReceiveArgs, content};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::{Frame, MOST, depends_on, flag, kind, push_header, setting};

/// The number of priorities that are kept for streams that are not open yet (RFC 9218 section 7.1).
const PRIORITIES: usize = 16;

/// The bytes of content sent that allow the client one frame in return. A client that gives its windows back with
/// every 512 bytes that it reads sends two WINDOW_UPDATE for them, one for the stream and one for the connection.
const FRAME_WORTH: u64 = 256;

impl<T> Connection<T> {
    /// PRIORITY (RFC 9113 section 5.3.2), which is only checked: RFC 9218 has taken its place.
    pub(super) fn priority(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        self.count_idle_frame(args)?;
        if frame.stream == 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() != 5 {
            return Err(self.stream_error(frame.stream, ErrorCode::FRAME_SIZE_ERROR));
        }
        if depends_on(frame.payload) == Some(frame.stream) {
            return Err(self.stream_error(frame.stream, ErrorCode::PROTOCOL_ERROR));
        }
        Ok(FrameOutcome::Frame)
    }

    /// An error of a stream, or of the connection where the stream is not one that could be reset.
    fn stream_error(&mut self, stream: u32, code: ErrorCode) -> ProtocolError {
        if self.streams.get(stream).is_some() {
            ProtocolError::Stream(stream, code)
        } else {
            ProtocolError::Connection(code)
        }
    }

    pub(super) fn reset_by_peer(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        frame.number()?;
        if frame.stream == 0 || frame.stream > self.last {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        match self.streams.close(frame.stream) {
            Some(closed) => {
                self.count_idle_frame(args)?;
                Ok(FrameOutcome::Closed(frame.stream, content(closed)))
            }
            // Some clients repeat it for each frame of content that was on its way to them.
            None => self
                .spend_content_credit(args)
                .map(|()| FrameOutcome::Frame),
        }
    }

    pub(super) fn settings(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let (settings, rest) = frame.payload.as_chunks::<6>();
        let is_ack = frame.has(flag::ACK);
        if !rest.is_empty() || is_ack && !settings.is_empty() {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.is_open = true;
        self.count_idle_frame(args)?;
        if is_ack {
            return Ok(FrameOutcome::Frame);
        }
        let mut initial_window = None;
        for [name @ .., a, b, c, d] in settings {
            let value = u32::from_be_bytes([*a, *b, *c, *d]);
            match u16::from_be_bytes(*name) {
                // RFC 7541 section 4.2.
                setting::HEADER_TABLE_SIZE => self.resize = true,
                setting::ENABLE_PUSH if value > 1 => return Err(ErrorCode::PROTOCOL_ERROR.into()),
                setting::INITIAL_WINDOW_SIZE if value > MOST => {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR.into());
                }
                setting::INITIAL_WINDOW_SIZE => initial_window = Some(i64::from(value)),
                setting::MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(ErrorCode::PROTOCOL_ERROR.into());
                }
                _ => {}
            }
        }
        if let Some(window) = initial_window {
            let by = window - self.initial_window;
            self.initial_window = window;
            // Section 6.9.2.
            if !self.streams.widen(by, i64::from(MOST)) {
                return Err(ErrorCode::FLOW_CONTROL_ERROR.into());
            }
        }
        push_header(args.out, 0, kind::SETTINGS, flag::ACK, 0);
        Ok(FrameOutcome::Frame)
    }

    pub(super) fn ping(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() != 8 {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.count_idle_frame(args)?;
        if frame.has(flag::ACK) {
            if frame.payload == LAST_PING && self.goaway_state == GoawayState::Announced {
                self.goaway_state = GoawayState::Acknowledged;
            }
        } else {
            push_header(args.out, 8, kind::PING, flag::ACK, 0);
            args.out.extend_from_slice(frame.payload);
        }
        Ok(FrameOutcome::Frame)
    }

    pub(super) fn goaway(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() < 8 {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.count_idle_frame(args)?;
        self.peer_goes_away = true;
        Ok(FrameOutcome::Frame)
    }

    /// Counts a frame that answers content which was sent: it is paid for by that, in however small pieces it was
    /// read.
    fn spend_content_credit(&mut self, args: &ReceiveArgs<'_>) -> Result<(), ProtocolError> {
        match self.credit.checked_sub(FRAME_WORTH) {
            Some(credit) => {
                self.credit = credit;
                Ok(())
            }
            None => self.count_idle_frame(args),
        }
    }

    pub(super) fn window_update(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        let increment = frame.number()? & MOST;
        self.spend_content_credit(args)?;
        if frame.stream == 0 {
            if increment == 0 {
                return Err(ErrorCode::PROTOCOL_ERROR.into());
            }
            self.window += i64::from(increment);
            if self.window > i64::from(MOST) {
                return Err(ErrorCode::FLOW_CONTROL_ERROR.into());
            }
            return Ok(FrameOutcome::Frame);
        }
        let closed = self.closed_reason(frame.stream);
        match self.streams.get(frame.stream) {
            None => match closed {
                ClosedReason::Idle => Err(ErrorCode::PROTOCOL_ERROR.into()),
                ClosedReason::ResetHere | ClosedReason::Ended => Ok(FrameOutcome::Frame),
            },
            Some(_) if increment == 0 => Err(ErrorCode::PROTOCOL_ERROR.on(frame.stream)),
            Some(stream) => {
                stream.window += i64::from(increment);
                if stream.window > i64::from(MOST) {
                    return Err(ErrorCode::FLOW_CONTROL_ERROR.on(frame.stream));
                }
                self.streams.enqueue_id(frame.stream);
                Ok(FrameOutcome::Frame)
            }
        }
    }

    /// PRIORITY_UPDATE (RFC 9218 section 7.1).
    pub(super) fn priority_update(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'_>,
    ) -> Result<FrameOutcome<'static, T>, ProtocolError> {
        self.count_idle_frame(args)?;
        let (stream, value) = frame
            .payload
            .split_first_chunk()
            .ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
        let stream = u32::from_be_bytes(*stream) & MOST;
        if frame.stream != 0 || stream.is_multiple_of(2) {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let priority = Priority::parse(value);
        if stream <= self.last {
            self.streams.prioritise(stream, priority);
            return Ok(FrameOutcome::Frame);
        }
        if let Some((_, known)) = self.priorities.iter_mut().find(|(of, _)| *of == stream) {
            *known = priority;
        } else if self.priorities.len() < PRIORITIES {
            self.priorities.push((stream, priority));
        }
        Ok(FrameOutcome::Frame)
    }
}
