//! Answers of HTTP/2 and HTTP/3, whose messages are framed already (RFC 9113 section 8.1, RFC 9114
//! section 4.1): a library gives the head, then pieces of the content, then the end.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Answer, At, Keep, count};
use crate::coding::Coding;

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
        self.head_bytes += fields
            .iter()
            .map(|(name, value)| count(name.as_str().len() + value.len()))
            .sum::<u64>();
        let coding = fields.get(CONTENT_ENCODING);
        let coding = coding.map_or(&b""[..], |value| value.as_bytes());
        if coding != self.coding.name().as_bytes() {
            self.coding = Coding::named(coding);
        }
        let value = |name| fields.get(name).map_or(&b""[..], HeaderValue::as_bytes);
        self.take_fields(value(ETAG), value(CONTENT_RANGE));
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
            && left < count(piece.len())
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
    use xxhash_rust::xxh3::xxh3_64;

    fn check(
        status: u16,
        fields: &[(&'static str, &str)],
        pieces: &[&str],
        expected: Result<&str, Contradictory>,
    ) {
        let fields: HeaderMap = fields
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append::<http::HeaderName>(name, value);
                map
            });
        for keep in [Keep::Hash, Keep::Bytes] {
            let mut answer = Answer::new();
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
                assert_eq!(answer.content_bytes, count(content.len()));
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
    }

    #[test]
    fn lengths_that_contradict() {
        let length = |text| ("content-length", text);
        check(200, &[length("5")], &["hell"], Err(Contradictory));
        check(200, &[length("5")], &["hell", "oo"], Err(Contradictory));
        check(200, &[length("5")], &[], Err(Contradictory));
        check(200, &[length("x")], &[], Err(Contradictory));
        check(
            200,
            &[length("5"), length("6")],
            &["hello"],
            Err(Contradictory),
        );
        check(304, &[], &["x"], Err(Contradictory));
    }

    #[test]
    fn a_head_tells_coding_and_tag() {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_ENCODING, "br".parse().unwrap());
        fields.insert(ETAG, "\"x\"".parse().unwrap());
        let mut answer = Answer::new();
        answer.begin(Keep::Bytes);
        answer.take_head(StatusCode::OK, &fields).unwrap();
        assert_eq!(
            (&answer.coding, &*answer.entity_tag),
            (&Coding::Brotli, &b"\"x\""[..])
        );
        assert_eq!(answer.head_bytes, 16 + 2 + 4 + 3);
        answer.begin(Keep::Bytes);
        answer.take_head(StatusCode::OK, &HeaderMap::new()).unwrap();
        assert_eq!(
            (&answer.coding, answer.entity_tag.len()),
            (&Coding::Identity, 0)
        );
    }
}
