//! The answer that is expected of a request, and the judgement of one that came.

use xxhash_rust::xxh3::xxh3_64;

use crate::answer::coding::Coding;
use crate::answer::{Answer, Keep};

/// The expectation of the answers to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    pub(crate) content: Content,
    /// A field whose value is known.
    pub(crate) field: Option<Field>,
}

/// A field that says which representation, or which part of it, an answer is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// `ETag`: a 304 has that of the representation that the client holds (RFC 9110 section 15.4.5).
    EntityTag(Vec<u8>),
    /// `Content-Range`: a 206 of one range has it (RFC 9110 section 15.3.7.1).
    ContentRange(String),
}

/// The content that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// None, whatever the fields say: the answer to HEAD (RFC 9110 section 9.3.2).
    Nothing,
    /// Whatever its framing says.
    Any,
    /// Exactly these coded bytes, of which somebody has seen that they decode to the right ones.
    Coded { coding: Coding, bytes: Bytes },
    /// Bytes that decode to these: for servers that code the same content anew each time.
    Decoded(Bytes),
}

/// Bytes that are known by their number and their hash, xxh3-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) length: u64,
    pub(crate) hash: u64,
}

impl Bytes {
    pub(crate) fn of(bytes: &[u8]) -> Bytes {
        Bytes {
            length: bytes.len() as u64,
            hash: xxh3_64(bytes),
        }
    }
}

/// The fault of a complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Status,
    Content,
}

impl Expected {
    /// The expectation of which nothing but the status is known.
    pub(crate) fn status(status: u16) -> Expected {
        Expected {
            status,
            content: Content::Any,
            field: None,
        }
    }

    /// The part of an answer's content that has to be kept to judge it.
    pub(crate) fn keep(&self) -> Keep {
        match self.content {
            Content::Nothing => Keep::Nothing,
            Content::Any => Keep::Length,
            Content::Coded { .. } => Keep::Hash,
            Content::Decoded(_) => Keep::Bytes,
        }
    }

    /// Judges a complete answer that was read with [`keep`](Self::keep).
    pub(crate) fn judge(&self, answer: &Answer) -> Result<(), Wrong> {
        if answer.status != self.status {
            return Err(Wrong::Status);
        }
        let is_of_that = match &self.field {
            None => true,
            // By the weak comparison, as If-None-Match is (RFC 9110 section 13.1.2).
            Some(Field::EntityTag(tag)) => opaque(&answer.entity_tag) == opaque(tag),
            Some(Field::ContentRange(range)) => answer.content_range == range.as_bytes(),
        };
        let is_right = is_of_that
            && match &self.content {
                Content::Nothing | Content::Any => true,
                Content::Coded { coding, bytes } => {
                    let found = Bytes {
                        length: answer.content_bytes,
                        hash: answer.hash,
                    };
                    *coding == answer.coding && found == *bytes
                }
                Content::Decoded(bytes) => answer
                    .coding
                    .decode(&answer.content, bytes.length)
                    .is_ok_and(|content| Bytes::of(&content) == *bytes),
            };
        match is_right {
            true => Ok(()),
            false => Err(Wrong::Content),
        }
    }
}

/// The opaque part of an entity tag, weak or strong (RFC 9110 section 8.8.3).
fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Fed;

    fn check(content: Content, text: &str, expected: Result<(), Wrong>) {
        let wanted = Expected {
            content,
            ..Expected::status(200)
        };
        judged(wanted, text, expected);
    }

    fn judged(wanted: Expected, text: &str, expected: Result<(), Wrong>) {
        let mut answer = Answer::default();
        answer.begin(wanted.keep());
        let fed = answer.feed(text.as_bytes());
        assert!(matches!(fed, Fed::Done(_)), "{text}");
        assert_eq!(wanted.judge(&answer), expected, "{text}");
    }

    #[test]
    fn answers_are_judged_by_status_coding_and_bytes() {
        let ok = |more: &str, text: &str| {
            let length = text.len();
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{more}\r\n{text}")
        };
        let not_found = "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\na";
        let coded = || Content::Coded {
            coding: Coding::Identity,
            bytes: Bytes::of(b"alpha"),
        };
        check(Content::Any, &ok("", "beta"), Ok(()));
        check(Content::Any, not_found, Err(Wrong::Status));
        check(coded(), &ok("", "alpha"), Ok(()));
        check(coded(), &ok("", "alphb"), Err(Wrong::Content));
        check(coded(), &ok("", "alph"), Err(Wrong::Content));
        let br = ok("Content-Encoding: br\r\n", "alpha");
        check(coded(), &br, Err(Wrong::Content));
        let decoded = || Content::Decoded(Bytes::of(b"alpha"));
        check(decoded(), &ok("", "alpha"), Ok(()));
        check(decoded(), &ok("", "omega"), Err(Wrong::Content));
        let gzip = ok("Content-Encoding: gzip\r\n", "alpha");
        check(decoded(), &gzip, Err(Wrong::Content));
        // The answer to HEAD has no content, whatever its length.
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        check(Content::Nothing, head, Ok(()));
    }

    #[test]
    fn a_part_and_what_has_not_changed_are_judged_by_the_field_that_says_of_what() {
        let not_modified = |tag: &str| format!("HTTP/1.1 304 N\r\n{tag}\r\n");
        for (field, expected) in [
            ("ETag: \"a\"\r\n", Ok(())),
            ("ETag: W/\"a\"\r\n", Ok(())),
            ("ETag: \"b\"\r\n", Err(Wrong::Content)),
            ("", Err(Wrong::Content)),
        ] {
            let wanted = Expected {
                field: Some(Field::EntityTag(b"\"a\"".to_vec())),
                ..Expected::status(304)
            };
            judged(wanted, &not_modified(field), expected);
        }
        for (range, expected) in [
            ("bytes 1-2/9", Ok(())),
            ("bytes 0-1/9", Err(Wrong::Content)),
        ] {
            let wanted = Expected {
                field: Some(Field::ContentRange("bytes 1-2/9".to_owned())),
                ..Expected::status(206)
            };
            let text =
                format!("HTTP/1.1 206 P\r\nContent-Range: {range}\r\nContent-Length: 2\r\n\r\nab");
            judged(wanted, &text, expected);
        }
    }
}
