//! Answers of HTTP/2 and HTTP/3, whose messages are framed already (RFC 9113 section 8.1, RFC 9114
//! section 4.1): a library gives the head, then pieces of the content, then the end.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Answer, At, Keep};

/// The lengths of an answer contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradictory;

impl Answer {
    /// Takes the head. Its bytes are those of the fields as they are decoded.
    pub(crate) fn take_head(
        &mut self,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Result<(), Contradictory> {
        self.has_begun = true;
        self.status = status.as_u16();
        self.persistent = true;
        let bytes = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
        self.head_bytes += fields.iter().map(bytes).sum::<usize>() as u64;
        let value = |name| fields.get(name).map_or(&b""[..], HeaderValue::as_bytes);
        self.take_fields(value(CONTENT_ENCODING), value(ETAG), value(CONTENT_RANGE));
        let mut lengths = fields.get_all(CONTENT_LENGTH).iter();
        self.at = match (self.status, lengths.next()) {
            // These never have content, whatever their fields say.
            (204 | 304, _) => At::Length(0),
            _ if self.keep == Keep::Nothing => At::Length(0),
            (_, None) => At::UntilClose,
            (_, Some(length)) => {
                let text = length.to_str().ok();
                let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let number = text.and_then(|text| text.parse().ok());
                if lengths.any(|other| other != length) {
                    return Err(Contradictory);
                }
                At::Length(number.ok_or(Contradictory)?)
            }
        };
        Ok(())
    }

    /// Takes a piece of the content.
    pub(crate) fn take_piece(&mut self, piece: &[u8]) -> Result<(), Contradictory> {
        if let At::Length(left) = self.at
            && left < (piece.len() as u64)
        {
            return Err(Contradictory);
        }
        self.content(piece);
        Ok(())
    }

    /// Takes the end: the answer is complete.
    pub(crate) fn take_end(&mut self) -> Result<(), Contradictory> {
        match self.at {
            At::Length(0) if self.content_bytes > 0 => Ok(()),
            At::Length(0) | At::UntilClose => {
                self.end();
                Ok(())
            }
            At::Length(_) | At::Head | At::Chunked(_) => Err(Contradictory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::coding::Coding;
    use xxhash_rust::xxh3::xxh3_64;

    fn check(
        status: u16,
        fields: &[(&'static str, &str)],
        pieces: &[&str],
        expected: Result<&str, Contradictory>,
    ) {
        let parsed = |(name, value): &(&str, &str)| -> (HeaderName, HeaderValue) {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        let fields = HeaderMap::from_iter(fields.iter().map(parsed));
        for keep in [Keep::Hash, Keep::Bytes] {
            let mut answer = Answer::default();
            // A value that has read another answer before.
            answer.begin(keep);
            let _ = answer.take_piece(b"of the last one");
            answer.begin(keep);
            let mut read = || {
                answer.take_head(StatusCode::from_u16(status).unwrap(), &fields)?;
                for piece in pieces {
                    answer.take_piece(piece.as_bytes())?;
                }
                answer.take_end()
            };
            let found = read();
            assert_eq!(found, expected.map(|_| ()), "{fields:?} {pieces:?}");
            if let Ok(content) = expected {
                assert_eq!(answer.status, status);
                assert_eq!(answer.hash, xxh3_64(content.as_bytes()), "{pieces:?}");
                assert_eq!(answer.content_bytes, content.len() as u64);
                if keep == Keep::Bytes {
                    assert_eq!(answer.content, content.as_bytes());
                }
            }
        }
    }

    #[test]
    fn answers() {
        let length = |text| ("content-length", text);
        check(200, &[length("5")], &["hello"], Ok("hello"));
        check(200, &[length("5")], &["he", "", "llo"], Ok("hello"));
        check(200, &[], &["hel", "lo"], Ok("hello"));
        check(200, &[], &[], Ok(""));
        check(200, &[length("0")], &[], Ok(""));
        check(200, &[length("0")], &[""], Ok(""));
        check(304, &[length("5")], &[], Ok(""));
        let wrong = |status, fields: &[_], pieces: &[&str]| {
            check(status, fields, pieces, Err(Contradictory));
        };
        wrong(200, &[length("5")], &["hell"]);
        wrong(200, &[length("5")], &["hell", "oo"]);
        wrong(200, &[length("5")], &[]);
        wrong(200, &[length("x")], &[]);
        wrong(200, &[length("5"), length("6")], &["hello"]);
        wrong(304, &[], &["x"]);
    }

    #[test]
    fn a_head_tells_coding_and_tag() {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_ENCODING, "br".parse().unwrap());
        fields.insert(ETAG, "\"x\"".parse().unwrap());
        let mut answer = Answer::default();
        answer.begin(Keep::Bytes);
        answer.take_head(StatusCode::OK, &fields).unwrap();
        assert_eq!(answer.coding, Coding::Brotli);
        assert_eq!(answer.entity_tag, b"\"x\"");
        assert_eq!(answer.head_bytes, 16 + 2 + 4 + 3);
        answer.begin(Keep::Bytes);
        answer.take_head(StatusCode::OK, &HeaderMap::new()).unwrap();
        assert_eq!(answer.coding, Coding::Identity);
        assert!(answer.entity_tag.is_empty());
    }
}
