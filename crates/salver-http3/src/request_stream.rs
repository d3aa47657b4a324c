//! Request streams (RFC 9114 section 4.1): one field section, content, perhaps trailers.

use salver_fields::Scratch;
use salver_semantics::Refusal;

use crate::Limits;
use crate::error::{ConnectionError, ErrorCode, StreamFailure};
use crate::frame::{
    CANCEL_PUSH, DATA, FramePart, Frames, GOAWAY, HEADERS, MAX_PUSH_ID, PRIORITY_UPDATE,
    PRIORITY_UPDATE_OF_PUSH, PUSH_PROMISE, SETTINGS, is_reserved,
};
use crate::qpack;

/// The part of the message that a request stream has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum MessagePart {
    #[default]
    Start,
    Content,
    Trailers,
}

/// The use of the payload of a frame that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum PayloadUse {
    Section,
    Count,
    #[default]
    Skip,
}

/// A request stream as it is received.
#[derive(Debug, Default)]
pub struct RequestStream {
    frames: Frames,
    part: MessagePart,
    payload_use: PayloadUse,
    /// The payload of an incomplete HEADERS frame.
    carry: Vec<u8>,
    received: u64,
    announced: Option<u64>,
}

/// An event on a request stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The input is used up.
    Incomplete,
    /// The head of the request is decoded. Content may follow.
    Head,
    /// The trailer section is decoded, behind which no content follows.
    Trailers,
}

impl RequestStream {
    /// Reads the bytes received. The head, and trailers, once they are whole, go into the section of `scratch`; content
    /// is appended to `content`, or dropped.
    ///
    /// # Errors
    /// [`StreamFailure`]; the rest of the stream is not to be read then.
    pub fn receive(
        &mut self,
        limits: &Limits,
        input: &mut &[u8],
        scratch: &mut Scratch,
        mut content: Option<&mut Vec<u8>>,
    ) -> Result<Event, StreamFailure> {
        while let Some(part) = self.frames.next(input) {
            let payload = match part {
                FramePart::Begin { kind, length } => {
                    if self.part == MessagePart::Start {
                        // The scratch may hold lines of another request.
                        scratch.section.clear();
                    }
                    self.begin(limits, kind, length)?;
                    &[][..]
                }
                FramePart::Payload(payload) => payload,
            };
            if self.payload_use != PayloadUse::Section {
                if let Some(content) = content
                    .as_mut()
                    .filter(|_| self.payload_use == PayloadUse::Count)
                {
                    content.extend_from_slice(payload);
                }
                continue;
            }
            if !self.frames.is_whole() {
                self.carry.extend_from_slice(payload);
                continue;
            }
            self.payload_use = PayloadUse::Skip;
            if self.carry.is_empty() {
                decode(payload, limits, scratch)?;
            } else {
                self.carry.extend_from_slice(payload);
                decode(&std::mem::take(&mut self.carry), limits, scratch)?;
            }
            if self.part == MessagePart::Start {
                self.part = MessagePart::Content;
                return Ok(Event::Head);
            }
            self.part = MessagePart::Trailers;
            scratch.section.check_trailers()?;
            return Ok(Event::Trailers);
        }
        Ok(Event::Incomplete)
    }

    /// The memory of incomplete input, in bytes.
    pub fn held(&self) -> usize {
        self.carry.capacity()
    }

    /// Sets the length of the content that the head announces.
    pub fn announce(&mut self, length: Option<u64>) {
        self.announced = length;
    }

    /// Ends the stream: the client has sent everything.
    ///
    /// # Errors
    /// [`StreamFailure`] if that was not a whole request.
    pub fn end(&self) -> Result<(), StreamFailure> {
        if !self.frames.is_between() {
            // RFC 9114 section 7.1.
            let reason = "a stream ended within a frame";
            return Err(ConnectionError::new(ErrorCode::FrameError, reason).into());
        }
        if self.part == MessagePart::Start {
            return Err(StreamFailure::Stream(ErrorCode::RequestIncomplete));
        }
        if self.announced.is_some_and(|length| length != self.received) {
            // Section 4.1.2.
            let reason = "The content has not the length that Content-Length says";
            return Err(refused(400, reason));
        }
        Ok(())
    }

    fn begin(&mut self, limits: &Limits, kind: u64, length: u64) -> Result<(), StreamFailure> {
        let unexpected =
            |reason| Err(ConnectionError::new(ErrorCode::FrameUnexpected, reason).into());
        self.payload_use = PayloadUse::Skip;
        match kind {
            HEADERS if self.part != MessagePart::Trailers => {
                if length > u64::try_from(limits.max_head).unwrap_or(u64::MAX) {
                    return Err(refused(431, "The field section is too large"));
                }
                self.payload_use = PayloadUse::Section;
            }
            DATA if self.part == MessagePart::Content => {
                self.payload_use = PayloadUse::Count;
                self.received = self.received.saturating_add(length);
                if self.received > limits.max_body {
                    return Err(refused(413, "The content is too large"));
                }
            }
            HEADERS | DATA => return unexpected("the frame comes too early or too late"),
            SETTINGS
            | CANCEL_PUSH
            | GOAWAY
            | MAX_PUSH_ID
            | PUSH_PROMISE
            | PRIORITY_UPDATE
            | PRIORITY_UPDATE_OF_PUSH => {
                return unexpected("this frame has no part on a request stream");
            }
            kind if is_reserved(kind) => {
                return unexpected("this frame exists in HTTP/2 only");
            }
            // Section 9: unknown types are ignored.
            _ => {}
        }
        Ok(())
    }
}

fn refused(status: u16, reason: &'static str) -> StreamFailure {
    Refusal { status, reason }.into()
}

/// Decodes a field section into the section of `scratch`.
fn decode(bytes: &[u8], limits: &Limits, scratch: &mut Scratch) -> Result<(), ConnectionError> {
    let Scratch { section, text } = scratch;
    section.clear();
    let decoded = qpack::decode(bytes, text, |line| section.add(limits, line));
    decoded.map_err(|_| {
        let reason = "a field section cannot be read";
        ConnectionError::new(ErrorCode::DecompressionFailed, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::varint;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(&mut out, kind);
        varint::write(&mut out, payload.len() as u64);
        out.extend(payload);
        out
    }

    /// GET, https, / and an authority.
    const GET: &[u8] = b"\0\0\xd1\xd7\xc1\x50\x01a";

    fn head() -> Vec<u8> {
        frame(HEADERS, GET)
    }

    /// The number of lines of the head, and a hundred for each of the trailers.
    fn played(stream: &[u8], step: usize, announced: Option<u64>) -> Result<usize, StreamFailure> {
        read(stream, step, announced, None)
    }

    fn read(
        stream: &[u8],
        step: usize,
        announced: Option<u64>,
        mut content: Option<&mut Vec<u8>>,
    ) -> Result<usize, StreamFailure> {
        let (mut request, mut scratch) = (RequestStream::default(), Scratch::default());
        scratch.section.keep_lines(true);
        let limits = Limits {
            max_body: 100,
            ..Limits::default()
        };
        let (mut lines, mut trailers) = (0, 0);
        for mut piece in stream.chunks(step) {
            loop {
                let content = content.as_deref_mut();
                match request.receive(&limits, &mut piece, &mut scratch, content)? {
                    Event::Head => {
                        lines = scratch.section.request()?.lines.iter().count();
                        request.announce(announced);
                    }
                    Event::Trailers => trailers += scratch.section.lines().iter().count(),
                    Event::Incomplete => break,
                }
            }
            assert!(piece.is_empty());
        }
        request.end().map(|()| lines + 100 * trailers)
    }

    #[track_caller]
    fn check(frames: &[Vec<u8>], expected: Result<usize, StreamFailure>) {
        let stream = frames.concat();
        for step in [1, 2, 7, 1000] {
            assert_eq!(played(&stream, step, None), expected, "{step}: {stream:x?}");
        }
    }

    fn fails(code: ErrorCode) -> impl Fn(&[Vec<u8>]) {
        move |frames| {
            let stream = frames.concat();
            for step in [1, 2, 1000] {
                let failure = played(&stream, step, None).unwrap_err();
                assert!(
                    matches!(failure, StreamFailure::Connection(error) if error.code == code),
                    "{failure:?}"
                );
            }
        }
    }

    #[track_caller]
    fn refused(frames: &[Vec<u8>], status: u16) {
        let stream = frames.concat();
        for step in [1, 2, 1000] {
            let failure = played(&stream, step, None).unwrap_err();
            assert!(
                matches!(failure, StreamFailure::Refused(refusal) if refusal.status == status),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn whole_requests() {
        check(&[head()], Ok(4));
        check(&[frame(0x21, b"grease"), head(), frame(0x40, b"")], Ok(4));
        check(
            &[
                head(),
                frame(DATA, b"12345"),
                frame(DATA, b""),
                frame(0x21, b"x"),
                frame(DATA, b"6"),
            ],
            Ok(4),
        );
        check(
            &[
                head(),
                frame(DATA, b"1"),
                frame(HEADERS, b"\0\0\x21a\x01b"),
                frame(0x21, b"x"),
            ],
            Ok(104),
        );
        let stream = [head(), frame(DATA, b"12345")].concat();
        assert_eq!(played(&stream, 1, Some(5)), Ok(4));
        for wrong in [0, 4, 6] {
            let failure = played(&stream, 1, Some(wrong)).unwrap_err();
            assert!(matches!(failure, StreamFailure::Refused(refusal) if refusal.status == 400));
        }
    }

    #[test]
    fn content_is_what_the_frames_of_data_hold() {
        let trailers = frame(HEADERS, b"\0\0\x21a\x01b");
        let unknown = || frame(0x21, b"x");
        let frames = [
            unknown(),
            head(),
            frame(DATA, b"12345"),
            unknown(),
            frame(DATA, b""),
            frame(DATA, b"6"),
            trailers,
        ];
        for step in [1, 2, 7, 1000] {
            let mut content = Vec::new();
            read(&frames.concat(), step, Some(6), Some(&mut content)).unwrap();
            assert_eq!(content, b"123456", "{step}");
        }
    }

    #[test]
    fn what_is_too_much() {
        refused(&[head(), frame(DATA, &[0; 60]), frame(DATA, &[0; 60])], 413);
        refused(&[frame(HEADERS, &vec![0; 16385])], 431);
        let many = |count| [GET, &[0xdd].repeat(count)].concat();
        check(&[frame(HEADERS, &many(100))], Ok(104));
        refused(&[frame(HEADERS, &many(101))], 431);
    }

    #[test]
    fn what_is_malformed() {
        refused(&[frame(HEADERS, b"\0\0")], 400);
        refused(&[head(), frame(HEADERS, b"\0\0\xd1")], 400);
        refused(&[head(), frame(HEADERS, b"\0\0\x21a\x01\0")], 400);
    }

    #[test]
    fn what_ends_the_connection() {
        for frames in [
            vec![frame(DATA, b"")],
            vec![head(), frame(HEADERS, b"\0\0"), frame(DATA, b"")],
            vec![head(), frame(HEADERS, b"\0\0"), frame(HEADERS, b"\0\0")],
        ] {
            fails(ErrorCode::FrameUnexpected)(&frames);
        }
        for kind in [
            0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0d, 0xf0700,
        ] {
            fails(ErrorCode::FrameUnexpected)(&[head(), frame(kind, b"\0")]);
        }
        fails(ErrorCode::DecompressionFailed)(&[frame(HEADERS, b"")]);
        fails(ErrorCode::DecompressionFailed)(&[frame(HEADERS, b"\x02\0")]);
        fails(ErrorCode::DecompressionFailed)(&[frame(HEADERS, b"\0\0\x80")]);
        let whole = [head(), frame(DATA, b"12")].concat();
        for end in [1, 2, head().len() + 1, whole.len() - 1] {
            fails(ErrorCode::FrameError)(&[whole[..end].to_vec()]);
        }
        for nothing in [vec![], frame(0x21, b"x")] {
            check(
                &[nothing],
                Err(StreamFailure::Stream(ErrorCode::RequestIncomplete)),
            );
        }
    }
}
