//! Unidirectional streams of the client (RFC 9114 section 6.2): their types, most of which may be opened once.

use crate::error::{ConnectionError, ErrorCode};
use crate::varint;

/// The type of a unidirectional stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// The control stream: see [`Control`](crate::Control).
    Control,
    /// A stream of QPACK instructions: see [`Instructions`].
    Qpack(Instructions),
    /// An unknown type: to be stopped with `H3_STREAM_CREATION_ERROR`.
    Unknown,
}

/// The unidirectional streams that the peer has opened.
#[derive(Debug, Default)]
pub struct PeerStreams {
    control: bool,
    encoder: bool,
    decoder: bool,
}

impl PeerStreams {
    /// The type of a stream that begins with `input`, in which the bytes after the type stay. `None` if the type is
    /// incomplete.
    ///
    /// # Errors
    /// [`ConnectionError`] if there may be no such stream, or there is one already.
    pub fn open(&mut self, input: &mut &[u8]) -> Result<Option<StreamKind>, ConnectionError> {
        let Some((kind, rest)) = varint::read(input) else {
            return Ok(None);
        };
        *input = rest;
        let (slot, kind) = match kind {
            0x00 => (&mut self.control, StreamKind::Control),
            0x01 => {
                // Section 6.2.2.
                return ConnectionError::fail(
                    ErrorCode::StreamCreationError,
                    "a client cannot push",
                );
            }
            0x02 => (
                &mut self.encoder,
                StreamKind::Qpack(Instructions::new(QpackStream::Encoder)),
            ),
            0x03 => (
                &mut self.decoder,
                StreamKind::Qpack(Instructions::new(QpackStream::Decoder)),
            ),
            _ => return Ok(Some(StreamKind::Unknown)),
        };
        if std::mem::replace(slot, true) {
            return ConnectionError::fail(
                ErrorCode::StreamCreationError,
                "there may be only one stream of this type",
            );
        }
        Ok(Some(kind))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QpackStream {
    Encoder,
    Decoder,
}

/// A stream of QPACK instructions (RFC 9204 section 4), of a peer that may use no dynamic table: hardly any
/// instruction is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instructions {
    stream: QpackStream,
    /// The number of bytes read of an integer that goes on.
    within: u8,
}

impl Instructions {
    fn new(stream: QpackStream) -> Self {
        Instructions { stream, within: 0 }
    }

    /// Reads the bytes received.
    ///
    /// # Errors
    /// [`ConnectionError`] if an instruction needs a dynamic table.
    pub fn receive(&mut self, input: &[u8]) -> Result<(), ConnectionError> {
        for byte in input {
            if self.within > 0 {
                let goes_on = byte & 0x80 != 0;
                self.within = if goes_on { self.within + 1 } else { 0 };
                if self.within > 10 {
                    return Err(self.error());
                }
                continue;
            }
            match (self.stream, byte) {
                // Set Dynamic Table Capacity to what it is: 0 (section 4.3.1).
                (QpackStream::Encoder, 0x20) => {}
                // Stream Cancellation (section 4.4.2).
                (QpackStream::Decoder, 0x40..=0x7e) => {}
                (QpackStream::Decoder, 0x7f) => self.within = 1,
                _ => return Err(self.error()),
            }
        }
        Ok(())
    }

    fn error(&self) -> ConnectionError {
        match self.stream {
            QpackStream::Encoder => ConnectionError::new(
                ErrorCode::EncoderStreamError,
                "the dynamic table has no room for anything",
            ),
            QpackStream::Decoder => ConnectionError::new(
                ErrorCode::DecoderStreamError,
                "nothing was sent that could be acknowledged",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &mut PeerStreams, mut input: &[u8]) -> Result<Option<StreamKind>, ErrorCode> {
        streams.open(&mut input).map_err(|error| error.code)
    }

    #[test]
    fn each_of_the_critical_streams_once() {
        let mut streams = PeerStreams::default();
        assert_eq!(open(&mut streams, b""), Ok(None));
        assert_eq!(open(&mut streams, b"\x40"), Ok(None));
        assert_eq!(open(&mut streams, b"\0"), Ok(Some(StreamKind::Control)));
        assert!(matches!(
            open(&mut streams, b"\x02"),
            Ok(Some(StreamKind::Qpack(_)))
        ));
        assert!(matches!(
            open(&mut streams, b"\x40\x03"),
            Ok(Some(StreamKind::Qpack(_)))
        ));
        for again in [&b"\0"[..], b"\x01", b"\x02", b"\x03"] {
            assert_eq!(
                open(&mut streams, again),
                Err(ErrorCode::StreamCreationError)
            );
        }
        for _ in 0..2 {
            assert_eq!(open(&mut streams, b"\x21"), Ok(Some(StreamKind::Unknown)));
        }
    }

    #[test]
    fn instructions_without_a_table() {
        let encoder = |input: &[u8]| Instructions::new(QpackStream::Encoder).receive(input);
        let decoder = |input: &[u8]| Instructions::new(QpackStream::Decoder).receive(input);
        assert_eq!(encoder(b"\x20\x20"), Ok(()));
        for input in [&b"\x21"[..], b"\x3f", b"\x80", b"\x40", b"\0"] {
            assert_eq!(
                encoder(input).map_err(|e| e.code),
                Err(ErrorCode::EncoderStreamError)
            );
        }
        assert_eq!(decoder(b"\x40\x7e\x7f\x80\x01\x41"), Ok(()));
        for input in [
            &b"\x80"[..],
            b"\x01",
            b"\x7f\x80\x01\x80",
            b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(
                decoder(input).map_err(|e| e.code),
                Err(ErrorCode::DecoderStreamError)
            );
        }
        let mut parts = Instructions::new(QpackStream::Decoder);
        assert!(
            [&b"\x7f"[..], b"\x80", b"\x01"]
                .iter()
                .all(|part| parts.receive(part).is_ok())
        );
    }
}
