//! What an answer should be, and whether it is.

use xxhash_rust::xxh3::xxh3_64;

use crate::answer::{Answer, Keep};
use crate::coding::Coding;

/// What is expected of the answers to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    pub(crate) content: Content,
}

/// What content is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
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
            length: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            hash: xxh3_64(bytes),
        }
    }
}

/// What is wrong with a complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Status,
    Content,
}

impl Expected {
    /// What has to be known of an answer's content to judge it.
    pub(crate) fn keep(&self) -> Keep {
        match self.content {
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
        let is_right = match &self.content {
            Content::Any => true,
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
        if is_right {
            Ok(())
        } else {
            Err(Wrong::Content)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Fed;

    fn check(content: Content, text: &str, expected: Result<(), Wrong>) {
        let wanted = Expected {
            status: 200,
            content,
        };
        let mut answer = Answer::new();
        answer.begin(wanted.keep());
        assert!(
            matches!(answer.feed(text.as_bytes()), Fed::Done(_)),
            "{text}"
        );
        assert_eq!(wanted.judge(&answer), expected, "{text}");
    }

    #[test]
    fn answers_are_judged_by_status_coding_and_bytes() {
        let ok = |more: &str, text: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{more}\r\n{text}",
                text.len()
            )
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
        check(
            coded(),
            &ok("Content-Encoding: br\r\n", "alpha"),
            Err(Wrong::Content),
        );
        let decoded = || Content::Decoded(Bytes::of(b"alpha"));
        check(decoded(), &ok("", "alpha"), Ok(()));
        check(decoded(), &ok("", "omega"), Err(Wrong::Content));
        check(
            decoded(),
            &ok("Content-Encoding: gzip\r\n", "alpha"),
            Err(Wrong::Content),
        );
    }
}
