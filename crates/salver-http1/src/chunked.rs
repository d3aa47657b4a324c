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

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Before the first digit of a chunk size.
    SizeStart,
    /// In a chunk size.
    Size,
    /// After the CR of a chunk's first line.
    SizeLf,
    /// In chunk data. [`step`] is not called here: the bytes are skipped at once.
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

/// What a state is a part of: says which bound its bytes count against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Chunk,
    Extension,
    Trailer,
}

impl State {
    pub(crate) fn part(self) -> Part {
        match self {
            State::SizeStart
            | State::Size
            | State::SizeLf
            | State::Data
            | State::DataCr
            | State::DataLf
            | State::Done => Part::Chunk,
            State::ExtensionGap
            | State::ExtensionStart
            | State::ExtensionName
            | State::ExtensionNameGap
            | State::ExtensionValueStart
            | State::ExtensionToken
            | State::ExtensionQuoted
            | State::ExtensionEscape
            | State::ExtensionQuotedEnd => Part::Extension,
            State::LineStart | State::Name | State::Value | State::ValueLf | State::EndLf => {
                Part::Trailer
            }
        }
    }

    /// The state behind `byte`. What a hexadecimal digit does to the size is the caller's business,
    /// and so is the choice between [`State::Data`] and [`State::LineStart`] after a size line,
    /// which is given here as `Data`.
    pub(crate) fn step(self, byte: u8) -> Result<State, ParseError> {
        use State::*;
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

            _ if self.part() == Part::Extension => return Err(ParseError::ChunkExtension),
            _ => return Err(ParseError::Trailer),
        })
    }
}

fn is_tchar(byte: u8) -> bool {
    is_token(&[byte])
}

/// HTAB, SP, VCHAR and obs-text: what field values and quoted-strings are made of.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
