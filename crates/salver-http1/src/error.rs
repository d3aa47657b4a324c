//! The errors of requests, and the status of each.

use salver_semantics::Refusal;

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        let (status, reason) = error.answer();
        Refusal { status, reason }
    }
}

/// The error of a request that cannot be parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParseError {
    EmptyLines,
    LineEnd,
    Method,
    MethodTooLong,
    Target,
    TargetByte,
    TargetTooLong,
    VersionMissing,
    Version,
    VersionUnsupported,
    FieldName,
    FieldValue,
    TooManyFields,
    HeadTooLarge,
    HostMissing,
    HostInvalid,
    ContentLength,
    TwoLengths,
    TransferEncoding,
    TransferEncodingTooOld,
    TransferCodingUnknown,
    Expectation,
    BodyTooLarge,
    ChunkSize,
    ChunkExtension,
    ChunkExtensionTooLong,
    ChunkEnd,
    Trailer,
    TrailersTooLarge,
}

impl ParseError {
    /// The status and the sentence for people of each error: the one table of them.
    const fn answer(self) -> (u16, &'static str) {
        match self {
            Self::EmptyLines => (400, "Too many empty lines before the request line"),
            Self::LineEnd => (400, "CR without LF"),
            Self::Method => (400, "The method is not a token"),
            // RFC 9112 section 3: longer than any method that is implemented.
            Self::MethodTooLong => (501, "The method is not implemented"),
            Self::Target => (400, "The request target has no valid form for this method"),
            Self::TargetByte => (400, "The request target is empty or holds an invalid byte"),
            Self::TargetTooLong => (414, "The request target is too long"),
            Self::VersionMissing => (400, "The request line has no HTTP version"),
            Self::Version => (400, "The HTTP version is malformed"),
            Self::VersionUnsupported => (505, "Only HTTP/1.1 and HTTP/1.0 are spoken here"),
            Self::FieldName => (400, "A field line does not begin with a name and a colon"),
            Self::FieldValue => (400, "A field value holds an invalid byte"),
            Self::TooManyFields => (431, "Too many field lines"),
            Self::HeadTooLarge => (431, "The field section is too large"),
            Self::HostMissing => (400, "The Host field is missing"),
            Self::HostInvalid => (400, "The Host field is invalid or repeated"),
            Self::ContentLength => (400, "The Content-Length field is invalid or repeated"),
            Self::TwoLengths => (
                400,
                "Content-Length and Transfer-Encoding exclude each other",
            ),
            Self::TransferEncoding => (400, "The Transfer-Encoding field is invalid"),
            Self::TransferEncodingTooOld => (400, "HTTP/1.0 has no Transfer-Encoding"),
            Self::TransferCodingUnknown => (501, "The transfer coding is not implemented"),
            Self::Expectation => (417, "The only expectation that can be met is 100-continue"),
            Self::BodyTooLarge => (413, "The content is too large"),
            Self::ChunkSize => (400, "A chunk size is malformed"),
            Self::ChunkExtension => (400, "A chunk extension is malformed"),
            Self::ChunkExtensionTooLong => (400, "The chunk extensions are too long"),
            Self::ChunkEnd => (400, "A chunk is longer than its size"),
            Self::Trailer => (400, "The trailer section is malformed"),
            Self::TrailersTooLarge => (431, "The trailer section is too large"),
        }
    }
}
