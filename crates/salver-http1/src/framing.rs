//! The length of the message body of a request (RFC 9112 section 6.3).

use salver_semantics::field::{is_token, list, trim_ows};
use salver_semantics::message;

use crate::error::ParseError;
use crate::fields::ControlFields;
use crate::limits::Limits;
use crate::request_line::Version;

/// The length of a message body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyLength {
    /// No body: the next request begins right behind the head. `Content-Length: 0` is this too.
    None,
    /// A body of so many bytes, at least one.
    Sized(u64),
    /// The chunked transfer coding.
    Chunked,
}

/// The body length by the rules for requests, in the order of section 6.3. Where two recipients could disagree about
/// the length, the request is refused: that is how requests are smuggled (section 11.2).
pub(crate) fn body_length(
    control: &ControlFields<'_>,
    version: Version,
    limits: &Limits,
) -> Result<BodyLength, ParseError> {
    match (&control.transfer_encoding, &control.content_length) {
        (None, None) => Ok(BodyLength::None),
        (Some(_), Some(_)) => Err(ParseError::TwoLengths),
        // Section 6.1: the framing of such a message is faulty.
        (Some(_), None) if version == Version::Http10 => Err(ParseError::TransferEncodingTooOld),
        (Some(value), None) => transfer_encoding(value).map(|()| BodyLength::Chunked),
        (None, Some(value)) => match content_length(value)? {
            0 => Ok(BodyLength::None),
            // RFC 9110 section 15.5.14.
            length if length > limits.max_body => Err(ParseError::BodyTooLarge),
            length => Ok(BodyLength::Sized(length)),
        },
    }
}

/// The value of Content-Length. RFC 9110 section 8.6 lets a recipient take a list of equal numbers for one of them;
/// no honest client sends that, so it is refused like any other list.
fn content_length(value: &[u8]) -> Result<u64, ParseError> {
    message::content_length(value).ok_or(ParseError::ContentLength)
}

/// Checks Transfer-Encoding. Only `chunked` alone is accepted: files need no content, so that there is no use for the
/// codings that compress. All else is refused, with 400 or 501.
fn transfer_encoding(value: &[u8]) -> Result<(), ParseError> {
    const CHUNKED: &[u8] = b"chunked";
    if value.eq_ignore_ascii_case(CHUNKED) {
        return Ok(());
    }
    // A parameter doesn't make another coding (section 7), and chunked has none (section 7.1).
    let name = |coding: &'_ [u8]| -> usize {
        coding
            .iter()
            .position(|&byte| byte == b';')
            .unwrap_or(coding.len())
    };
    let mut unknown = false;
    let mut chunked = false;
    for coding in list(value) {
        let name = trim_ows(coding.get(..name(coding)).unwrap_or_default());
        // Section 6.3 item 4: behind chunked nothing may follow, itself included.
        if chunked || !is_token(name) {
            return Err(ParseError::TransferEncoding);
        }
        chunked = name.eq_ignore_ascii_case(CHUNKED);
        unknown |= !chunked;
    }
    // Section 6.1: 501 for a coding that is not understood.
    Err(if unknown {
        ParseError::TransferCodingUnknown
    } else {
        ParseError::TransferEncoding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    use BodyLength::{Chunked, Sized};

    #[track_caller]
    fn check(
        content_length: Option<&str>,
        transfer_encoding: Option<&str>,
        expected: Result<BodyLength, ParseError>,
    ) {
        let value = |value: Option<&'static str>| value.map(|v| Cow::Borrowed(v.as_bytes()));
        let leak = |value: Option<&str>| value.map(|v| &*String::from(v).leak());
        let control = ControlFields {
            content_length: value(leak(content_length)),
            transfer_encoding: value(leak(transfer_encoding)),
            ..ControlFields::default()
        };
        let actual = body_length(&control, Version::Http11, &Limits::default());
        assert_eq!(actual, expected, "{content_length:?} {transfer_encoding:?}");
    }

    #[test]
    fn lengths() {
        check(None, None, Ok(BodyLength::None));
        for (value, expected) in [
            ("0", BodyLength::None),
            ("00000000000000000000000000", BodyLength::None),
            ("1", Sized(1)),
            ("5", Sized(5)),
            ("0000000000000000000000000000000000005", Sized(5)),
            ("1048576", Sized(1 << 20)),
        ] {
            check(Some(value), None, Ok(expected));
        }
    }

    #[test]
    fn lengths_that_are_refused() {
        for value in [
            "", " ", "+5", "-5", "-0", "5 ", " 5", "5 5", "5,5", "5, 5", "5,", ",5", "5, 6", "0x5",
            "5.0", "1e3", "five", "5;", "\"5\"", "0, 5", "1_000", "٥", "5\t",
        ] {
            check(Some(value), None, Err(ParseError::ContentLength));
        }
        for value in [
            "1048577",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999999999999999999999",
        ] {
            check(Some(value), None, Err(ParseError::BodyTooLarge));
        }
    }

    #[test]
    fn transfer_codings() {
        for value in ["chunked", "Chunked", "CHUNKED", "cHuNkEd"] {
            check(None, Some(value), Ok(Chunked));
        }
        for value in [
            "gzip",
            "identity",
            "deflate",
            "compress",
            "br",
            "x",
            "xchunked",
            "chunkedx",
            "chunked-",
            "gzip, chunked",
            "identity, chunked",
            "gzip, deflate, chunked",
            "gzip;q=1",
            "x;a=\"b, chunked\"",
            "trailers",
        ] {
            check(None, Some(value), Err(ParseError::TransferCodingUnknown));
        }
        for value in [
            "",
            ",",
            ", ,",
            ",chunked",
            "chunked,",
            "chunked, ",
            "chunked, chunked",
            "chunked, gzip",
            "gzip, chunked, chunked",
            "chunked, identity",
            "chunked;",
            "chunked;a",
            "chunked;a=b",
            "chunked ;a=b",
            "chunked chunked",
            "\"chunked\"",
            "chunked\"",
            "chun ked",
            "ch\u{fc}nked",
            "chunked;a, gzip",
            ";",
            "=",
            "(chunked)",
            "gzip, ;",
        ] {
            check(None, Some(value), Err(ParseError::TransferEncoding));
        }
    }

    #[test]
    fn both_are_refused_whatever_they_say() {
        for content_length in ["0", "5", "", "x"] {
            for transfer_encoding in ["chunked", "gzip", "identity", ""] {
                check(
                    Some(content_length),
                    Some(transfer_encoding),
                    Err(ParseError::TwoLengths),
                );
            }
        }
    }
}
