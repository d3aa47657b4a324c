//! One answer, read as it comes: its head, then its content by its framing.
//!
//! ```text
//! Head ──► Length ──┐
//!   │ ───► Chunked ─┼─► done
//!   │ ───► UntilClose (the connection's end)
//!   └─ 1xx: the next head (RFC 9110 section 15.2)
//! ```

pub(crate) mod chunks;
pub(crate) mod coding;
pub(crate) mod expected;
pub(crate) mod framed;
mod head;

use std::time::Instant;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use chunks::Chunks;
use coding::Coding;
use head::{Framing, NoHead};

/// The part of the content that is to be known at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keep {
    /// There is none: the answer is to HEAD.
    Nothing,
    #[default]
    Length,
    Hash,
    Bytes,
}

/// An answer so far; one value serves all answers of a connection, one after the other.
#[derive(Default)]
pub(crate) struct Answer {
    keep: Keep,
    at: At,
    /// The beginning of a head that was cut.
    partial: Vec<u8>,
    /// A byte of this answer has come.
    pub(crate) has_begun: bool,
    pub(crate) status: u16,
    pub(crate) coding: Coding,
    pub(crate) persistent: bool,
    pub(crate) head_bytes: u64,
    pub(crate) content_bytes: u64,
    /// Of the content, if it was to be kept: xxh3-64.
    pub(crate) hash: u64,
    /// The content, if it was to be kept.
    pub(crate) content: Vec<u8>,
    /// `ETag`, empty if there is none.
    pub(crate) entity_tag: Vec<u8>,
    /// `Content-Range`, empty if there is none.
    pub(crate) content_range: Vec<u8>,
    /// The moment at which the measuring begins, if the answer may begin before.
    counts_from: Option<Instant>,
    /// Bytes of content that came before it.
    early_bytes: u64,
    /// Allocated for the first content that comes in several pieces.
    hasher: Option<Box<Xxh3>>,
}

#[derive(Default)]
enum At {
    #[default]
    Head,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

/// The outcome of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// All were taken, and the answer goes on.
    More,
    /// It is complete; so many bytes belonged to it.
    Done(usize),
    Malformed,
}

impl Answer {
    /// Makes ready for the next answer.
    pub(crate) fn begin(&mut self, keep: Keep) {
        self.keep = keep;
        self.at = At::Head;
        self.partial.clear();
        self.has_begun = false;
        self.head_bytes = 0;
        self.content_bytes = 0;
        self.content.clear();
        self.counts_from = None;
        self.early_bytes = 0;
    }

    /// Tells apart what comes before the measuring begins: the answer may come for longer than that.
    pub(crate) fn count_from(&mut self, moment: Instant) {
        self.counts_from = Some(moment);
    }

    /// Bytes of content that came while it was measured.
    pub(crate) fn measured_bytes(&self) -> u64 {
        self.content_bytes - self.early_bytes
    }

    /// Takes what belongs to the answer from the bytes that came next.
    pub(crate) fn feed(&mut self, input: &[u8]) -> Fed {
        self.has_begun |= !input.is_empty();
        let mut taken = 0;
        loop {
            let rest = input.get(taken..).unwrap_or_default();
            match &mut self.at {
                At::Head => match self.head(rest) {
                    Ok(length) => taken += length,
                    Err(NoHead::Incomplete) => return Fed::More,
                    Err(NoHead::Malformed) => return Fed::Malformed,
                },
                At::Length(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    let piece = rest.get(..here).unwrap_or_default();
                    return match self.content(piece) {
                        true => Fed::Done(taken + here),
                        false => Fed::More,
                    };
                }
                At::Chunked(chunks) => {
                    let mut chunks = std::mem::take(chunks);
                    let before = self.content_bytes;
                    let Some(found) = chunks.take(rest, |piece| self.take(piece)) else {
                        return Fed::Malformed;
                    };
                    self.at = At::Chunked(chunks);
                    self.head_bytes += found.bytes as u64 - (self.content_bytes - before);
                    if found.is_end {
                        self.end();
                        return Fed::Done(taken + found.bytes);
                    }
                    return Fed::More;
                }
                At::UntilClose => {
                    self.take(rest);
                    return Fed::More;
                }
            }
        }
    }

    /// True if the end of the connection, which has come, completes the answer.
    pub(crate) fn is_ended_by_close(&mut self) -> bool {
        let ends = matches!(self.at, At::UntilClose);
        if ends {
            self.end();
        }
        ends
    }

    /// Takes a head; how much of `rest` belonged to it.
    fn head(&mut self, rest: &[u8]) -> Result<usize, NoHead> {
        let before = self.partial.len();
        let mut partial = std::mem::take(&mut self.partial);
        let bytes = match before {
            0 => rest,
            _ => {
                partial.extend_from_slice(rest);
                &partial
            }
        };
        let head = match head::parse(bytes) {
            Ok(head) => head,
            Err(no_head) => {
                if before == 0 {
                    partial.extend_from_slice(rest);
                }
                self.partial = partial;
                return Err(no_head);
            }
        };
        self.head_bytes += head.length as u64;
        let taken = head.length - before;
        if !matches!(head.status, 100..=199) {
            self.status = head.status;
            self.persistent = head.persistent && head.framing != Framing::UntilClose;
            self.take_fields(head.coding, head.entity_tag, head.content_range);
            self.at = match head.framing {
                _ if self.keep == Keep::Nothing => At::Length(0),
                Framing::Length(length) => At::Length(length),
                Framing::Chunked => At::Chunked(Chunks::default()),
                Framing::UntilClose => At::UntilClose,
            };
        }
        partial.clear();
        self.partial = partial;
        Ok(taken)
    }

    /// Takes the fields that are looked at; each is empty if there is none.
    fn take_fields(&mut self, coding: &[u8], entity_tag: &[u8], content_range: &[u8]) {
        if coding != self.coding.name().as_bytes() {
            self.coding = Coding::named(coding);
        }
        self.entity_tag.clear();
        self.entity_tag.extend_from_slice(entity_tag);
        self.content_range.clear();
        self.content_range.extend_from_slice(content_range);
    }

    /// Takes a piece of content that is no longer than what is left; whether that is all, by the
    /// length that was promised.
    fn content(&mut self, piece: &[u8]) -> bool {
        let ends = match &mut self.at {
            At::Length(left) => {
                *left = left.saturating_sub(piece.len() as u64);
                *left == 0
            }
            At::Head | At::Chunked(_) | At::UntilClose => false,
        };
        if ends && self.content_bytes == 0 && self.keep == Keep::Hash {
            // All of it at once, as small content is.
            self.hash = xxh3_64(piece);
            self.content_bytes = piece.len() as u64;
        } else {
            self.take(piece);
            if ends {
                self.end();
            }
        }
        ends
    }

    /// Takes a piece of the content.
    fn take(&mut self, piece: &[u8]) {
        match self.keep {
            Keep::Nothing | Keep::Length => {}
            Keep::Hash => {
                let hasher = self.hasher.get_or_insert_default();
                if self.content_bytes == 0 {
                    hasher.reset();
                }
                hasher.update(piece);
            }
            Keep::Bytes => self.content.extend_from_slice(piece),
        }
        self.content_bytes += piece.len() as u64;
        if self.counts_from.is_some_and(|from| Instant::now() < from) {
            self.early_bytes = self.content_bytes;
        }
    }

    fn end(&mut self) {
        self.hash = match self.keep {
            Keep::Nothing | Keep::Length => 0,
            Keep::Hash => match &self.hasher {
                Some(hasher) if self.content_bytes > 0 => hasher.digest(),
                _ => xxh3_64(b""),
            },
            Keep::Bytes => xxh3_64(&self.content),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an answer is, however its bytes are cut; `None` if it is malformed or not complete.
    fn check(text: &str, expected: Option<(u16, &str, usize)>) {
        for keep in [Keep::Hash, Keep::Bytes] {
            for cut in 0..=text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut answer = Answer::default();
                answer.begin(keep);
                let mut found = match answer.feed(first) {
                    Fed::More => match answer.feed(second) {
                        Fed::Done(taken) => Some(cut + taken),
                        Fed::More | Fed::Malformed => None,
                    },
                    Fed::Done(taken) => Some(taken),
                    Fed::Malformed => None,
                };
                if found.is_none() && expected.is_some() && answer.is_ended_by_close() {
                    found = Some(text.len());
                }
                let case = format!("{text:?} at {cut}");
                assert_eq!(found, expected.map(|(_, _, taken)| taken), "{case}");
                if let Some((status, content, taken)) = expected {
                    assert_eq!(answer.status, status, "{case}");
                    assert_eq!(answer.hash, xxh3_64(content.as_bytes()), "{case}");
                    assert_eq!(answer.content_bytes, content.len() as u64);
                    assert_eq!(answer.head_bytes + answer.content_bytes, taken as u64);
                    assert!(answer.has_begun);
                    if keep == Keep::Bytes {
                        assert_eq!(answer.content, content.as_bytes());
                    }
                }
            }
        }
    }

    #[test]
    fn answers() {
        let ok = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}");
        let chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nX";
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let not_found = "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\n!";
        let hello = ok("Content-Length: 5\r\n\r\nhelloHTTP");
        check(&hello, Some((200, "hello", 43)));
        check("HTTP/1.1 204 No\r\n\r\nX", Some((204, "", 19)));
        check(&ok("Content-Length: 0\r\n\r\nX"), Some((200, "", 38)));
        check(&ok(chunked), Some((200, "abcde", 67)));
        check(&format!("{hints}{not_found}"), Some((404, "!", 79)));
        check(&ok("\r\nto the end"), Some((200, "to the end", 29)));
        // What is malformed or short.
        check(&ok("Content-Length: 5\r\n\r\nhell"), None);
        check(&ok("Content-Length: x\r\n\r\n"), None);
        check(&ok("Transfer-Encoding: chunked\r\n\r\nxyz"), None);
        check("nonsense\r\n\r\n", None);
    }

    #[test]
    fn one_value_reads_one_answer_after_the_other() {
        let mut answer = Answer::default();
        for text in ["a", "bb", "", "dddd"] {
            answer.begin(Keep::Hash);
            let length = text.len();
            let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}");
            let (head, content) = bytes.split_at(38);
            assert_eq!(answer.feed(head.as_bytes()) == Fed::More, !text.is_empty());
            if !text.is_empty() {
                assert_eq!(answer.feed(content.as_bytes()), Fed::Done(text.len()));
            }
            assert_eq!(answer.hash, xxh3_64(text.as_bytes()));
        }
    }
}
