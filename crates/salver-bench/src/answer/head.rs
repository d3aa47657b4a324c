//! The head of an answer, as far as the tool needs it (RFC 9112 sections 4 and 6).

/// More fields than this are malformed.
const FIELDS: usize = 128;

/// A longer head is malformed, in bytes.
pub(crate) const LONGEST: usize = 256 * 1024;

/// How the content of an answer is framed (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// This many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
    /// To the end of the connection.
    UntilClose,
}

/// The content of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Bytes that it takes.
    pub(crate) length: usize,
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// Another request may follow on the connection.
    pub(crate) persistent: bool,
    /// `Content-Encoding`, empty if there is none.
    pub(crate) coding: &'a [u8],
    pub(crate) entity_tag: &'a [u8],
    pub(crate) content_range: &'a [u8],
}

/// Why bytes are not (yet) a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHead {
    Incomplete,
    Malformed,
}

/// The head that `bytes` begin with.
pub(crate) fn parse(bytes: &[u8]) -> Result<Head<'_>, NoHead> {
    let mut fields = [const { std::mem::MaybeUninit::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut fields,
    );
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Err(NoHead::Incomplete),
        Ok(httparse::Status::Partial) | Err(_) => return Err(NoHead::Malformed),
    };
    let status = response.code.ok_or(NoHead::Malformed)?;
    let mut head = Head {
        length,
        status,
        framing: Framing::UntilClose,
        persistent: response.version == Some(1),
        coding: b"",
        entity_tag: b"",
        content_range: b"",
    };
    let mut content_length = None;
    let mut chunked = false;
    for field in response.headers.iter() {
        // By length first: most names are looked at no further.
        match field.name.len() {
            4 if is(field.name, "etag") => head.entity_tag = field.value,
            10 if is(field.name, "connection") => {
                let has = |token: &[u8]| {
                    let mut tokens = field.value.split(|&byte| byte == b',');
                    tokens.any(|found| found.trim_ascii().eq_ignore_ascii_case(token))
                };
                if has(b"close") {
                    head.persistent = false;
                } else if has(b"keep-alive") {
                    head.persistent = true;
                }
            }
            13 if is(field.name, "content-range") => head.content_range = field.value,
            14 if is(field.name, "content-length") => {
                let length = std::str::from_utf8(field.value).ok();
                let length = length.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let length = length.and_then(|text| text.parse::<u64>().ok());
                if length.is_none() || content_length.is_some_and(|other| Some(other) != length) {
                    return Err(NoHead::Malformed);
                }
                content_length = length;
            }
            16 if is(field.name, "content-encoding") => head.coding = field.value,
            17 if is(field.name, "transfer-encoding") => {
                if !field.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(NoHead::Malformed);
                }
                chunked = true;
            }
            _ => {}
        }
    }
    head.framing = match (status, chunked, content_length) {
        // These never have content, whatever their fields say.
        (100..=199 | 204 | 304, _, _) => Framing::Length(0),
        (_, true, _) => Framing::Chunked,
        (_, false, Some(length)) => Framing::Length(length),
        (_, false, None) => Framing::UntilClose,
    };
    Ok(head)
}

fn is(name: &str, expected: &str) -> bool {
    name.eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let check = |text: &str, status, framing, persistent, coding: &str| {
            let head = parse(text.as_bytes()).unwrap();
            assert_eq!(head.length, text.len() - 1, "{text}");
            assert_eq!(head.status, status, "{text}");
            assert_eq!(head.framing, framing, "{text}");
            assert_eq!(head.persistent, persistent, "{text}");
            assert_eq!(head.coding, coding.as_bytes(), "{text}");
        };
        let text = "HTTP/1.1 200 OK\r\nContent-length: 7\r\ncontent-ENCODING: br\r\n\r\nx";
        check(text, 200, Framing::Length(7), true, "br");
        let text = "HTTP/1.1 304 \r\nContent-Length: 7\r\nConnection: x, Close\r\n\r\nx";
        check(text, 304, Framing::Length(0), false, "");
        check(
            "HTTP/1.0 200 OK\r\n\r\nx",
            200,
            Framing::UntilClose,
            false,
            "",
        );
        let text =
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: Chunked\r\n\r\nx";
        check(text, 200, Framing::Chunked, true, "");
    }

    #[test]
    fn what_is_no_head() {
        let check = |text: &str, expected| assert_eq!(parse(text.as_bytes()), Err(expected));
        check("HTTP/1.1 200 OK\r\nA: b\r\n", NoHead::Incomplete);
        check("HTTX", NoHead::Malformed);
        let ok = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        let twice = "1\r\nContent-Length: 2";
        for value in ["x", "-1", "+1", "", "99999999999999999999", twice] {
            check(&ok(&format!("Content-Length: {value}")), NoHead::Malformed);
        }
        check(&ok("Transfer-Encoding: gzip"), NoHead::Malformed);
        check(&"x".repeat(LONGEST), NoHead::Malformed);
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(LONGEST));
        check(&endless, NoHead::Malformed);
    }
}
