//! The grammar of the chunked transfer coding (RFC 9112 section 7.1), byte by byte.
//!
//! ```text
//!                    ┌────────────────────── LF ───────────────────────┐
//!                    ▼                                                 │
//!   ──▶ SizeStart ─hex─▶ Size ─CR─▶ SizeLf ─LF, size > 0─▶ Data ─▶ DataCr ─CR─▶ DataLf
//!                         │  ▲          ▲│
//!                        BWS ";"       CR└─LF, size = 0─▶ LineStart ─CR─▶ EndLf ─LF─▶ Done
//!                         ▼             │                   │    ▲
//!                      (extensions) ────┘                 tchar  LF
//!                                                           ▼    │
//!                                              Name ─":"─▶ Value ─CR─▶ ValueLf
//! ```
//!
//! Line ends are CRLF and nothing else: section 2.2 allows a lone LF for the lines of a head only,
//! and where implementations disagree about the end of a chunk, requests are smuggled.

use salver_semantics::field::is_token;

use crate::error::ParseError;

/// The state of the parser: the place in the grammar at which the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkedState {
    /// Before the first digit of a chunk size.
    SizeStart,
    /// In a chunk size.
    Size,
    /// After the CR of a chunk's first line.
    SizeLf,
    /// In chunk data. [`step`](ChunkedState::step) is not called here: the bytes are skipped at once.
    Data,
    /// Behind the data.
    DataCr,
    /// After the CR behind the data.
    DataLf,
    /// In white space that only `;` may follow.
    ExtensionGap,
    /// After `;`.
    ExtensionStart,
    /// In the name of an extension.
    ExtensionName,
    /// In white space after that name.
    ExtensionNameGap,
    /// After `=`.
    ExtensionValueStart,
    /// In a value that is a token.
    ExtensionToken,
    /// In a value that is a quoted-string.
    ExtensionQuoted,
    /// After a backslash in a quoted-string.
    ExtensionEscape,
    /// After a quoted-string.
    ExtensionQuotedEnd,
    /// At the start of a line of the trailer section.
    LineStart,
    /// In the name of a trailer field.
    Name,
    /// In the value of a trailer field.
    Value,
    /// After the CR of a trailer field line.
    ValueLf,
    /// After the CR of the empty line.
    EndLf,
    /// The last byte has been read.
    Done,
}

/// The part of the body that a state belongs to, which decides the bound that its bytes count against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChunkedPart {
    Chunk,
    Extension,
    Trailer,
}

impl ChunkedState {
    pub(crate) fn part(self) -> ChunkedPart {
        match self {
            ChunkedState::SizeStart
            | ChunkedState::Size
            | ChunkedState::SizeLf
            | ChunkedState::Data
            | ChunkedState::DataCr
            | ChunkedState::DataLf
            | ChunkedState::Done => ChunkedPart::Chunk,
            ChunkedState::ExtensionGap
            | ChunkedState::ExtensionStart
            | ChunkedState::ExtensionName
            | ChunkedState::ExtensionNameGap
            | ChunkedState::ExtensionValueStart
            | ChunkedState::ExtensionToken
            | ChunkedState::ExtensionQuoted
            | ChunkedState::ExtensionEscape
            | ChunkedState::ExtensionQuotedEnd => ChunkedPart::Extension,
            ChunkedState::LineStart
            | ChunkedState::Name
            | ChunkedState::Value
            | ChunkedState::ValueLf
            | ChunkedState::EndLf => ChunkedPart::Trailer,
        }
    }

    /// True if the byte between this state and the `next` is one of a trailer field line.
    pub(crate) fn is_trailer_line(self, next: ChunkedState) -> bool {
        self.part() == ChunkedPart::Trailer
            && !matches!(next, ChunkedState::EndLf | ChunkedState::Done)
    }

    /// The state behind `byte`. The caller computes the size from its digits, and chooses between
    /// [`ChunkedState::Data`] and [`ChunkedState::LineStart`] after a size line, which is given here as `Data`.
    pub(crate) fn step(self, byte: u8) -> Result<ChunkedState, ParseError> {
        use ChunkedState::*;
        Ok(match (self, byte) {
            (SizeStart | Size, digit) if digit.is_ascii_hexdigit() => Size,
            (SizeLf, b'\n') => Data,
            (DataCr, b'\r') => DataLf,
            (DataLf, b'\n') => SizeStart,
            (DataCr | DataLf, _) => return Err(ParseError::ChunkEnd),

            // chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS value ] ), section 7.1.1.
            (Size | ExtensionName | ExtensionToken | ExtensionQuotedEnd, b'\r') => SizeLf,
            (
                Size | ExtensionGap | ExtensionName | ExtensionNameGap | ExtensionToken
                | ExtensionQuotedEnd,
                b';',
            ) => ExtensionStart,
            (Size | ExtensionGap | ExtensionToken | ExtensionQuotedEnd, b' ' | b'\t') => {
                ExtensionGap
            }
            (ExtensionName | ExtensionNameGap, b' ' | b'\t') => ExtensionNameGap,
            (ExtensionName | ExtensionNameGap, b'=') => ExtensionValueStart,
            (ExtensionStart | ExtensionValueStart, b' ' | b'\t') => self,
            (ExtensionStart | ExtensionName, byte) if is_tchar(byte) => ExtensionName,
            (ExtensionValueStart | ExtensionToken, byte) if is_tchar(byte) => ExtensionToken,
            (ExtensionValueStart, b'"') => ExtensionQuoted,
            (ExtensionQuoted, b'"') => ExtensionQuotedEnd,
            (ExtensionQuoted, b'\\') => ExtensionEscape,
            (ExtensionQuoted | ExtensionEscape, byte) if is_text(byte) => ExtensionQuoted,
            (SizeStart | Size | SizeLf, _) => return Err(ParseError::ChunkSize),

            // trailer-section = *( field-line CRLF ), section 7.1.2. Folding is refused as in a head.
            (LineStart, b'\r') => EndLf,
            (EndLf, b'\n') => Done,
            (LineStart | Name, byte) if is_tchar(byte) => Name,
            (Name, b':') => Value,
            (Value, byte) if is_text(byte) => Value,
            (Value, b'\r') => ValueLf,
            (ValueLf, b'\n') => LineStart,

            _ if self.part() == ChunkedPart::Extension => return Err(ParseError::ChunkExtension),
            _ => return Err(ParseError::Trailer),
        })
    }
}

fn is_tchar(byte: u8) -> bool {
    is_token(&[byte])
}

/// True for the bytes of field values and quoted-strings: HTAB, SP, VCHAR and obs-text.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
