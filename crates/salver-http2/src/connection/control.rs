//! Frames about the connection and its streams, not about messages.

use salver_fields::Priority;

use super::goodbye::{Goodbye, LAST_PING};
use super::{Call, Closed, Connection, Done, content};
use crate::error::{ErrorCode, Fault};
use crate::frame::{Frame, MOST, depends_on, flag, kind, push_header, setting};

/// Priorities that are kept for streams that are not open yet (RFC 9218 section 7.1).
const PRIORITIES: usize = 16;

/// Bytes of content that are worth a frame which answers them. A client that gives its windows back with
/// every 512 bytes that it reads sends two WINDOW_UPDATE for them, one for the stream and one for the
/// connection.
const FRAME_WORTH: u64 = 256;

impl<T> Connection<T> {
    /// RFC 9113 section 5.3.2: only checked. RFC 9218 has taken its place.
    pub(super) fn priority(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        self.spend(call)?;
        if frame.stream == 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() != 5 {
            return Err(self.stream_fault(frame.stream, ErrorCode::FRAME_SIZE_ERROR));
        }
        if depends_on(frame.payload) == Some(frame.stream) {
            return Err(self.stream_fault(frame.stream, ErrorCode::PROTOCOL_ERROR));
        }
        Ok(Done::Frame)
    }

    /// An error of a stream, or of the connection where the stream is not one that could be reset.
    fn stream_fault(&mut self, stream: u32, code: ErrorCode) -> Fault {
        if self.streams.get(stream).is_some() {
            Fault::Stream(stream, code)
        } else {
            Fault::Connection(code)
        }
    }

    pub(super) fn reset_by_peer(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        frame.number()?;
        if frame.stream == 0 || frame.stream > self.last {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        match self.streams.close(frame.stream) {
            Some(closed) => {
                self.spend(call)?;
                Ok(Done::Closed(frame.stream, content(closed)))
            }
            // Some clients repeat it for each frame of content that was on its way to them.
            None => self.answer_content(call).map(|()| Done::Frame),
        }
    }

    pub(super) fn settings(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let (settings, rest) = frame.payload.as_chunks::<6>();
        let is_ack = frame.has(flag::ACK);
        if !rest.is_empty() || is_ack && !settings.is_empty() {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.is_open = true;
        self.spend(call)?;
        if is_ack {
            return Ok(Done::Frame);
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
        push_header(call.out, 0, kind::SETTINGS, flag::ACK, 0);
        Ok(Done::Frame)
    }

    pub(super) fn ping(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() != 8 {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.spend(call)?;
        if frame.has(flag::ACK) {
            if frame.payload == LAST_PING && self.goodbye == Goodbye::Announced {
                self.goodbye = Goodbye::Heard;
            }
        } else {
            push_header(call.out, 8, kind::PING, flag::ACK, 0);
            call.out.extend_from_slice(frame.payload);
        }
        Ok(Done::Frame)
    }

    pub(super) fn goaway(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        if frame.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        if frame.payload.len() < 8 {
            return Err(ErrorCode::FRAME_SIZE_ERROR.into());
        }
        self.spend(call)?;
        self.peer_goes_away = true;
        Ok(Done::Frame)
    }

    /// A frame that answers content which was sent is no idle talk, in however small pieces that was read.
    fn answer_content(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        match self.credit.checked_sub(FRAME_WORTH) {
            Some(credit) => {
                self.credit = credit;
                Ok(())
            }
            None => self.spend(call),
        }
    }

    pub(super) fn window_update(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        let increment = frame.number()? & MOST;
        self.answer_content(call)?;
        if frame.stream == 0 {
            if increment == 0 {
                return Err(ErrorCode::PROTOCOL_ERROR.into());
            }
            self.window += i64::from(increment);
            if self.window > i64::from(MOST) {
                return Err(ErrorCode::FLOW_CONTROL_ERROR.into());
            }
            return Ok(Done::Frame);
        }
        let closed = self.on_closed(frame.stream);
        match self.streams.get(frame.stream) {
            None => match closed {
                Closed::Idle => Err(ErrorCode::PROTOCOL_ERROR.into()),
                Closed::ResetHere | Closed::Ended => Ok(Done::Frame),
            },
            Some(_) if increment == 0 => {
                Err(Fault::Stream(frame.stream, ErrorCode::PROTOCOL_ERROR))
            }
            Some(stream) => {
                stream.window += i64::from(increment);
                if stream.window > i64::from(MOST) {
                    return Err(Fault::Stream(frame.stream, ErrorCode::FLOW_CONTROL_ERROR));
                }
                self.streams.enqueue_id(frame.stream);
                Ok(Done::Frame)
            }
        }
    }

    /// RFC 9218 section 7.1.
    pub(super) fn priority_update(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'_>,
    ) -> Result<Done<'static, T>, Fault> {
        self.spend(call)?;
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
            return Ok(Done::Frame);
        }
        if let Some((_, known)) = self.priorities.iter_mut().find(|(of, _)| *of == stream) {
            *known = priority;
        } else if self.priorities.len() < PRIORITIES {
            self.priorities.push((stream, priority));
        }
        Ok(Done::Frame)
    }
}
