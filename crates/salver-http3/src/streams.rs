//! Streams of one direction (RFC 9114 section 6.2): what each is for, and which may be there once.

use crate::error::{Code, ConnectionError};
use crate::varint;

/// What a stream of one direction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// Frames that concern the connection: see [`Control`](crate::Control).
    Control,
    /// Instructions of QPACK: see [`Instructions`].
    Qpack(Instructions),
    /// Something that is not known here: to be stopped with `H3_STREAM_CREATION_ERROR`.
    Unknown,
}

/// The streams that the peer has opened, and what came of those whose type has not come whole.
#[derive(Debug, Default)]
pub struct PeerStreams {
    control: bool,
    encoder: bool,
    decoder: bool,
}

impl PeerStreams {
    /// What a stream that begins with `input` is for; what follows its type stays in `input`.
    /// `None` if its type has not come whole.
    ///
    /// # Errors
    /// Of the connection, if it may have no such stream, or has it already.
    pub fn open(&mut self, input: &mut &[u8]) -> Result<Option<StreamKind>, ConnectionError> {
        let Some((kind, rest)) = varint::read(input) else {
            return Ok(None);
        };
        *input = rest;
        let (slot, kind) = match kind {
            0x00 => (&mut self.control, StreamKind::Control),
            0x01 => {
                // Section 6.2.2.
                return Err(ConnectionError::new(
                    Code::StreamCreationError,
                    "a client cannot push",
                ));
            }
            0x02 => (
                &mut self.encoder,
                StreamKind::Qpack(Instructions::new(Side::Encoder)),
            ),
            0x03 => (
                &mut self.decoder,
                StreamKind::Qpack(Instructions::new(Side::Decoder)),
            ),
            _ => return Ok(Some(StreamKind::Unknown)),
        };
        if std::mem::replace(slot, true) {
            return Err(ConnectionError::new(
                Code::StreamCreationError,
                "there may be only one stream of this type",
            ));
        }
        Ok(Some(kind))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Encoder,
    Decoder,
}

/// Instructions of QPACK (RFC 9204 section 4), of a peer that has been given no dynamic table: there
/// is hardly anything that it may say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instructions {
    side: Side,
    /// Bytes of an integer that goes on.
    within: u8,
}

impl Instructions {
    fn new(side: Side) -> Self {
        Instructions { side, within: 0 }
    }

    /// Reads what came.
    ///
    /// # Errors
    /// Of the connection, if that needs a dynamic table.
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
            match (self.side, byte) {
                // Set Dynamic Table Capacity to what it is: 0 (section 4.3.1).
                (Side::Encoder, 0x20) => {}
                // Stream Cancellation (section 4.4.2).
                (Side::Decoder, 0x40..=0x7e) => {}
                (Side::Decoder, 0x7f) => self.within = 1,
                _ => return Err(self.error()),
            }
        }
        Ok(())
    }

    fn error(&self) -> ConnectionError {
        match self.side {
            Side::Encoder => ConnectionError::new(
                Code::EncoderStreamError,
                "the dynamic table has no room for anything",
            ),
            Side::Decoder => ConnectionError::new(
                Code::DecoderStreamError,
                "nothing was sent that could be acknowledged",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(streams: &mut PeerStreams, mut input: &[u8]) -> Result<Option<StreamKind>, Code> {
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
            assert_eq!(open(&mut streams, again), Err(Code::StreamCreationError));
        }
        for _ in 0..2 {
            assert_eq!(open(&mut streams, b"\x21"), Ok(Some(StreamKind::Unknown)));
        }
    }

    #[test]
    fn instructions_without_a_table() {
        let encoder = |input: &[u8]| Instructions::new(Side::Encoder).receive(input);
        let decoder = |input: &[u8]| Instructions::new(Side::Decoder).receive(input);
        assert_eq!(encoder(b"\x20\x20"), Ok(()));
        for input in [&b"\x21"[..], b"\x3f", b"\x80", b"\x40", b"\0"] {
            assert_eq!(
                encoder(input).map_err(|e| e.code),
                Err(Code::EncoderStreamError)
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
                Err(Code::DecoderStreamError)
            );
        }
        let mut parts = Instructions::new(Side::Decoder);
        assert!(
            [&b"\x7f"[..], b"\x80", b"\x01"]
                .iter()
                .all(|part| parts.receive(part).is_ok())
        );
    }
}
