//! The content of requests: DATA frames, counted and given to the caller.

use salver_semantics::Refusal;

use super::{ClosedReason, Connection, FrameOutcome, ReceiveArgs};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::{Frame, flag, kind, push_number};
use crate::streams::StreamState;

/// The bytes of content that are received before the connection's window is widened by as many.
const WINDOW_STEP: u32 = 32 * 1024;

impl<T> Connection<T> {
    pub(super) fn data<'i>(
        &mut self,
        args: &mut ReceiveArgs<'_>,
        frame: &Frame<'i>,
    ) -> Result<FrameOutcome<'i, T>, ProtocolError> {
        if frame.stream == 0 {
            return Err(ErrorCode::PROTOCOL_ERROR.into());
        }
        let content = frame.unpadded()?;
        let ends = frame.has(flag::END_STREAM);
        if content.is_empty() && !ends {
            self.count_idle_frame(args)?;
        }
        // Section 6.9: padding counts, too.
        let taken = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX);
        self.taken = self.taken.saturating_add(taken);
        if self.taken >= WINDOW_STEP {
            push_number(args.out, kind::WINDOW_UPDATE, 0, self.taken);
            self.taken = 0;
        }
        let closed = self.closed_reason(frame.stream);
        let Some(stream) = self.streams.get(frame.stream) else {
            return match closed {
                ClosedReason::Idle => Err(ErrorCode::PROTOCOL_ERROR.into()),
                ClosedReason::ResetHere => self.idle_frame(args),
                ClosedReason::Ended => Err(ErrorCode::STREAM_CLOSED.on(frame.stream)),
            };
        };
        if stream.is_whole {
            return Err(ErrorCode::STREAM_CLOSED.on(frame.stream));
        }
        stream.is_whole = ends;
        self.progress += u64::from(!content.is_empty());
        let StreamState::Receiving(incoming) = &mut stream.state else {
            // The request was answered without its content.
            return Ok(FrameOutcome::Frame);
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
            return Err(ErrorCode::PROTOCOL_ERROR.on(frame.stream));
        }
        if incoming.received > args.limits.request.max_body {
            let refusal = Refusal {
                status: 413,
                reason: "The content is too large",
            };
            return Ok(self.refuse_request(frame.stream, refusal));
        }
        if ends {
            return Ok(self.finish_request(frame.stream, content));
        }
        if taken > 0 {
            push_number(args.out, kind::WINDOW_UPDATE, frame.stream, taken);
        }
        Ok(FrameOutcome::Content(frame.stream, content))
    }

    /// Refuses the request of a stream whose content is awaited.
    pub(super) fn refuse_request<'i>(&mut self, id: u32, refusal: Refusal) -> FrameOutcome<'i, T> {
        match self.finish_request(id, &[]) {
            FrameOutcome::Request(id, request, _) => {
                FrameOutcome::Refused(id, Some(request.method), refusal)
            }
            // It was answered without its content.
            done => done,
        }
    }

    /// The request of a stream whose content is whole, with the last piece of it.
    pub(super) fn finish_request<'i>(&mut self, id: u32, content: &'i [u8]) -> FrameOutcome<'i, T> {
        let Some(stream) = self.streams.get(id) else {
            return FrameOutcome::Frame;
        };
        match std::mem::replace(&mut stream.state, StreamState::Answering) {
            StreamState::Receiving(incoming) => {
                self.progress += 1;
                FrameOutcome::Request(id, Box::new(incoming.request), content)
            }
            other => {
                stream.state = other;
                FrameOutcome::Frame
            }
        }
    }
}
