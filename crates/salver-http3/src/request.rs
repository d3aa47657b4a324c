//! A field section as a request (RFC 9114 sections 4.2 and 4.3.1).

use std::borrow::Cow;

use salver_semantics::field::{is_token, is_value};
use salver_semantics::{Authority, Method, RequestFields, authority, message};

use crate::Limits;
use crate::error::Refusal;
use crate::priority::Urgency;
use crate::section::FieldSection;

/// A field value: the lines of one name joined with `, ` (RFC 9110 section 5.3).
type Value<'b> = Option<Cow<'b, [u8]>>;

/// A request without its content. It borrows from the section that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestHead<'b> {
    /// The method.
    pub method: Method,
    /// What it asks about.
    pub target: Target<'b>,
    /// The fields that select and condition a representation.
    pub fields: RequestFields<'b>,
    /// How urgent the answer is.
    pub urgency: Urgency,
    /// Length of the content in bytes, if the client says it.
    pub content_length: Option<u64>,
    /// Whether the client waits for `100 Continue` before it sends content (RFC 9110 section
    /// 10.1.1).
    pub expect_continue: bool,
}

/// What a request asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'b> {
    /// A resource.
    Path {
        /// Begins with `/`. Holds neither `?` nor `#`, no control and no space; any byte from 0x80
        /// on may be there.
        path: &'b [u8],
        /// What follows the first `?`, without it.
        query: Option<&'b [u8]>,
    },
    /// `*`: the server itself. Only with OPTIONS.
    Asterisk,
    /// A host and port. Only with CONNECT.
    Authority,
}

const fn malformed(reason: &'static str) -> Refusal {
    Refusal::new(400, reason)
}

/// The fields that begin with a colon.
#[derive(Default)]
struct Pseudo<'b> {
    method: Option<&'b [u8]>,
    scheme: Option<&'b [u8]>,
    authority: Option<&'b [u8]>,
    path: Option<&'b [u8]>,
}

/// The fields that say how the message itself is to be handled.
#[derive(Default)]
struct Control<'b> {
    host: Value<'b>,
    content_length: Value<'b>,
    expect: Value<'b>,
    priority: Value<'b>,
}

impl<'b> RequestHead<'b> {
    /// Reads a request.
    ///
    /// # Errors
    /// Whatever RFC 9114 calls malformed, with 400; what is too long; an expectation that cannot
    /// be met.
    pub fn read(section: &'b FieldSection, limits: &Limits) -> Result<Self, Refusal> {
        let (mut pseudo, mut control) = (Pseudo::default(), Control::default());
        let mut fields = RequestFields::default();
        let mut regular = false;
        for (name, value) in section.iter() {
            if !is_value(value) {
                return Err(malformed("A field value holds or ends in an invalid byte"));
            }
            if name.first() == Some(&b':') {
                // Section 4.3: before all others.
                if regular {
                    return Err(malformed("A field that begins with a colon comes too late"));
                }
                pseudo.take(name, value)?;
            } else {
                regular = true;
                check_line(name, value)?;
                let slot = control.slot(name).or_else(|| fields.slot(name));
                add(slot, value);
            }
        }
        let method = pseudo.method.filter(|method| is_token(method));
        let method = method.ok_or(malformed("The method is missing or not a token"))?;
        let method = Method::from_token(method);
        control.check_authority(pseudo.authority)?;
        let target = pseudo.target(method, limits)?;
        let content_length = control.content_length()?;
        if content_length.is_some_and(|length| length > limits.max_body) {
            return Err(Refusal::new(413, "The content is too large"));
        }
        Ok(RequestHead {
            method,
            target,
            fields,
            urgency: control
                .priority
                .as_deref()
                .map_or_else(Urgency::default, Urgency::parse),
            content_length,
            expect_continue: control.expects_continue()?,
        })
    }
}

fn add<'b>(slot: Option<&mut Value<'b>>, value: &'b [u8]) {
    match slot {
        Some(Some(first)) => {
            let first = first.to_mut();
            first.extend_from_slice(b", ");
            first.extend_from_slice(value);
        }
        Some(none) => *none = Some(Cow::Borrowed(value)),
        None => {}
    }
}

/// RFC 9114 section 4.2: names are tokens in small letters, and there are no fields of the
/// connection.
fn check_line(name: &[u8], value: &[u8]) -> Result<(), Refusal> {
    if !message::is_lowercase_name(name) {
        return Err(malformed("A field name is not a token in small letters"));
    }
    if message::is_of_connection(name, value) {
        return Err(malformed("HTTP/3 has no fields of the connection"));
    }
    Ok(())
}

impl<'b> Pseudo<'b> {
    fn take(&mut self, name: &[u8], value: &'b [u8]) -> Result<(), Refusal> {
        let slot = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            _ => return Err(malformed("A field that begins with a colon is not known")),
        };
        if slot.replace(value).is_some() {
            return Err(malformed("A field that begins with a colon is there twice"));
        }
        Ok(())
    }

    /// Section 4.3.1; section 4.4 for CONNECT.
    fn target(&self, method: Method, limits: &Limits) -> Result<Target<'b>, Refusal> {
        let no_form = malformed("The request target has no valid form for this method");
        if method == Method::Connect {
            let authority = self.authority.and_then(Authority::parse);
            let is_alone = self.scheme.is_none() && self.path.is_none();
            let is_valid = is_alone && authority.is_some_and(|authority| authority.has_port);
            return is_valid.then_some(Target::Authority).ok_or(no_form);
        }
        let scheme = self.scheme.unwrap_or_default();
        if !message::is_web_scheme(scheme) {
            return Err(malformed("The scheme is missing or is not that of the web"));
        }
        let target = self.path.unwrap_or_default();
        if target.len() > limits.max_target {
            return Err(Refusal::new(414, "The request target is too long"));
        }
        let is_invalid = |byte: &u8| matches!(byte, 0..=b' ' | 0x7f | b'#');
        if target.is_empty() || target.iter().any(is_invalid) {
            return Err(malformed(
                "The request target is empty or holds an invalid byte",
            ));
        }
        match target {
            b"*" if method == Method::Options => Ok(Target::Asterisk),
            [b'/', ..] => {
                let mut parts = target.splitn(2, |byte| *byte == b'?');
                Ok(Target::Path {
                    path: parts.next().unwrap_or_default(),
                    query: parts.next(),
                })
            }
            _ => Err(no_form),
        }
    }
}

impl<'b> Control<'b> {
    fn slot(&mut self, name: &[u8]) -> Option<&mut Value<'b>> {
        Some(match name {
            b"host" => &mut self.host,
            b"content-length" => &mut self.content_length,
            b"expect" => &mut self.expect,
            b"priority" => &mut self.priority,
            _ => return None,
        })
    }

    /// Section 4.3.1: `:authority` or Host, and if both, the same.
    fn check_authority(&self, pseudo: Option<&[u8]>) -> Result<(), Refusal> {
        let host = self.host.as_deref();
        let Some(named) = pseudo.or(host) else {
            return Err(malformed("The Host field is missing"));
        };
        let is_valid = authority::is_simple(named) || Authority::parse(named).is_some();
        if !is_valid || host.is_some_and(|host| !host.eq_ignore_ascii_case(named)) {
            return Err(malformed("The Host field is invalid or repeated"));
        }
        Ok(())
    }

    fn content_length(&self) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.content_length.as_deref() else {
            return Ok(None);
        };
        let invalid = malformed("The Content-Length field is invalid or repeated");
        message::content_length(value).map(Some).ok_or(invalid)
    }

    fn expects_continue(&self) -> Result<bool, Refusal> {
        let Some(value) = self.expect.as_deref() else {
            return Ok(false);
        };
        let reason = "The only expectation that can be met is 100-continue";
        message::expects_continue(value).ok_or(Refusal::new(417, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack;

    type Line<'a> = (&'a str, &'a str);

    const GET: [Line<'static>; 4] = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "example.org"),
        (":path", "/a?b"),
    ];

    fn section(lines: &[Line<'_>]) -> FieldSection {
        let mut encoded = Vec::new();
        qpack::begin(&mut encoded);
        for (name, value) in lines {
            qpack::write(&mut encoded, name.as_bytes(), value.as_bytes());
        }
        let mut section = FieldSection::default();
        let limits = Limits {
            max_head: 1 << 20,
            ..Limits::default()
        };
        qpack::decode(&encoded, &limits, &mut section).unwrap();
        section
    }

    #[track_caller]
    fn refused(lines: &[Line<'_>]) -> (u16, &'static str) {
        let section = section(lines);
        let refusal = RequestHead::read(&section, &Limits::default()).unwrap_err();
        (refusal.status, refusal.reason)
    }

    /// GET with more lines behind.
    fn with<'a>(more: &[Line<'a>]) -> Vec<Line<'a>> {
        [&GET[..], more].concat()
    }

    /// GET with one line of its own, or without it.
    fn changed<'a>(name: &'a str, value: Option<&'a str>) -> Vec<Line<'a>> {
        let change = |line: &Line<'a>| match value {
            Some(value) if line.0 == name => Some((name, value)),
            None if line.0 == name => None,
            _ => Some(*line),
        };
        GET.iter().filter_map(change).collect()
    }

    #[test]
    fn what_is_read() {
        let section = section(&with(&[
            ("range", "bytes=0-1"),
            ("accept-encoding", "gzip"),
            ("user-agent", "x"),
            ("accept-encoding", "br"),
            ("te", "Trailers"),
            ("host", "EXAMPLE.org"),
            ("priority", "u=6"),
            ("content-length", "5"),
            ("expect", "100-Continue"),
        ]));
        let head = RequestHead::read(&section, &Limits::default()).unwrap();
        assert_eq!(head.method, Method::Get);
        assert_eq!(
            head.target,
            Target::Path {
                path: b"/a",
                query: Some(b"b")
            }
        );
        assert_eq!(head.fields.range.as_deref(), Some(&b"bytes=0-1"[..]));
        assert_eq!(
            head.fields.accept_encoding.as_deref(),
            Some(&b"gzip, br"[..])
        );
        assert_eq!((head.urgency.value(), head.content_length), (6, Some(5)));
        assert!(head.expect_continue);
    }

    #[test]
    fn targets() {
        let target = |lines: &[Line<'_>], expected: Target<'_>| {
            let section = section(lines);
            assert_eq!(
                RequestHead::read(&section, &Limits::default())
                    .unwrap()
                    .target,
                expected
            );
        };
        for (path, bytes, query) in [
            ("/", &b"/"[..], None),
            ("//a/../%2e", b"//a/../%2e", None),
            ("/a?b?c", b"/a", Some(&b"b?c"[..])),
            ("/\u{e9}?", "/\u{e9}".as_bytes(), Some(b"")),
        ] {
            target(
                &changed(":path", Some(path)),
                Target::Path { path: bytes, query },
            );
        }
        let options = |path| {
            [
                (":method", "OPTIONS"),
                (":scheme", "https"),
                (":authority", "a"),
                (":path", path),
            ]
        };
        target(&options("*"), Target::Asterisk);
        target(
            &[(":method", "CONNECT"), (":authority", "a:443")],
            Target::Authority,
        );
        for lines in [
            changed(":path", Some("*")),
            changed(":path", Some("a")),
            changed(":path", Some("https://example.org/")),
            options("a").to_vec(),
            changed(":method", Some("CONNECT")),
            vec![(":method", "CONNECT"), (":authority", "a")],
        ] {
            assert_eq!(
                refused(&lines),
                (400, "The request target has no valid form for this method")
            );
        }
        for path in ["", "/a b", "/ ", "/\t", "/#a", "/\u{7f}", " /"] {
            let (status, _) = refused(&changed(":path", Some(path)));
            assert_eq!(status, 400, "{path:?}");
        }
        let long = "/".repeat(8193);
        assert_eq!(refused(&changed(":path", Some(&long))).0, 414);
    }

    #[test]
    fn what_is_malformed() {
        for lines in [
            changed(":method", None),
            changed(":method", Some("")),
            changed(":method", Some("G T")),
            changed(":scheme", None),
            changed(":scheme", Some("ftp")),
            changed(":authority", None),
            changed(":authority", Some("")),
            changed(":authority", Some("user@example.org")),
            changed(":path", None),
            with(&[(":path", "/a")]),
            with(&[(":status", "200")]),
            with(&[(":protocol", "websocket")]),
            with(&[("a", "b"), (":path", "/")]),
            with(&[("host", "other.org")]),
            with(&[("host", "example.org"), ("host", "example.org")]),
            with(&[("A", "b")]),
            with(&[("a b", "c")]),
            with(&[("", "c")]),
            with(&[("a", "b\0")]),
            with(&[("a", "b\u{1}")]),
            with(&[("a", "\u{7f}")]),
            with(&[("a", " b")]),
            with(&[("a", "b\t")]),
            with(&[("a", "b\r\nc: d")]),
            with(&[("connection", "close")]),
            with(&[("keep-alive", "1")]),
            with(&[("proxy-connection", "a")]),
            with(&[("transfer-encoding", "chunked")]),
            with(&[("upgrade", "h2c")]),
            with(&[("te", "gzip")]),
            with(&[("content-length", "")]),
            with(&[("content-length", "+1")]),
            with(&[("content-length", "1"), ("content-length", "1")]),
        ] {
            assert_eq!(refused(&lines).0, 400, "{lines:?}");
        }
        assert_eq!(refused(&with(&[("content-length", "1048577")])).0, 413);
        assert_eq!(
            refused(&with(&[("content-length", "99999999999999999999999")])).0,
            413
        );
        assert_eq!(refused(&with(&[("expect", "100-continue, tea")])).0, 417);
        assert_eq!(
            Refusal::new(400, "").code(),
            crate::error::Code::MessageError
        );
    }
}
