//! The four forms of a request target (RFC 9112 section 3.2).

use crate::authority::Authority;
use crate::error::ParseError;
use crate::request_line::Method;

/// What a request is about. The bytes are as they were received: not decoded, not normalised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'b> {
    /// Origin form, or absolute form with its scheme and authority taken off.
    Path {
        /// Begins with `/`. Holds neither `?` nor `#`, no control and no space; any byte from 0x80
        /// on may be there.
        path: &'b [u8],
        /// What follows the first `?`, without it.
        query: Option<&'b [u8]>,
    },
    /// `*`: the server itself. Only with OPTIONS.
    Asterisk,
    /// `host:port`. Only with CONNECT.
    Authority,
}

impl<'b> Target<'b> {
    /// Reads `raw`, which is neither empty nor holds a control, a space or `#`.
    pub(crate) fn parse(method: Method, raw: &'b [u8]) -> Result<Target<'b>, ParseError> {
        match raw {
            // Section 3.2.3: authority-form is used by CONNECT alone, and CONNECT uses no other.
            // The port is not optional.
            _ if method == Method::Connect => Authority::parse(raw)
                .filter(|authority| authority.has_port)
                .map(|_| Target::Authority)
                .ok_or(ParseError::Target),
            [b'/', ..] => Ok(Target::from_path(raw)),
            // Section 3.2.4.
            b"*" if method == Method::Options => Ok(Target::Asterisk),
            _ => Target::from_absolute(raw).ok_or(ParseError::Target),
        }
    }

    fn from_path(raw: &'b [u8]) -> Target<'b> {
        let end = raw
            .iter()
            .position(|&byte| byte == b'?')
            .unwrap_or(raw.len());
        let (path, query) = raw.split_at_checked(end).unwrap_or((raw, b""));
        Target::Path {
            path,
            query: query.strip_prefix(b"?"),
        }
    }

    /// Section 3.2.2. The authority is checked and dropped: every host is served alike.
    fn from_absolute(raw: &'b [u8]) -> Option<Target<'b>> {
        let colon = raw.iter().position(|&byte| byte == b':')?;
        let (scheme, rest) = raw.split_at_checked(colon)?;
        if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
            return None;
        }
        let rest = rest.strip_prefix(b"://")?;
        let end = rest
            .iter()
            .position(|byte| b"/?".contains(byte))
            .unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        Authority::parse(authority)?;
        Some(match path {
            // RFC 9110 section 4.2.3: an empty path means "/".
            [] => Target::Path {
                path: b"/",
                query: None,
            },
            [b'?', query @ ..] => Target::Path {
                path: b"/",
                query: Some(query),
            },
            _ => Target::from_path(path),
        })
    }
}
