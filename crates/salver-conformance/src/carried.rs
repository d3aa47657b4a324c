//! Requests as HTTP/2 and HTTP/3 carry them, and which rows of the table have one.

use crate::endpoint::{Protocol, SERVER_NAME};
use crate::exchange::{Message, Request};
use crate::response::is_token_byte;

/// A field section and content: what HTTP/2 and HTTP/3 make of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Field lines in order, the pseudo-fields among them (RFC 9113 section 8.3.1).
    pub(crate) fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The content; empty for none.
    pub(crate) content: Vec<u8>,
    /// The field section behind the content; empty for none.
    pub(crate) trailers: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Carried {
    /// One more field line.
    pub(crate) fn with(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        let line = (name.as_ref().to_vec(), value.as_ref().to_vec());
        self.fields.push(line);
        self
    }

    /// The pseudo-fields of an ordinary request.
    fn request(protocol: Protocol, method: &[u8], target: &[u8], authority: &[u8]) -> Self {
        Self::default()
            .with(":method", method)
            .with(":scheme", protocol.scheme())
            .with(":authority", authority)
            .with(":path", target)
    }

    /// What a client makes of a semantic request.
    pub(crate) fn of_request(request: &Request, protocol: Protocol) -> Self {
        let mut this = Self::request(
            protocol,
            request.method.as_bytes(),
            &request.target,
            SERVER_NAME.as_bytes(),
        );
        for (name, value) in &request.fields {
            // RFC 9113 section 8.2.1: no white space around a value.
            this = this.with(name.to_ascii_lowercase(), value.trim_ascii());
        }
        if !request.content.is_empty() {
            this = this.with("content-length", request.content.len().to_string());
            this.content.clone_from(&request.content);
        }
        this
    }

    /// What a client makes of a row's message; `None` if it is about the syntax of HTTP/1.1 and
    /// nothing in HTTP/2 corresponds to it.
    pub(crate) fn of_message(message: &Message, protocol: Protocol) -> Option<Self> {
        match message {
            Message::Semantic(request) => Some(Self::of_request(request, protocol)),
            Message::Raw(bytes) => Self::of_raw(bytes, protocol),
        }
    }

    /// Bytes of HTTP/1.1 that are a request with all its parts well delimited. What is left out
    /// is what HTTP/2 has no words for: other versions, the absolute form, odd white space, no
    /// or several Host fields, connection-specific fields, transfer codings, and lengths that
    /// don't fit the content (malformed requests of HTTP/2 have a table of their own).
    fn of_raw(bytes: &[u8], protocol: Protocol) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, rest) = bytes.split_at_checked(end)?;
        let content = rest.get(4..)?;
        let mut lines = Vec::new();
        for line in head.split(|byte| *byte == b'\n') {
            lines.push(line.strip_suffix(b"\r").unwrap_or(line));
        }
        // A line that lost no CR, or kept one.
        if lines.join(&b"\r\n"[..]) != head || lines.iter().any(|line| line.contains(&b'\r')) {
            return None;
        }
        let mut lines = lines.into_iter();
        let mut words = lines.next()?.split(|byte| *byte == b' ');
        let (method, target) = (words.next()?, words.next()?);
        let is_connect = method == b"CONNECT";
        let in_form =
            is_connect || target.starts_with(b"/") || (target == b"*" && method == b"OPTIONS");
        if words.next() != Some(b"HTTP/1.1")
            || words.next().is_some()
            || method.is_empty()
            || !method.iter().copied().all(is_token_byte)
            || !in_form
            || target.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
        {
            return None;
        }
        let mut authority = None;
        let mut length = None;
        let mut fields = Vec::new();
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?.trim_ascii());
            let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
            if name.is_empty()
                || !name.iter().copied().all(is_token_byte)
                || value.iter().any(is_control)
            {
                return None;
            }
            let name = name.to_ascii_lowercase();
            match name.as_slice() {
                b"host" if authority.is_some() => return None,
                b"host" => authority = Some(value),
                b"content-length" if length.is_some() => return None,
                b"content-length" => {
                    if !value.iter().all(u8::is_ascii_digit) {
                        return None;
                    }
                    length = Some(std::str::from_utf8(value).ok()?.parse::<usize>().ok()?);
                    fields.push((name, value.to_vec()));
                }
                other if is_connection_specific(other) => return None,
                _ => fields.push((name, value.to_vec())),
            }
        }
        if length.unwrap_or(0) != content.len() {
            return None;
        }
        let mut this = if is_connect {
            // RFC 9113 section 8.5
            authority.filter(|authority| *authority == target)?;
            Self::default()
                .with(":method", method)
                .with(":authority", target)
        } else {
            Self::request(protocol, method, target, authority?)
        };
        this.fields.append(&mut fields);
        this.content = content.to_vec();
        Some(this)
    }

    /// The first value of a field.
    pub(crate) fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.fields
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_slice())
    }

    /// The same with another method.
    pub(crate) fn with_method(mut self, method: &str) -> Self {
        for (name, value) in &mut self.fields {
            if name == b":method" {
                *value = method.as_bytes().to_vec();
            }
        }
        self
    }

    /// The same without these fields.
    pub(crate) fn without(mut self, names: &[&[u8]]) -> Self {
        self.fields
            .retain(|(name, _)| !names.contains(&name.as_slice()));
        self
    }

    /// Whether the answer has no content whatever its fields say.
    pub(crate) fn is_head(&self) -> bool {
        self.value(b":method") == Some(b"HEAD")
    }

    /// The request in a few words, for people.
    pub(crate) fn shown(&self) -> String {
        let mut out = String::new();
        for (name, value) in &self.fields {
            if !out.is_empty() {
                out.push_str("; ");
            }
            let value = value.get(..200).unwrap_or(value);
            out.push_str(&format!(
                "{}: {}",
                name.escape_ascii(),
                value.escape_ascii()
            ));
            if out.len() > 600 {
                break;
            }
        }
        if !self.content.is_empty() {
            out.push_str(&format!("; {} bytes", self.content.len()));
        }
        out
    }
}

/// Fields that speak of one HTTP/1.1 connection (RFC 9113 section 8.2.2; HTTP2-Settings is from
/// RFC 7540 section 3.2.1).
pub(crate) fn is_connection_specific(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] = [
        b"connection",
        b"http2-settings",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"transfer-encoding",
        b"upgrade",
    ];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields and the content of what becomes of a raw message; empty if nothing does.
    fn check(bytes: &str, expected: &str) {
        let message = Message::Raw(bytes.as_bytes().to_vec());
        let shown = Carried::of_message(&message, Protocol::Http2)
            .map(|carried| carried.shown())
            .unwrap_or_default();
        assert_eq!(shown, expected, "{bytes:?}");
    }

    #[test]
    fn well_delimited_messages_are_carried() {
        let plain = ":method: GET; :scheme: https; :authority: h; :path: /a";
        check("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", plain);
        check("GET /a HTTP/1.1\r\nHOST:\th \r\n\r\n", plain);
        check(
            "GET /a HTTP/1.1\r\nHost: h\r\nA-B: c\tD\r\n\r\n",
            &format!("{plain}; a-b: c\\tD"),
        );
        check(
            "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 05\r\n\r\nhello",
            &format!("{plain}; content-length: 05; 5 bytes"),
        );
        check(
            "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
            ":method: OPTIONS; :scheme: https; :authority: h; :path: *",
        );
        check(
            "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n",
            ":method: CONNECT; :authority: h:443",
        );
    }

    #[test]
    fn the_syntax_of_http1_is_not() {
        for bytes in [
            "GET /a HTTP/1.0\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
            "GET  /a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\nA: b\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n b\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost : h\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nhello",
            "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n",
        ] {
            check(bytes, "");
        }
    }

    #[test]
    fn semantic_requests_are_carried_as_they_are() {
        let request = Request::new("POST", "/\u{fc}")
            .with("A", " b ")
            .content(b"cd");
        let carried = Carried::of_request(&request, Protocol::Http2Cleartext);
        assert_eq!(
            carried.shown(),
            ":method: POST; :scheme: http; :authority: salver.test; :path: /\\xc3\\xbc; \
             a: b; content-length: 2; 2 bytes"
        );
        assert!(carried.with_method("HEAD").is_head());
    }
}
