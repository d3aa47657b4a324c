//! What is told of a request that has come: its line, some of its fields, and what proxies say of it.

use std::borrow::Cow;
use std::net::IpAddr;

use salver_access_log::{AddressText, RequestId};
use salver_forwarded::client_address;
use salver_semantics::NotedFields;
use salver_semantics::request_fields::is;

use crate::settings::Proxies;

/// The bytes of an input in which a request line is looked for.
const LINE_AT_MOST: usize = 8 * 1024;

/// The request line of a request, or what stands for it in later versions.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    pub(crate) query: Option<&'a [u8]>,
}

impl<'a> RequestLine<'a> {
    /// What can be read of an input that begins with a request line, valid or not.
    pub(super) fn of(input: &'a [u8]) -> Self {
        let input = input
            .get(..LINE_AT_MOST)
            .unwrap_or(input)
            .trim_ascii_start();
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let line = input.split(is_end).next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next());
        let target = target.unwrap_or_default();
        match target.iter().position(|byte| *byte == b'?') {
            None => RequestLine {
                method,
                path: target,
                query: None,
            },
            Some(mark) => RequestLine {
                method,
                path: target.get(..mark).unwrap_or_default(),
                query: target.get(mark + 1..),
            },
        }
    }
}

/// What a line of the log tells of a request that has been read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) line: RequestLine<'a>,
    /// The authority that it is for.
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) noted: NotedFields<'a>,
}

impl<'a> Asked<'a> {
    /// What is found among the field lines; names of pseudo-fields begin with a colon.
    pub(super) fn found(
        line: RequestLine<'a>,
        lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let (mut host, mut authority) = (None, None);
        let mut noted = NotedFields::default();
        for (name, value) in lines {
            match name.len() {
                4 if is(name, b"host") => host = host.or(Some(value)),
                10 if name == b":authority" => authority = Some(value),
                _ => noted.add(name, value),
            }
        }
        Asked {
            line,
            host: authority.or(host),
            noted,
        }
    }
}

/// What trusted proxies say of a request.
#[derive(Default)]
pub(super) struct SaidByProxy {
    pub(super) client: Option<AddressText>,
    pub(super) id: Option<RequestId>,
}

impl SaidByProxy {
    /// What the fields of a request from this proxy say.
    pub(super) fn found<'a>(
        peer: IpAddr,
        proxies: &Proxies,
        lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut said = SaidByProxy::default();
        let mut named: Option<Cow<'_, [u8]>> = None;
        for (name, value) in lines {
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            if is(b"x-request-id") {
                said.id = RequestId::parse(value).or(said.id);
            } else if proxies
                .field
                .is_some_and(|field| is(field.name().as_bytes()))
            {
                named = Some(match named {
                    None => Cow::Borrowed(value),
                    // RFC 9110 section 5.3.
                    Some(before) => Cow::Owned([&*before, b", ", value].concat()),
                });
            }
        }
        said.client = proxies.field.zip(named).map(|(field, value)| {
            AddressText::new(client_address(peer, &proxies.trusted, field, &value))
        });
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_that_were_refused() {
        fn check(input: &[u8], method: &str, path: &str, query: Option<&str>) {
            let line = RequestLine::of(input);
            assert_eq!(line.method, method.as_bytes());
            assert_eq!(line.path, path.as_bytes());
            assert_eq!(line.query, query.map(str::as_bytes));
        }
        check(b"", "", "", None);
        check(b"\r\nGET /a?b HTTP/1.1\r\nX: y", "GET", "/a", Some("b"));
        check(b"GET /a\r\nX", "GET", "/a", None);
        check(b"\x16\x03\x01\n", "\x16\x03\x01", "", None);
        let long = [b"GET /", &*vec![b'a'; 10_000]].concat();
        assert_eq!(RequestLine::of(&long).path.len(), LINE_AT_MOST - 4);
    }
}
