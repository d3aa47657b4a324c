//! Requests without TLS at a port with it.

/// The number of first bytes that tell HTTP from TLS.
pub const PEEKED: usize = 5;

/// The text of the 400 that a request without TLS gets.
pub const NOT_TLS: &str =
    "Bad Request: this port speaks HTTPS, ask for https:// instead of http://";

/// True for the beginning of a method; a TLS record begins with a number below 32 (RFC 8446 section 5.1).
pub fn is_http(first: &[u8]) -> bool {
    first.first().is_some_and(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_told_from_records() {
        let check = |first: &[u8], expected| assert_eq!(is_http(first), expected, "{first:?}");
        check(b"GET /", true);
        check(b"H", true);
        check(b"PRI *", true);
        check(b"\x16\x03\x01\x00\xc8", false);
        check(b"\x80\x2e\x01", false);
        check(b"", false);
    }
}
