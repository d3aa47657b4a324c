//! The content of requests: DATA frames, counted and given to the caller.

use salver_semantics::Refusal;

use super::{ClosedReason, Connection, FrameOutcome, INITIAL_WINDOW, ReceiveArgs};
use crate::error::{ErrorCode, ProtocolError};
use crate::frame::{Frame, flag, kind, push_number};
use crate::streams::StreamState;
use crate::streams::incoming::IncomingContent;

/// The most bytes by which windows are widened at a time.
const WINDOW: u32 = 65_535;

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
        self.receive_window -= i64::from(taken);
        if self.receive_window < 0 {
            return Err(ErrorCode::FLOW_CONTROL_ERROR.into());
        }
        self.widen_receive_window(args.out);
        let closed = self.closed_reason(frame.stream);
        let Some(stream) = self.streams.get(frame.stream) else {
            return match closed {
                ClosedReason::Idle => Err(ErrorCode::PROTOCOL_ERROR.into()),
                ClosedReason::ResetHere => match self.granted.checked_sub(u64::from(taken)) {
                    Some(rest) if !content.is_empty() => {
                        self.granted = rest;
                        Ok(FrameOutcome::Frame)
                    }
                    _ => self.idle_frame(args),
                },
                ClosedReason::Ended => Err(ErrorCode::STREAM_CLOSED.on(frame.stream)),
            };
        };
        if stream.is_whole {
            return Err(ErrorCode::STREAM_CLOSED.on(frame.stream));
        }
        stream.is_whole = ends;
        self.progress += u64::from(!content.is_empty());
        let is_given = stream.incoming.is_some();
        // What an extended CONNECT brings is in another protocol, and has no end that could be too far.
        let incoming = stream.incoming.as_deref();
        let is_bounded = !incoming.is_some_and(IncomingContent::is_of_connect);
        let count = if let Some(incoming) = &mut stream.incoming {
            if !incoming.receive(taken) {
                return Err(ErrorCode::FLOW_CONTROL_ERROR.on(frame.stream));
            }
            &mut incoming.count
        } else if let StreamState::Receiving(incoming) = &mut stream.state {
            &mut incoming.count
        } else {
            // The request was answered without its content.
            return Ok(FrameOutcome::Frame);
        };
        if !count.add(content, ends) {
            // Section 8.1.1.
            return Err(ErrorCode::PROTOCOL_ERROR.on(frame.stream));
        }
        if is_bounded && count.received > args.limits.request.max_body {
            let refusal = Refusal {
                status: 413,
                reason: "The content is too large",
            };
            return self.refuse_request(frame.stream, refusal);
        }
        if !is_given {
            if ends {
                return Ok(self.finish_request(frame.stream));
            }
            if taken > 0 {
                push_number(args.out, kind::WINDOW_UPDATE, frame.stream, taken);
            }
            return Ok(FrameOutcome::Frame);
        }
        self.release(frame.stream, frame.payload.len() - content.len(), args.out);
        Ok(match content.is_empty() && !ends {
            true => FrameOutcome::Frame,
            false => FrameOutcome::Content(frame.stream, content, ends),
        })
    }

    /// Notes that the caller has done with so many bytes of a request's content: the client may send as many more.
    pub fn release(&mut self, stream: u32, bytes: usize, out: &mut Vec<u8>) {
        let Some(open) = self.streams.get(stream).filter(|stream| !stream.is_whole) else {
            return;
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let incoming = open.incoming.as_mut();
        if let Some(widened) = incoming.and_then(|incoming| incoming.release(bytes)) {
            push_number(out, kind::WINDOW_UPDATE, stream, widened);
        }
    }

    /// Sets the limit in bytes of content that the client may have on its way on all streams together, as far as it has
    /// not been told otherwise: at most 65,535, as at first.
    pub fn limit_content(&mut self, bytes: usize, out: &mut Vec<u8>) {
        let bytes = i64::try_from(bytes).unwrap_or(INITIAL_WINDOW);
        self.receive_limit = bytes.clamp(1, INITIAL_WINDOW);
        self.widen_receive_window(out);
    }

    /// Widens the connection's window for content up to its limit, unless it is hardly below.
    fn widen_receive_window(&mut self, out: &mut Vec<u8>) {
        let missing = self.receive_limit - self.receive_window;
        if missing >= (self.receive_limit / 2).max(1) {
            let by = u32::try_from(missing).unwrap_or(WINDOW);
            push_number(out, kind::WINDOW_UPDATE, 0, by);
            self.receive_window = self.receive_limit;
        }
    }

    /// Refuses the request of a stream whose content is awaited, or resets it if the answer has begun.
    pub(super) fn refuse_request<'i>(
        &mut self,
        id: u32,
        refusal: Refusal,
    ) -> Result<FrameOutcome<'i, T>, ProtocolError> {
        let Some(stream) = self.streams.get(id) else {
            return Ok(FrameOutcome::Frame);
        };
        let incoming = stream.incoming.take();
        let method = match &stream.state {
            StreamState::Receiving(incoming) => incoming.request.method,
            StreamState::Answering => match incoming {
                Some(incoming) => incoming.method,
                // It was answered without its content.
                None => return Ok(FrameOutcome::Frame),
            },
            StreamState::Sending { .. } => return Err(ErrorCode::CANCEL.on(id)),
        };
        stream.state = StreamState::Answering;
        self.progress += 1;
        Ok(FrameOutcome::Refused(id, Some(method), refusal))
    }

    /// The request of a stream whose content is whole.
    pub(super) fn finish_request<'i>(&mut self, id: u32) -> FrameOutcome<'i, T> {
        let Some(stream) = self.streams.get(id) else {
            return FrameOutcome::Frame;
        };
        match std::mem::replace(&mut stream.state, StreamState::Answering) {
            StreamState::Receiving(incoming) => {
                self.progress += 1;
                FrameOutcome::Request(id, Box::new(incoming.request))
            }
            other => {
                stream.state = other;
                FrameOutcome::Frame
            }
        }
    }
}
