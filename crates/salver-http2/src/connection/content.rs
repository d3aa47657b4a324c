//! The content of requests: counted, and given to who has a use for it.

use salver_semantics::Refusal;

use super::{Call, Closed, Connection, Done};
use crate::error::{ErrorCode, Fault};
use crate::frame::{Frame, flag, kind, push_number};
use crate::streams::State;

/// So much content of requests is taken before the client hears that it may send more.
const WINDOW_STEP: u32 = 32 * 1024;

impl<T> Connection<T> {
    pub(super) fn data<'i>(
        &mut self,
        call: &mut Call<'_>,
        frame: &Frame<'i>,
    ) -> Result<Done<'i, T>, Fault> {
        if frame.stream == 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let content = frame.unpadded()?;
        let ends = frame.has(flag::END_STREAM);
        if content.is_empty() && !ends {
            self.spend(call)?;
        }
        // Section 6.9: padding counts, too.
        let taken = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX);
        self.taken = self.taken.saturating_add(taken);
        if self.taken >= WINDOW_STEP {
            push_number(call.out, kind::WINDOW_UPDATE, 0, self.taken);
            self.taken = 0;
        }
        let closed = self.on_closed(frame.stream);
        let Some(stream) = self.streams.get(frame.stream) else {
            return match closed {
                Closed::Idle => Err(ErrorCode::PROTOCOL_ERROR.into()),
                Closed::ResetHere => self.spend(call).map(|()| Done::Frame),
                Closed::Ended => Err(Fault::Stream(frame.stream, ErrorCode::STREAM_CLOSED)),
            };
        };
        if stream.is_whole {
            return Err(Fault::Stream(frame.stream, ErrorCode::STREAM_CLOSED));
        }
        stream.is_whole = ends;
        self.progress += u64::from(!content.is_empty());
        let State::Receiving(incoming) = &mut stream.state else {
            // The answer did not need the content.
            return Ok(Done::Frame);
        };
        let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
        incoming.received = incoming.received.saturating_add(length);
        let is_wrong = match incoming.request.content_length {
            Some(expected) if ends => incoming.received != expected,
            Some(expected) => incoming.received > expected,
            None => false,
        };
        if is_wrong {
            // Section 8.1.1.
            return Err(Fault::Stream(frame.stream, ErrorCode::PROTOCOL_ERROR));
        }
        if incoming.received > call.limits.request.max_body {
            let refusal = Refusal {
                status: 413,
                reason: "The content is too large",
            };
            return Ok(self.refuse_held(frame.stream, refusal));
        }
        if ends {
            return Ok(self.answer_held(frame.stream, content));
        }
        if taken > 0 {
            push_number(call.out, kind::WINDOW_UPDATE, frame.stream, taken);
        }
        Ok(Done::Content(frame.stream, content))
    }

    /// The request whose content is awaited, which is not: it is answered by a status.
    pub(super) fn refuse_held<'i>(&mut self, id: u32, refusal: Refusal) -> Done<'i, T> {
        match self.answer_held(id, &[]) {
            Done::Held(id, request, _) => Done::Refused(id, Some(request.method), refusal),
            // It was answered without its content.
            done => done,
        }
    }

    /// The request whose content has come, with the last piece of it.
    pub(super) fn answer_held<'i>(&mut self, id: u32, content: &'i [u8]) -> Done<'i, T> {
        let Some(stream) = self.streams.get(id) else {
            return Done::Frame;
        };
        match std::mem::replace(&mut stream.state, State::Answering) {
            State::Receiving(incoming) => {
                self.progress += 1;
                Done::Held(id, Box::new(incoming.request), content)
            }
            other => {
                stream.state = other;
                Done::Frame
            }
        }
    }
}
