//! The decoder of a message body: where it ends, and its content.

use salver_semantics::Refusal;

use crate::chunked::{ChunkedPart, ChunkedState};
use crate::error::ParseError;
use crate::framing::BodyLength;
use crate::limits::Limits;

/// More digits than a chunk size of 64 bits has are refused, zeros or not.
const MAX_SIZE_DIGITS: u8 = 16;

/// The buffers that a message body is received into.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BodyBuffer {
    /// The content received, without the chunked coding.
    pub content: Vec<u8>,
    /// The trailer section received, for [`trailer_lines`].
    pub trailers: Vec<u8>,
}

/// Name and value of each line of a trailer section that was received whole (RFC 9112 section 7.1.2). Their syntax has
/// been checked; any name may be among them.
pub fn trailer_lines(section: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    section.split(|byte| *byte == b'\n').filter_map(|line| {
        let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
        Some((name, value.get(1..).unwrap_or_default().trim_ascii()))
    })
}

/// The decoder of one message body.
#[derive(Debug)]
pub struct BodyDecoder {
    coding: TransferCoding,
    /// The bytes of content still to come: of the body if it is sized, of the chunk if not (then also the chunk size
    /// while its digits are read).
    remaining: u64,
    /// The chunked coding only: the bytes of content that further chunks may hold.
    content_left: u64,
    /// The chunked coding only: the bytes that extensions and trailers may still take.
    overhead_left: usize,
    /// The number of digits of the chunk size so far.
    digits: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransferCoding {
    Identity,
    Chunked(ChunkedState),
}

impl BodyDecoder {
    /// A decoder for a body of this length, within the bounds that `limits` has now.
    pub fn new(length: BodyLength, limits: &Limits) -> BodyDecoder {
        let (coding, remaining) = match length {
            BodyLength::None => (TransferCoding::Identity, 0),
            BodyLength::Sized(length) => (TransferCoding::Identity, length),
            BodyLength::Chunked => (TransferCoding::Chunked(ChunkedState::SizeStart), 0),
        };
        BodyDecoder {
            coding,
            remaining,
            content_left: limits.max_body,
            overhead_left: limits.max_head,
            digits: 0,
        }
    }

    /// Reads the bytes of `input` that belong to the body. Returns their number, and true if the body is now whole;
    /// if it is not, all of `input` was read. What follows a whole body is never touched. Content and trailers are
    /// appended to `buffer`, or dropped.
    ///
    /// # Errors
    /// For the chunked coding (RFC 9112 section 7.1): 400 for wrong syntax or too long extensions,
    /// 413 for more content than [`Limits::max_body`], 431 for too many trailers. After an error the
    /// decoder must not be used again.
    pub fn read(
        &mut self,
        input: &[u8],
        mut buffer: Option<&mut BodyBuffer>,
    ) -> Result<(usize, bool), Refusal> {
        let mut rest = input;
        loop {
            match self.coding {
                TransferCoding::Chunked(ChunkedState::Done) => {
                    return Ok((input.len() - rest.len(), true));
                }
                TransferCoding::Identity | TransferCoding::Chunked(ChunkedState::Data) => {
                    let run = self.take_content(&mut rest);
                    if let Some(buffer) = &mut buffer {
                        buffer.content.extend_from_slice(run);
                    }
                    if self.remaining > 0 {
                        return Ok((input.len(), false));
                    }
                    self.coding = match self.coding {
                        TransferCoding::Identity => return Ok((input.len() - rest.len(), true)),
                        TransferCoding::Chunked(_) => TransferCoding::Chunked(ChunkedState::DataCr),
                    };
                }
                TransferCoding::Chunked(state) => {
                    let Some((&byte, tail)) = rest.split_first() else {
                        return Ok((input.len(), false));
                    };
                    let next = self.step(state, byte)?;
                    if let Some(buffer) = &mut buffer
                        && state.is_trailer_line(next)
                    {
                        buffer.trailers.push(byte);
                    }
                    self.coding = TransferCoding::Chunked(next);
                    rest = tail;
                }
            }
        }
    }

    /// The bytes of content still to come; `None` with the chunked coding, which does not tell.
    pub fn content_left(&self) -> Option<u64> {
        (self.coding == TransferCoding::Identity).then_some(self.remaining)
    }

    /// Takes the content that `input` begins with; the rest is left.
    fn take_content<'b>(&mut self, input: &mut &'b [u8]) -> &'b [u8] {
        // A length that doesn't fit into usize is longer than any slice.
        let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        match input.split_at_checked(wanted) {
            Some((content, rest)) => {
                self.remaining = 0;
                *input = rest;
                content
            }
            None => {
                self.remaining -= input.len() as u64;
                std::mem::take(input)
            }
        }
    }

    fn step(&mut self, state: ChunkedState, byte: u8) -> Result<ChunkedState, ParseError> {
        let next = state.step(byte)?;
        match (next, next.part()) {
            (ChunkedState::Size, _) => self.add_digit(state, byte)?,
            (ChunkedState::Data, _) if self.remaining == 0 => return Ok(ChunkedState::LineStart),
            (ChunkedState::Data, _) => {
                self.content_left = self
                    .content_left
                    .checked_sub(self.remaining)
                    .ok_or(ParseError::BodyTooLarge)?;
            }
            (_, ChunkedPart::Chunk) => {}
            (_, ChunkedPart::Extension) => self.pay(ParseError::ChunkExtensionTooLong)?,
            (_, ChunkedPart::Trailer) => self.pay(ParseError::TrailersTooLarge)?,
        }
        Ok(next)
    }

    fn add_digit(&mut self, state: ChunkedState, byte: u8) -> Result<(), ParseError> {
        // `remaining` is zero here: the chunk before, if there was one, is skipped.
        if state == ChunkedState::SizeStart {
            self.digits = 0;
        }
        if self.digits == MAX_SIZE_DIGITS {
            return Err(ParseError::ChunkSize);
        }
        self.digits += 1;
        let digit = char::from(byte).to_digit(16).ok_or(ParseError::ChunkSize)?;
        // Sixteen digits of four bits each: nothing is shifted out.
        self.remaining = (self.remaining << 4) | u64::from(digit);
        Ok(())
    }

    fn pay(&mut self, otherwise: ParseError) -> Result<(), ParseError> {
        self.overhead_left = self.overhead_left.checked_sub(1).ok_or(otherwise)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
