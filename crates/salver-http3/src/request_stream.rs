//! A request stream (RFC 9114 section 4.1): one field section, content, perhaps trailers.

use salver_fields::Scratch;
use salver_semantics::Refusal;

use crate::Limits;
use crate::error::{Code, ConnectionError, StreamFailure};
use crate::frame::{
    CANCEL_PUSH, DATA, Frames, GOAWAY, HEADERS, MAX_PUSH_ID, PRIORITY_UPDATE,
    PRIORITY_UPDATE_OF_PUSH, PUSH_PROMISE, Part, SETTINGS, is_reserved,
};
use crate::qpack;

/// Where a request stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Start,
    Content,
    Trailers,
}

/// What a frame that has begun is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Section,
    Count,
    Skip,
}

/// A request stream as it is received.
#[derive(Debug)]
pub struct RequestStream {
    frames: Frames,
    place: Place,
    using: Use,
    /// What has come of it, if that is not all.
    carry: Vec<u8>,
    received: u64,
    announced: Option<u64>,
}

/// What was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The input is used up.
    Incomplete,
    /// The field section of the request is decoded. Content may follow.
    Head,
}

impl Default for RequestStream {
    fn default() -> Self {
        RequestStream {
            frames: Frames::default(),
            place: Place::Start,
            using: Use::Skip,
            carry: Vec::new(),
            received: 0,
            announced: None,
        }
    }
}

impl RequestStream {
    /// Reads what came. The head, once it is whole, goes into the section of `scratch`; content is appended
    /// to `content`, or dropped.
    ///
    /// # Errors
    /// What ends the stream or the connection. What still comes is not to be read then.
    pub fn receive(
        &mut self,
        limits: &Limits,
        input: &mut &[u8],
        scratch: &mut Scratch,
        mut content: Option<&mut Vec<u8>>,
    ) -> Result<Event, StreamFailure> {
        while let Some(part) = self.frames.next(input) {
            let payload = match part {
                Part::Begin { kind, length } => {
                    if self.place == Place::Start {
                        // Nothing of another request is to be taken for this one.
                        scratch.section.clear();
                    }
                    self.begin(limits, kind, length)?;
                    &[][..]
                }
                Part::Payload(payload) => payload,
            };
            if self.using != Use::Section {
                if let Some(content) = content.as_mut().filter(|_| self.using == Use::Count) {
                    content.extend_from_slice(payload);
                }
                continue;
            }
            if !self.frames.is_whole() {
                self.carry.extend_from_slice(payload);
                continue;
            }
            self.using = Use::Skip;
            if self.carry.is_empty() {
                decode(payload, limits, scratch)?;
            } else {
                self.carry.extend_from_slice(payload);
                decode(&std::mem::take(&mut self.carry), limits, scratch)?;
            }
            if self.place == Place::Start {
                self.place = Place::Content;
                return Ok(Event::Head);
            }
            self.place = Place::Trailers;
            scratch.section.check_trailers()?;
        }
        Ok(Event::Incomplete)
    }

    /// Bytes of memory that are held for what is not whole.
    pub fn held(&self) -> usize {
        self.carry.capacity()
    }

    /// What the head said about the length of the content.
    pub fn announce(&mut self, length: Option<u64>) {
        self.announced = length;
    }

    /// The client has sent all.
    ///
    /// # Errors
    /// If that was not a whole request.
    pub fn end(&self) -> Result<(), StreamFailure> {
        if !self.frames.is_between() {
            // RFC 9114 section 7.1.
            let reason = "a stream ended within a frame";
            return Err(ConnectionError::new(Code::FrameError, reason).into());
        }
        if self.place == Place::Start {
            return Err(StreamFailure::Stream(Code::RequestIncomplete));
        }
        if self.announced.is_some_and(|length| length != self.received) {
            // Section 4.1.2.
            let reason = "The content has not the length that Content-Length says";
            return Err(refused(400, reason));
        }
        Ok(())
    }

    fn begin(&mut self, limits: &Limits, kind: u64, length: u64) -> Result<(), StreamFailure> {
        let unexpected = |reason| Err(ConnectionError::new(Code::FrameUnexpected, reason).into());
        self.using = Use::Skip;
        match kind {
            HEADERS if self.place != Place::Trailers => {
                if length > u64::try_from(limits.max_head).unwrap_or(u64::MAX) {
                    return Err(refused(431, "The field section is too large"));
                }
                self.using = Use::Section;
            }
            DATA if self.place == Place::Content => {
                self.using = Use::Count;
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
                return unexpected("this frame has no place on a request stream");
            }
            kind if is_reserved(kind) => {
                return unexpected("this frame exists in HTTP/2 only");
            }
            // Section 9: unknown ones are ignored.
            _ => {}
        }
        Ok(())
    }
}

fn refused(status: u16, reason: &'static str) -> StreamFailure {
    Refusal { status, reason }.into()
}

/// Puts the lines of a field section into the section of `scratch`.
fn decode(bytes: &[u8], limits: &Limits, scratch: &mut Scratch) -> Result<(), ConnectionError> {
    let Scratch { section, text } = scratch;
    section.clear();
    let decoded = qpack::decode(bytes, text, |line| section.add(limits, line));
    decoded.map_err(|_| {
        let reason = "a field section cannot be read";
        ConnectionError::new(Code::DecompressionFailed, reason)
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

    /// How many lines the head had.
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
        let mut lines = 0;
        for mut piece in stream.chunks(step) {
            while request.receive(&limits, &mut piece, &mut scratch, content.as_deref_mut())?
                == Event::Head
            {
                lines = scratch.section.request()?.lines.iter().count();
                request.announce(announced);
            }
            assert!(piece.is_empty());
        }
        request.end().map(|()| lines)
    }

    #[track_caller]
    fn check(frames: &[Vec<u8>], expected: Result<usize, StreamFailure>) {
        let stream = frames.concat();
        for step in [1, 2, 7, 1000] {
            assert_eq!(played(&stream, step, None), expected, "{step}: {stream:x?}");
        }
    }

    fn fails(code: Code) -> impl Fn(&[Vec<u8>]) {
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
            Ok(4),
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
            fails(Code::FrameUnexpected)(&frames);
        }
        for kind in [
            0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0d, 0xf0700,
        ] {
            fails(Code::FrameUnexpected)(&[head(), frame(kind, b"\0")]);
        }
        fails(Code::DecompressionFailed)(&[frame(HEADERS, b"")]);
        fails(Code::DecompressionFailed)(&[frame(HEADERS, b"\x02\0")]);
        fails(Code::DecompressionFailed)(&[frame(HEADERS, b"\0\0\x80")]);
        let whole = [head(), frame(DATA, b"12")].concat();
        for end in [1, 2, head().len() + 1, whole.len() - 1] {
            fails(Code::FrameError)(&[whole[..end].to_vec()]);
        }
        for nothing in [vec![], frame(0x21, b"x")] {
            check(
                &[nothing],
                Err(StreamFailure::Stream(Code::RequestIncomplete)),
            );
        }
    }
}
