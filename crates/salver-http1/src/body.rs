//! Finds the end of a message body, and what of it is content.

use salver_semantics::Refusal;

use crate::chunked::{Part, State};
use crate::error::ParseError;
use crate::framing::BodyLength;
use crate::limits::Limits;

/// More digits than a chunk size of 64 bits has are refused, zeros or not.
const MAX_SIZE_DIGITS: u8 = 16;

/// Reads one message body.
#[derive(Debug)]
pub struct BodyDecoder {
    coding: Coding,
    /// Bytes of content still to come: of the body if it is sized, of the chunk if not (then also
    /// the chunk size while its digits are read).
    remaining: u64,
    /// The chunked coding only: content that the chunks to come may still hold.
    content_left: u64,
    /// The chunked coding only: bytes that extensions and trailers may still take.
    overhead_left: usize,
    /// Digits of the chunk size so far.
    digits: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coding {
    Identity,
    Chunked(State),
}

impl BodyDecoder {
    /// A decoder for a body of this length, within the bounds that `limits` has now.
    pub fn new(length: BodyLength, limits: &Limits) -> BodyDecoder {
        let (coding, remaining) = match length {
            BodyLength::None => (Coding::Identity, 0),
            BodyLength::Sized(length) => (Coding::Identity, length),
            BodyLength::Chunked => (Coding::Chunked(State::SizeStart), 0),
        };
        BodyDecoder {
            coding,
            remaining,
            content_left: limits.max_body,
            overhead_left: limits.max_head,
            digits: 0,
        }
    }

    /// Reads what of `input` belongs to the body. Returns how many bytes that is, and whether the
    /// body is now whole; if it is not, all of `input` was read. What follows a whole body is
    /// never touched. Content is appended to `content`, without the chunked coding, or dropped.
    ///
    /// # Errors
    /// For the chunked coding (RFC 9112 section 7.1): 400 for wrong syntax or too long extensions,
    /// 413 for more content than [`Limits::max_body`], 431 for too many trailers. After an error the
    /// decoder must not be used again.
    pub fn read(
        &mut self,
        input: &[u8],
        mut content: Option<&mut Vec<u8>>,
    ) -> Result<(usize, bool), Refusal> {
        let mut rest = input;
        loop {
            match self.coding {
                Coding::Chunked(State::Done) => return Ok((input.len() - rest.len(), true)),
                Coding::Identity | Coding::Chunked(State::Data) => {
                    let run = self.take_content(&mut rest);
                    if let Some(content) = &mut content {
                        content.extend_from_slice(run);
                    }
                    if self.remaining > 0 {
                        return Ok((input.len(), false));
                    }
                    self.coding = match self.coding {
                        Coding::Identity => return Ok((input.len() - rest.len(), true)),
                        Coding::Chunked(_) => Coding::Chunked(State::DataCr),
                    };
                }
                Coding::Chunked(state) => {
                    let Some((&byte, tail)) = rest.split_first() else {
                        return Ok((input.len(), false));
                    };
                    self.coding = Coding::Chunked(self.step(state, byte)?);
                    rest = tail;
                }
            }
        }
    }

    /// What `input` begins with that is content; the rest is left.
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

    fn step(&mut self, state: State, byte: u8) -> Result<State, ParseError> {
        let next = state.step(byte)?;
        match (next, next.part()) {
            (State::Size, _) => self.add_digit(state, byte)?,
            (State::Data, _) if self.remaining == 0 => return Ok(State::LineStart),
            (State::Data, _) => {
                self.content_left = self
                    .content_left
                    .checked_sub(self.remaining)
                    .ok_or(ParseError::BodyTooLarge)?;
            }
            (_, Part::Chunk) => {}
            (_, Part::Extension) => self.pay(ParseError::ChunkExtensionTooLong)?,
            (_, Part::Trailer) => self.pay(ParseError::TrailersTooLarge)?,
        }
        Ok(next)
    }

    fn add_digit(&mut self, state: State, byte: u8) -> Result<(), ParseError> {
        // `remaining` is zero here: the chunk before, if there was one, is skipped.
        if state == State::SizeStart {
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
