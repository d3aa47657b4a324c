//! An answer, and the strict reading of one from an HTTP/1.1 connection.

use std::fmt;

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Field lines in order; names in lower case.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The content; empty where there is none.
    pub content: Vec<u8>,
}

impl Response {
    /// The value of a field that is there once; the first if it is there more often.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_slice())
    }

    /// The same as text; `None` if it is absent or not ASCII.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.field(name)
            .and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Whether a list field has this member, compared without case.
    #[must_use]
    pub fn lists(&self, name: &str, member: &str) -> bool {
        self.fields
            .iter()
            .filter(|(own, _)| own == name)
            .any(|(_, value)| {
                value
                    .split(|byte| *byte == b',')
                    .any(|part| part.trim_ascii().eq_ignore_ascii_case(member.as_bytes()))
            })
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        for (name, value) in &self.fields {
            write!(f, "; {name}: {}", value.escape_ascii())?;
        }
        let shown = self.content.get(..48).unwrap_or(&self.content);
        write!(
            f,
            "; {} bytes: {}",
            self.content.len(),
            shown.escape_ascii()
        )
    }
}

/// A head read from a connection, and how its content is delimited.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    /// Bytes of content that follow.
    pub(crate) length: usize,
}

pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Reads a head that ends with an empty line, as strictly as a test should: CRLF only, no
/// folding, no control bytes, one way to delimit the content.
///
/// `headless` says that the request was HEAD, so that no content follows.
pub(crate) fn parse_head(bytes: &[u8], headless: bool) -> Result<Head, String> {
    let text = bytes
        .strip_suffix(b"\r\n\r\n")
        .ok_or("the head does not end with CRLF CRLF")?;
    let mut lines = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        lines.push(line);
    }
    let count = lines.len();
    let mut clean = Vec::with_capacity(count);
    for (index, line) in lines.into_iter().enumerate() {
        let line = if index + 1 == count {
            line
        } else {
            line.strip_suffix(b"\r")
                .ok_or_else(|| format!("a line ends with a bare LF: {}", line.escape_ascii()))?
        };
        if line
            .iter()
            .any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f)
        {
            return Err(format!("a control byte in a line: {}", line.escape_ascii()));
        }
        clean.push(line);
    }
    let mut lines = clean.into_iter();
    let status = parse_status_line(lines.next().unwrap_or_default())?;
    let mut fields = Vec::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = colon
            .and_then(|colon| Some((line.get(..colon)?, line.get(colon + 1..)?)))
            .ok_or_else(|| format!("a field line without a colon: {}", line.escape_ascii()))?;
        if name.is_empty() || !name.iter().copied().all(is_token_byte) {
            return Err(format!(
                "a field name is not a token: {}",
                line.escape_ascii()
            ));
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        fields.push((name, value.trim_ascii().to_vec()));
    }
    let length = content_length(status, &fields, headless)?;
    Ok(Head {
        status,
        fields,
        length,
    })
}

fn parse_status_line(line: &[u8]) -> Result<u16, String> {
    // RFC 9112 section 4: the space before the reason phrase is there even if it is empty.
    let wrong = || format!("not a status line: {}", line.escape_ascii());
    let rest = line.strip_prefix(b"HTTP/1.1 ").ok_or_else(wrong)?;
    let code = rest.get(..3).ok_or_else(wrong)?;
    if !code.iter().all(u8::is_ascii_digit) || rest.get(3) != Some(&b' ') {
        return Err(wrong());
    }
    std::str::from_utf8(code)
        .ok()
        .and_then(|code| code.parse().ok())
        .ok_or_else(wrong)
}

/// RFC 9112 section 6.3, for a server that always knows the length of what it sends.
fn content_length(
    status: u16,
    fields: &[(String, Vec<u8>)],
    headless: bool,
) -> Result<usize, String> {
    let mut lengths = fields.iter().filter(|(name, _)| name == "content-length");
    let length = lengths.next();
    if lengths.next().is_some() {
        return Err("Content-Length is there twice".to_owned());
    }
    if fields.iter().any(|(name, _)| name == "transfer-encoding") {
        return Err("Transfer-Encoding, though the length of a file is known".to_owned());
    }
    let parsed = match length {
        None => None,
        Some((_, value)) => {
            let text = std::str::from_utf8(value).unwrap_or_default();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("Content-Length: {}", value.escape_ascii()));
            }
            Some(
                text.parse::<usize>()
                    .map_err(|error| format!("Content-Length: {error}"))?,
            )
        }
    };
    if (100..200).contains(&status) || status == 204 {
        // RFC 9110 section 8.6
        return match parsed {
            None => Ok(0),
            Some(_) => Err(format!("Content-Length with {status}")),
        };
    }
    if headless || status == 304 {
        return Ok(0);
    }
    parsed.ok_or_else(|| "no Content-Length: only the close would end the content".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, headless: bool, expected: Result<(u16, usize), &str>) {
        match (parse_head(text.as_bytes(), headless), expected) {
            (Ok(head), Ok((status, length))) => {
                assert_eq!((head.status, head.length), (status, length), "{text:?}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{text:?}: {error}"),
            (got, wanted) => panic!("{text:?}: {got:?}, not {wanted:?}"),
        }
    }

    #[test]
    fn heads() {
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
            false,
            Ok((200, 3)),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
            true,
            Ok((200, 0)),
        );
        check(
            "HTTP/1.1 200 \r\ncontent-length:0\r\n\r\n",
            false,
            Ok((200, 0)),
        );
        check(
            "HTTP/1.1 304 Not Modified\r\nA: b\r\n\r\n",
            false,
            Ok((304, 0)),
        );
        check("HTTP/1.1 100 Continue\r\n\r\n", false, Ok((100, 0)));
        check(
            "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n",
            false,
            Err("with 204"),
        );
        check(
            "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\n",
            false,
            Err("status line"),
        );
        check(
            "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n",
            false,
            Err("status line"),
        );
        check("HTTP/1.1 20 OK\r\n\r\n", false, Err("status line"));
        check("HTTP/1.1 200 OK\r\n\r\n", false, Err("no Content-Length"));
        check(
            "HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\n",
            false,
            Err("bare LF"),
        );
        check(
            "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
            false,
            Err("control byte"),
        );
        check(
            "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
            false,
            Err("not a token"),
        );
        check(
            "HTTP/1.1 200 OK\r\n folded: b\r\n\r\n",
            false,
            Err("not a token"),
        );
        check(
            "HTTP/1.1 200 OK\r\nnothing\r\n\r\n",
            false,
            Err("without a colon"),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
            false,
            Err("Content-Length: +3"),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            false,
            Err("Content-Length: "),
        );
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n";
        check(twice, false, Err("twice"));
        let coded = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(coded, false, Err("Transfer-Encoding"));
    }

    #[test]
    fn lists_are_read_without_case() {
        let response = Response {
            status: 200,
            fields: vec![("vary".to_owned(), b"Origin, Accept-Encoding".to_vec())],
            content: Vec::new(),
        };
        assert!(response.lists("vary", "accept-encoding"));
        assert!(!response.lists("vary", "accept"));
    }
}
