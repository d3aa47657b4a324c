//! Field lines: the grammar of names and values (RFC 9113 section 8.2, RFC 9114 section 4.2).

use salver_semantics::field::{is_token, is_value};

/// A field line, that of a pseudo-field included, whose name begins with a colon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldLine<'a> {
    /// The name as it was received.
    pub name: &'a [u8],
    /// The value as it was received.
    pub value: &'a [u8],
    /// True if name and value keep to the grammar. A decoder that has the line in a table checks once.
    pub is_valid: bool,
}

impl<'a> FieldLine<'a> {
    /// A line with this name and value, which are checked.
    pub fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        FieldLine {
            name,
            value,
            is_valid: FieldLine::is_name(name) && is_value(value),
        }
    }

    /// True if `name` is a valid name of a field or of a pseudo-field: a token without capitals, after a colon or not
    /// (RFC 9113 section 8.2.1).
    pub fn is_name(name: &[u8]) -> bool {
        let name = name.strip_prefix(b":").unwrap_or(name);
        is_token(name) && !name.iter().any(u8::is_ascii_uppercase)
    }

    /// True for connection-specific fields, which are forbidden in HTTP/2 and HTTP/3 (RFC 9113 section 8.2.2, RFC
    /// 9114 section 4.2).
    pub(crate) fn is_of_connection(&self) -> bool {
        match self.name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => true,
            b"te" => !self.value.eq_ignore_ascii_case(b"trailers"),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        fn check(name: &str, value: &str, expected: bool) {
            let line = FieldLine::new(name.as_bytes(), value.as_bytes());
            assert_eq!(line.is_valid, expected, "{name:?}: {value:?}");
        }
        for name in ["x", "a-b", "2", ":path", ":x"] {
            check(name, "", true);
        }
        for name in [
            "", ":", "::a", "X", "aB", ":Path", "a b", " a", "a:", "\u{e9}", "a\0", "a\r\nb",
        ] {
            check(name, "b", false);
        }
        for value in ["a", "a b", "a\tb", "\u{e9}"] {
            check("x", value, true);
        }
        for value in [" ", " a", "a\t", "a\u{1}", "\u{7f}", "a\nb", "\r", "\0"] {
            check("x", value, false);
        }
    }

    #[test]
    fn fields_of_the_connection() {
        fn check(name: &str, value: &str, expected: bool) {
            let line = FieldLine::new(name.as_bytes(), value.as_bytes());
            assert_eq!(line.is_of_connection(), expected, "{name}: {value}");
        }
        for name in ["connection", "keep-alive", "proxy-connection", "upgrade"] {
            check(name, "x", true);
        }
        check("transfer-encoding", "chunked", true);
        check("te", "trailers", false);
        check("te", "Trailers", false);
        for value in ["", "gzip", "trailers, deflate"] {
            check("te", value, true);
        }
        check("x-connection", "close", false);
    }
}
