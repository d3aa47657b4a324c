//! The fields that are read of a request, picked out of its field section in one pass.

use std::borrow::Cow;

use crate::error::ParseError;
use crate::request_line::Version;
use salver_semantics::field::{list, trim_ows};
use salver_semantics::request_fields::{add_line, is};
use salver_semantics::{Authority, NotedFields, RequestFields, authority, message};

/// A field value: the lines of one name joined with `, ` (RFC 9110 section 5.3), without the
/// whitespace around it. `None` if there is no such line; borrowed if there is one.
type Value<'b> = Option<Cow<'b, [u8]>>;

/// The fields that control the framing and the connection.
#[derive(Default, Debug)]
pub(crate) struct ControlFields<'b> {
    pub(crate) host: Value<'b>,
    pub(crate) connection: Value<'b>,
    pub(crate) content_length: Value<'b>,
    pub(crate) transfer_encoding: Value<'b>,
    pub(crate) expect: Value<'b>,
}

/// The fields that are kept while a section is read.
#[derive(Debug)]
pub(crate) struct KeptFields<'k, 'b> {
    pub(crate) control: &'k mut ControlFields<'b>,
    pub(crate) fields: &'k mut RequestFields<'b>,
    pub(crate) noted: &'k mut NotedFields<'b>,
}

impl<'b> KeptFields<'_, 'b> {
    /// Takes one field line. `value` may have whitespace around it.
    ///
    /// Joining the lines of one name also settles what repeated lines mean where only one is
    /// allowed: a Host or a Content-Length with a comma in it is not valid.
    #[inline]
    pub(crate) fn add(&mut self, name: &[u8], value: &'b [u8]) {
        if let Some(slot) = self.slot(name) {
            add_line(slot, trim_ows(value));
        } else if !self.fields.origin.add(name, value) {
            self.noted.add(name, value);
        }
    }

    /// The slot for the value of the field `name`, if it is kept. The length goes first, so that most names are
    /// compared with nothing.
    #[inline]
    fn slot(&mut self, name: &[u8]) -> Option<&mut Value<'b>> {
        let KeptFields {
            control, fields, ..
        } = self;
        Some(match name.len() {
            4 if is(name, b"host") => &mut control.host,
            6 if is(name, b"expect") => &mut control.expect,
            10 if is(name, b"connection") => &mut control.connection,
            14 if is(name, b"content-length") => &mut control.content_length,
            17 if is(name, b"transfer-encoding") => &mut control.transfer_encoding,
            _ => return fields.slot(name),
        })
    }
}

impl ControlFields<'_> {
    /// Checks the Host field (RFC 9112 section 3.2): a valid one in every HTTP/1.1 request; where there is one in
    /// HTTP/1.0, it is valid too.
    #[inline]
    pub(crate) fn check_host(&self, version: Version) -> Result<(), ParseError> {
        match &self.host {
            Some(host) if authority::is_simple(host) || Authority::parse(host).is_some() => Ok(()),
            Some(_) => Err(ParseError::HostInvalid),
            None if version == Version::Http10 => Ok(()),
            None => Err(ParseError::HostMissing),
        }
    }

    /// True if the connection lasts beyond the answer (RFC 9112 section 9.3).
    #[inline]
    pub(crate) fn is_persistent(&self, version: Version) -> bool {
        match self.connection.as_deref() {
            None => version == Version::Http11,
            // Nearly all clients that send the field send this.
            Some(value) if is(value, b"keep-alive") => true,
            Some(value) => persists(value, version),
        }
    }

    /// True if `100 Continue` is expected (RFC 9110 section 10.1.1).
    #[inline]
    pub(crate) fn expects_continue(&self, version: Version) -> Result<bool, ParseError> {
        match &self.expect {
            Some(expect) if version == Version::Http11 => expectation(expect),
            // HTTP/1.0 has no expectations: the field is ignored.
            _ => Ok(false),
        }
    }
}

/// True if the Expect field has `100-continue`; an error if it has anything else.
#[cold]
fn expectation(expect: &[u8]) -> Result<bool, ParseError> {
    message::expects_continue(expect).ok_or(ParseError::Expectation)
}

/// True if the connection lasts by its Connection field, in a request of that version.
#[inline(never)]
fn persists(connection: &[u8], version: Version) -> bool {
    let has = |option| list(connection).any(|member| member.eq_ignore_ascii_case(option));
    match version {
        _ if has(b"close".as_slice()) => false,
        Version::Http11 => true,
        Version::Http10 => has(b"keep-alive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Line<'b> = (&'b str, &'b str);

    fn line<'b>(name: &'b str, value: &'b str) -> Line<'b> {
        (name, value)
    }

    fn gather<'b>(lines: &[Line<'b>]) -> (ControlFields<'b>, RequestFields<'b>) {
        let mut control = ControlFields::default();
        let mut fields = RequestFields::default();
        let mut kept = KeptFields {
            control: &mut control,
            fields: &mut fields,
            noted: &mut NotedFields::default(),
        };
        for (name, value) in lines {
            kept.add(name.as_bytes(), value.as_bytes());
        }
        (control, fields)
    }

    #[test]
    fn every_field_has_its_place() {
        let lines = [
            line("accept-encoding", "1"),
            line("If-Match", "2"),
            line("IF-NONE-MATCH", "3"),
            line("If-Modified-Since", "4"),
            line("If-Unmodified-Since", "5"),
            line("If-Range", "6"),
            line("rAnGe", "7"),
            line("Host", "8"),
            line("Connection", "9"),
            line("Content-Length", "10"),
            line("Transfer-Encoding", "11"),
            line("Expect", "12"),
        ];
        let (control, fields) = gather(&lines);
        let text = |value: &Value<'_>| {
            assert!(
                matches!(value, Some(Cow::Borrowed(_))),
                "one line is borrowed"
            );
            String::from_utf8(value.as_deref().unwrap().to_vec()).unwrap()
        };
        let actual = [
            text(&fields.accept_encoding),
            text(&fields.if_match),
            text(&fields.if_none_match),
            text(&fields.if_modified_since),
            text(&fields.if_unmodified_since),
            text(&fields.if_range),
            text(&fields.range),
            text(&control.host),
            text(&control.connection),
            text(&control.content_length),
            text(&control.transfer_encoding),
            text(&control.expect),
        ];
        assert_eq!(
            actual,
            [
                "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"
            ]
        );
        assert_eq!(fields.reborrow(), fields);
        assert_eq!(fields.clone().into_owned(), fields);
    }

    #[test]
    fn look_alikes_have_none() {
        for name in [
            "Hosts",
            "Hast",
            "X-Host",
            "Ranges",
            "Content_Length",
            "Content-Lengths",
            "Transfer",
            "Transfer_Encoding",
            "Transfer-Encodin",
            "If-Match-",
            "Acceptxencoding",
            "If-None",
            "Content-Lengt\u{212a}",
            "Expect-",
            "Cookie",
            "TE",
            "Trailer",
            "x",
        ] {
            let lines = [line(name, "x")];
            let (control, fields) = gather(&lines);
            assert_eq!(fields, RequestFields::default(), "{name}");
            let ControlFields {
                host,
                connection,
                content_length,
                transfer_encoding,
                expect,
            } = control;
            let values = [host, connection, content_length, transfer_encoding, expect];
            assert!(values.iter().all(Option::is_none), "{name}");
        }
    }

    #[test]
    fn lines_of_one_name_are_joined_in_order() {
        let lines = [
            line("Range", "bytes=0-1"),
            line("If-None-Match", "\"a\""),
            line("if-none-match", ""),
            line("IF-NONE-MATCH", "W/\"b\""),
            line("Range", "bytes=2-3"),
        ];
        let (_, fields) = gather(&lines);
        assert_eq!(
            fields.if_none_match.as_deref(),
            Some(&b"\"a\", , W/\"b\""[..])
        );
        assert_eq!(fields.range.as_deref(), Some(&b"bytes=0-1, bytes=2-3"[..]));
    }

    fn control<'b>(name: &'b str, values: &[&'b str]) -> ControlFields<'b> {
        let lines: Vec<_> = values.iter().map(|value| line(name, value)).collect();
        gather(&lines).0
    }

    #[test]
    fn persistence() {
        use Version::{Http10, Http11};
        for (version, values, expected) in [
            (Http11, &[][..], true),
            (Http11, &["close"], false),
            (Http11, &["Close"], false),
            (Http11, &["CLOSE"], false),
            (Http11, &["keep-alive"], true),
            (Http11, &["keep-alive, close"], false),
            (Http11, &["close, keep-alive"], false),
            (Http11, &["keep-alive", "close"], false),
            (Http11, &["upgrade,close"], false),
            (Http11, &[" , ,close,"], false),
            (Http11, &["x\t,\tclose\t"], false),
            (Http11, &["closed"], true),
            (Http11, &["not-close"], true),
            (Http11, &["\"close\""], true),
            (Http11, &["close x"], true),
            (Http11, &["upgrade"], true),
            (Http11, &[""], true),
            (Http10, &[], false),
            (Http10, &["keep-alive"], true),
            (Http10, &["Keep-Alive"], true),
            (Http10, &["x, keep-alive"], true),
            (Http10, &["x", "keep-alive"], true),
            (Http10, &["keep-alive, close"], false),
            (Http10, &["close"], false),
            (Http10, &["keep-alives"], false),
            (Http10, &[""], false),
        ] {
            let actual = control("Connection", values).is_persistent(version);
            assert_eq!(actual, expected, "{version:?} {values:?}");
        }
    }

    #[test]
    fn hosts() {
        use Version::{Http10, Http11};
        let missing = Err(ParseError::HostMissing);
        let invalid = Err(ParseError::HostInvalid);
        for (values, in_10, in_11) in [
            (&[][..], Ok(()), missing),
            (&["example.org"], Ok(()), Ok(())),
            (&["example.org:8080"], Ok(()), Ok(())),
            (&[""], invalid, invalid),
            (&["a", "a"], invalid, invalid),
            (&["a", "b"], invalid, invalid),
            (&["", ""], invalid, invalid),
            (&["a", ""], invalid, invalid),
            (&["", "a"], invalid, invalid),
            (&["a, b"], invalid, invalid),
            (&["a b"], invalid, invalid),
            (&["a@b"], invalid, invalid),
            (&["a/b"], invalid, invalid),
        ] {
            let control = control("Host", values);
            assert_eq!(control.check_host(Http10), in_10, "{values:?}");
            assert_eq!(control.check_host(Http11), in_11, "{values:?}");
        }
    }

    #[test]
    fn expectations() {
        for (values, expected) in [
            (&[][..], Ok(false)),
            (&["100-continue"], Ok(true)),
            (&["100-Continue"], Ok(true)),
            (&["100-continue, 100-continue"], Ok(true)),
            (&["100-continue", "100-CONTINUE"], Ok(true)),
            (&[""], Ok(false)),
            (&[" , "], Ok(false)),
            (&["200-ok"], Err(ParseError::Expectation)),
            (&["100-continue, x"], Err(ParseError::Expectation)),
            (&["x", "100-continue"], Err(ParseError::Expectation)),
            (&["100-continue;q=1"], Err(ParseError::Expectation)),
            (&["100"], Err(ParseError::Expectation)),
            (&["\"100-continue\""], Err(ParseError::Expectation)),
        ] {
            let control = control("Expect", values);
            assert_eq!(
                control.expects_continue(Version::Http11),
                expected,
                "{values:?}"
            );
            assert_eq!(
                control.expects_continue(Version::Http10),
                Ok(false),
                "{values:?}"
            );
        }
    }
}
