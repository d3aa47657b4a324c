//! The fields that a file server reads, picked out of a field section in one pass.

use std::borrow::Cow;

use crate::authority::Authority;
use crate::error::ParseError;
use crate::request_line::Version;
use salver_semantics::field::list;

/// A field value: the lines of one name joined with `, ` (RFC 9110 section 5.3), without the
/// whitespace around it. `None` if there is no such line; borrowed if there is one.
type Value<'b> = Option<Cow<'b, [u8]>>;

/// The request fields that select and condition a representation. Names are RFC 9110's.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Fields<'b> {
    /// Accept-Encoding (RFC 9110 section 12.5.3).
    pub accept_encoding: Option<Cow<'b, [u8]>>,
    /// If-Match (RFC 9110 section 13.1.1).
    pub if_match: Option<Cow<'b, [u8]>>,
    /// If-None-Match (RFC 9110 section 13.1.2).
    pub if_none_match: Option<Cow<'b, [u8]>>,
    /// If-Modified-Since (RFC 9110 section 13.1.3).
    pub if_modified_since: Option<Cow<'b, [u8]>>,
    /// If-Unmodified-Since (RFC 9110 section 13.1.4).
    pub if_unmodified_since: Option<Cow<'b, [u8]>>,
    /// If-Range (RFC 9110 section 13.1.5).
    pub if_range: Option<Cow<'b, [u8]>>,
    /// Range (RFC 9110 section 14.2).
    pub range: Option<Cow<'b, [u8]>>,
}

impl Fields<'_> {
    /// The same fields with no tie to the bytes they were read from.
    pub fn into_owned(self) -> Fields<'static> {
        let own = |value: Value<'_>| value.map(|value| Cow::Owned(value.into_owned()));
        Fields {
            accept_encoding: own(self.accept_encoding),
            if_match: own(self.if_match),
            if_none_match: own(self.if_none_match),
            if_modified_since: own(self.if_modified_since),
            if_unmodified_since: own(self.if_unmodified_since),
            if_range: own(self.if_range),
            range: own(self.range),
        }
    }

    /// The same fields, borrowed from these.
    pub(crate) fn reborrow(&self) -> Fields<'_> {
        fn borrow<'a>(value: &'a Value<'_>) -> Value<'a> {
            value.as_deref().map(Cow::Borrowed)
        }
        Fields {
            accept_encoding: borrow(&self.accept_encoding),
            if_match: borrow(&self.if_match),
            if_none_match: borrow(&self.if_none_match),
            if_modified_since: borrow(&self.if_modified_since),
            if_unmodified_since: borrow(&self.if_unmodified_since),
            if_range: borrow(&self.if_range),
            range: borrow(&self.range),
        }
    }
}

/// The fields that say how the message itself is to be handled.
#[derive(Default, Debug)]
pub(crate) struct Control<'b> {
    pub(crate) host: Value<'b>,
    pub(crate) connection: Value<'b>,
    pub(crate) content_length: Value<'b>,
    pub(crate) transfer_encoding: Value<'b>,
    pub(crate) expect: Value<'b>,
}

/// Sorts the lines of a field section.
///
/// Joining the lines of one name also settles what repeated lines mean where only one is allowed:
/// a Host or a Content-Length with a comma in it is not valid.
pub(crate) fn gather<'b>(lines: &[httparse::Header<'b>]) -> (Control<'b>, Fields<'b>) {
    let mut control = Control::default();
    let mut fields = Fields::default();
    for line in lines {
        let Some(slot) = slot(line.name.as_bytes(), &mut control, &mut fields) else {
            continue;
        };
        match slot {
            None => *slot = Some(Cow::Borrowed(line.value)),
            Some(value) => {
                let value = value.to_mut();
                value.extend_from_slice(b", ");
                value.extend_from_slice(line.value);
            }
        }
    }
    (control, fields)
}

/// Where the value of the field `name` is kept, if it is. The length goes first, so that most names
/// are compared with nothing.
fn slot<'a, 'b>(
    name: &[u8],
    control: &'a mut Control<'b>,
    fields: &'a mut Fields<'b>,
) -> Option<&'a mut Value<'b>> {
    let is = |candidate: &[u8]| name.eq_ignore_ascii_case(candidate);
    Some(match name.len() {
        4 if is(b"host") => &mut control.host,
        5 if is(b"range") => &mut fields.range,
        6 if is(b"expect") => &mut control.expect,
        8 if is(b"if-match") => &mut fields.if_match,
        8 if is(b"if-range") => &mut fields.if_range,
        10 if is(b"connection") => &mut control.connection,
        13 if is(b"if-none-match") => &mut fields.if_none_match,
        14 if is(b"content-length") => &mut control.content_length,
        15 if is(b"accept-encoding") => &mut fields.accept_encoding,
        17 if is(b"if-modified-since") => &mut fields.if_modified_since,
        17 if is(b"transfer-encoding") => &mut control.transfer_encoding,
        19 if is(b"if-unmodified-since") => &mut fields.if_unmodified_since,
        _ => return None,
    })
}

impl Control<'_> {
    /// RFC 9112 section 3.2: one valid Host field in every HTTP/1.1 request; where there is one in
    /// HTTP/1.0, it is valid too.
    pub(crate) fn check_host(&self, version: Version) -> Result<(), ParseError> {
        match &self.host {
            Some(host) if Authority::parse(host).is_some() => Ok(()),
            Some(_) => Err(ParseError::HostInvalid),
            None if version == Version::Http10 => Ok(()),
            None => Err(ParseError::HostMissing),
        }
    }

    /// RFC 9112 section 9.3.
    pub(crate) fn is_persistent(&self, version: Version) -> bool {
        let has = |option: &[u8]| {
            let value = self.connection.as_deref().unwrap_or_default();
            list(value).any(|member| member.eq_ignore_ascii_case(option))
        };
        match version {
            _ if has(b"close") => false,
            Version::Http11 => true,
            Version::Http10 => has(b"keep-alive"),
        }
    }

    /// Whether `100 Continue` is expected (RFC 9110 section 10.1.1).
    pub(crate) fn expects_continue(&self, version: Version) -> Result<bool, ParseError> {
        let Some(expect) = &self.expect else {
            return Ok(false);
        };
        // HTTP/1.0 has no expectations: the field is ignored.
        if version == Version::Http10 {
            return Ok(false);
        }
        let mut members = list(expect).peekable();
        let any = members.peek().is_some();
        if members.all(|member| member.eq_ignore_ascii_case(b"100-continue")) {
            Ok(any)
        } else {
            Err(ParseError::Expectation)
        }
    }
}
