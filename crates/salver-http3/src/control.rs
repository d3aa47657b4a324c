//! The control streams of both sides (RFC 9114 sections 6.2.1 and 7.2).

use salver_fields::Priority;

use crate::Limits;
use crate::error::{ConnectionError, ErrorCode};
use crate::frame::{
    CANCEL_PUSH, DATA, FramePart, Frames, GOAWAY, HEADERS, MAX_PUSH_ID, PRIORITY_UPDATE,
    PRIORITY_UPDATE_OF_PUSH, PUSH_PROMISE, SETTINGS, is_reserved,
};
use crate::varint;

/// The stream type of a control stream.
const CONTROL: u64 = 0x00;
/// SETTINGS_MAX_FIELD_SECTION_SIZE (RFC 9114 section 7.2.4.1).
const MAX_FIELD_SECTION_SIZE: u64 = 0x06;

/// The longest frame that is read, in bytes: several times the longest one that makes sense.
const LONGEST: u64 = 2048;

/// Appends the beginning of the server's control stream: its type and SETTINGS.
pub fn settings(out: &mut Vec<u8>, limits: &Limits) {
    // No setting of QPACK: by default there is no dynamic table (RFC 9204 section 5).
    varint::write(out, CONTROL);
    let most = u64::try_from(limits.max_head).unwrap_or(u64::MAX);
    push_frame(out, SETTINGS, &[MAX_FIELD_SECTION_SIZE, most]);
}

/// Appends GOAWAY: requests on `stream` and later ones are not going to be answered (RFC 9114 section 5.2).
pub fn goaway(out: &mut Vec<u8>, stream: u64) {
    push_frame(out, GOAWAY, &[stream]);
}

/// Appends a frame whose payload is these integers.
fn push_frame(out: &mut Vec<u8>, kind: u64, integers: &[u64]) {
    let mut payload = Vec::new();
    for integer in integers {
        varint::write(&mut payload, *integer);
    }
    varint::write(out, kind);
    varint::write(out, u64::try_from(payload.len()).unwrap_or(u64::MAX));
    out.extend_from_slice(&payload);
}

/// The peer's control stream as it is received.
#[derive(Debug, Default)]
pub struct Control {
    frames: Frames,
    /// The type of the frame that has begun; its payload follows if it is kept.
    kind: u64,
    payload: Vec<u8>,
    keeps: bool,
    /// True once SETTINGS has begun, which comes first.
    has_settings: bool,
    max_push: u64,
    goaway: Option<u64>,
}

/// An event on the control stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlEvent {
    /// The priority of the answer on a stream, which may not have been opened yet.
    Priority(u64, Priority),
    /// A frame that changes nothing: of an unknown type, or about pushes. Only the number of these matters.
    Idle,
}

impl Control {
    /// Reads the bytes received, which follow the stream's type. `None` when `input` is used up.
    ///
    /// # Errors
    /// [`ConnectionError`]. The end of the stream is one too, which the caller sees: [`Control::closed`].
    pub fn receive(&mut self, input: &mut &[u8]) -> Result<Option<ControlEvent>, ConnectionError> {
        while let Some(part) = self.frames.next(input) {
            match part {
                FramePart::Begin { kind, length } => {
                    self.begin(kind, length)?;
                    if !self.keeps {
                        return Ok(Some(ControlEvent::Idle));
                    }
                }
                FramePart::Payload(bytes) if self.keeps => self.payload.extend_from_slice(bytes),
                FramePart::Payload(_) => {}
            }
            if self.keeps && self.frames.is_whole() {
                self.keeps = false;
                let payload = std::mem::take(&mut self.payload);
                if let Some(event) = self.end(&payload)? {
                    return Ok(Some(event));
                }
            }
        }
        Ok(None)
    }

    /// The error of a client that ends this stream, or one for QPACK (RFC 9114 section 6.2.1).
    pub fn closed() -> ConnectionError {
        ConnectionError::new(
            ErrorCode::ClosedCriticalStream,
            "a stream was closed that has to stay open",
        )
    }

    fn begin(&mut self, kind: u64, length: u64) -> Result<(), ConnectionError> {
        let unexpected = |reason| Err(ConnectionError::new(ErrorCode::FrameUnexpected, reason));
        if self.has_settings == (kind == SETTINGS) {
            return if self.has_settings {
                unexpected("settings can be sent only once")
            } else {
                ConnectionError::fail(
                    ErrorCode::MissingSettings,
                    "the control stream has to begin with settings",
                )
            };
        }
        self.has_settings = true;
        self.kind = kind;
        match kind {
            DATA | HEADERS | PUSH_PROMISE => {
                return unexpected("this frame has no place on the control stream");
            }
            kind if is_reserved(kind) => {
                return unexpected("this frame exists in HTTP/2 only");
            }
            SETTINGS | CANCEL_PUSH | GOAWAY | MAX_PUSH_ID if length > LONGEST => {
                return ConnectionError::fail(ErrorCode::ExcessiveLoad, "the frame is too long");
            }
            SETTINGS | CANCEL_PUSH | GOAWAY | MAX_PUSH_ID => self.keeps = true,
            PRIORITY_UPDATE => self.keeps = length <= LONGEST,
            PRIORITY_UPDATE_OF_PUSH => {
                return ConnectionError::fail(ErrorCode::IdError, "nothing was pushed");
            }
            // Section 9: unknown types are ignored.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, payload: &[u8]) -> Result<Option<ControlEvent>, ConnectionError> {
        match self.kind {
            SETTINGS => check_settings(payload)?,
            PRIORITY_UPDATE => {
                let (stream, value) = varint::read(payload).ok_or_else(malformed)?;
                // RFC 9218 section 7.2: only requests have a priority.
                if stream % 4 != 0 {
                    return ConnectionError::fail(
                        ErrorCode::IdError,
                        "no request can be on this stream",
                    );
                }
                return Ok(Some(ControlEvent::Priority(stream, Priority::parse(value))));
            }
            MAX_PUSH_ID => {
                let id = only_integer(payload)?;
                if id < self.max_push {
                    return ConnectionError::fail(ErrorCode::IdError, "the limit went down");
                }
                self.max_push = id;
                return Ok(Some(ControlEvent::Idle));
            }
            GOAWAY => {
                let id = only_integer(payload)?;
                if self.goaway.is_some_and(|before| id > before) {
                    return ConnectionError::fail(ErrorCode::IdError, "the identifier went up");
                }
                self.goaway = Some(id);
                return Ok(Some(ControlEvent::Idle));
            }
            // Section 7.2.3: no push was promised that could be cancelled.
            CANCEL_PUSH => {
                only_integer(payload)?;
                return ConnectionError::fail(ErrorCode::IdError, "nothing was pushed");
            }
            _ => {}
        }
        Ok(None)
    }
}

fn malformed() -> ConnectionError {
    ConnectionError::new(ErrorCode::FrameError, "the frame has not the right length")
}

/// The integer that is the whole payload of a frame.
fn only_integer(payload: &[u8]) -> Result<u64, ConnectionError> {
    match varint::read(payload) {
        Some((id, [])) => Ok(id),
        _ => Err(malformed()),
    }
}

/// Checks the payload of SETTINGS (section 7.2.4): each identifier once, and none that HTTP/2 had. The values do not
/// matter here: heads of answers are short, and nothing else is used.
fn check_settings(mut payload: &[u8]) -> Result<(), ConnectionError> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (id, rest) = varint::read(payload).ok_or_else(malformed)?;
        let (_value, rest) = varint::read(rest).ok_or_else(malformed)?;
        payload = rest;
        if matches!(id, 0x00 | 0x02..=0x05) {
            return ConnectionError::fail(
                ErrorCode::SettingsError,
                "this setting exists in HTTP/2 only",
            );
        }
        if seen.contains(&id) {
            return ConnectionError::fail(ErrorCode::SettingsError, "a setting is there twice");
        }
        // At most a thousand: a frame is bounded.
        seen.push(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(&mut out, kind);
        varint::write(&mut out, payload.len() as u64);
        out.extend(payload);
        out
    }

    fn all(stream: &[u8], step: usize) -> Result<Vec<ControlEvent>, ErrorCode> {
        let (mut control, mut events) = (Control::default(), Vec::new());
        for mut piece in stream.chunks(step) {
            while let Some(event) = control.receive(&mut piece).map_err(|error| error.code)? {
                events.push(event);
            }
            assert!(piece.is_empty());
        }
        Ok(events)
    }

    #[track_caller]
    fn check(frames: &[Vec<u8>], expected: Result<&[ControlEvent], ErrorCode>) {
        let stream = frames.concat();
        for step in [1, 3, 1000] {
            assert_eq!(
                all(&stream, step),
                expected.map(<[_]>::to_vec),
                "{step}: {stream:x?}"
            );
        }
    }

    #[test]
    fn what_a_client_may_say() {
        let mut own = Vec::new();
        settings(&mut own, &Limits::default());
        assert_eq!(own, b"\0\x04\x05\x06\x80\0\x40\0");
        let mut goes = Vec::new();
        goaway(&mut goes, 8);
        assert_eq!(goes, frame(GOAWAY, b"\x08"));
        check(
            &[
                own[1..].to_vec(),
                frame(0x21, b"grease"),
                frame(MAX_PUSH_ID, b"\x01"),
                frame(MAX_PUSH_ID, b"\x01"),
                frame(PRIORITY_UPDATE, b"\x08u=1, i"),
                frame(PRIORITY_UPDATE, b"\x04"),
                frame(PRIORITY_UPDATE, &[b'u'; 5000]),
                frame(GOAWAY, b"\x04"),
                frame(GOAWAY, b"\0"),
            ],
            Ok(&[
                ControlEvent::Idle,
                ControlEvent::Idle,
                ControlEvent::Idle,
                ControlEvent::Priority(8, Priority::parse(b"u=1, i")),
                ControlEvent::Priority(4, Priority::default()),
                ControlEvent::Idle,
                ControlEvent::Idle,
                ControlEvent::Idle,
            ]),
        );
        check(&[frame(SETTINGS, b"")], Ok(&[]));
        check(&[frame(SETTINGS, b"\x01\0\x07\x40\x64\x21\0")], Ok(&[]));
    }

    #[test]
    fn what_ends_the_connection() {
        let begun = || frame(SETTINGS, b"");
        for (kind, payload, code) in [
            (SETTINGS, &b""[..], ErrorCode::FrameUnexpected),
            (DATA, b"x", ErrorCode::FrameUnexpected),
            (HEADERS, b"", ErrorCode::FrameUnexpected),
            (PUSH_PROMISE, b"", ErrorCode::FrameUnexpected),
            (0x02, b"", ErrorCode::FrameUnexpected),
            (0x06, b"", ErrorCode::FrameUnexpected),
            (0x08, b"", ErrorCode::FrameUnexpected),
            (0x09, b"", ErrorCode::FrameUnexpected),
            (CANCEL_PUSH, b"\0", ErrorCode::IdError),
            (PRIORITY_UPDATE, b"\x01", ErrorCode::IdError),
            (PRIORITY_UPDATE_OF_PUSH, b"\0u=1", ErrorCode::IdError),
            (GOAWAY, b"\0\0", ErrorCode::FrameError),
            (MAX_PUSH_ID, b"\x40", ErrorCode::FrameError),
            (GOAWAY, &[0; 4000], ErrorCode::ExcessiveLoad),
        ] {
            check(&[begun(), frame(kind, payload)], Err(code));
        }
        check(
            &[
                begun(),
                frame(MAX_PUSH_ID, b"\x02"),
                frame(MAX_PUSH_ID, b"\x01"),
            ],
            Err(ErrorCode::IdError),
        );
        check(
            &[begun(), frame(GOAWAY, b"\x04"), frame(GOAWAY, b"\x08")],
            Err(ErrorCode::IdError),
        );
        check(&[frame(GOAWAY, b"\0")], Err(ErrorCode::MissingSettings));
        check(&[frame(0x21, b"")], Err(ErrorCode::MissingSettings));
        for payload in [&b"\x02\0"[..], b"\0\0", b"\x05\0", b"\x06\x01\x06\x01"] {
            check(&[frame(SETTINGS, payload)], Err(ErrorCode::SettingsError));
        }
        for payload in [&b"\x06"[..], b"\x40", b"\x06\x40"] {
            check(&[frame(SETTINGS, payload)], Err(ErrorCode::FrameError));
        }
        check(
            &[frame(SETTINGS, &[1; 3000])],
            Err(ErrorCode::ExcessiveLoad),
        );
    }
}
