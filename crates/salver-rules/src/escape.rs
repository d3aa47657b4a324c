//! Percent-encoding (RFC 3986 section 2.1): patterns are decoded once, what is put into a Location is encoded.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The part of a URI reference that text is put into; it decides which bytes may stand as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A label of a host name.
    Label,
    /// A path.
    Path,
    /// A value in a query.
    QueryValue,
    /// A fragment.
    Fragment,
}

/// The decoded form of `text`. A `%` without two hexadecimal digits stands for itself: in a pattern it can only
/// be meant so.
pub(crate) fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        if let (b'%', [high, low, after @ ..]) = (first, tail)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            out.push(high << 4 | low);
            rest = after;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out
}

/// The decoded form of a name or value in a query, in which `+` is a space.
pub(crate) fn decode_query(text: &[u8]) -> Vec<u8> {
    let plus = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
    decode(&text.iter().map(plus).collect::<Vec<u8>>())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Appends decoded bytes as they may stand in that part: every byte that could end the part, begin a line or
/// be read as markup is encoded.
pub(crate) fn encode(bytes: &[u8], part: Part, out: &mut String) {
    let safe: &[u8] = match part {
        Part::Label => b"-",
        Part::Path => b"-._~!$&'()*+,;=:@/",
        Part::QueryValue => b"-._~!$'()*,;:@/?",
        Part::Fragment => b"-._~!$&'()*+,;=:@/?",
    };
    push(bytes, safe, out);
}

/// Appends text that its author wrote as a URI reference: what no URI holds is encoded, escapes stay.
pub(crate) fn encode_written(text: &str, out: &mut String) {
    push(text.as_bytes(), b"-._~!$&'()*+,;=:@/?#%[]", out);
}

/// Appends the query of a request as it came, but for what no URI holds.
pub(crate) fn encode_request_query(query: &[u8], out: &mut String) {
    push(query, b"-._~!$&'()*+,;=:@/?%[]", out);
}

fn push(bytes: &[u8], safe: &[u8], out: &mut String) {
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || safe.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 0x0f] {
                let digit = HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.push(char::from(digit));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding() {
        let check = |text: &str, expected: &[u8]| assert_eq!(decode(text.as_bytes()), expected);
        check("/caf%C3%A9", "/café".as_bytes());
        check("/100%", b"/100%");
        check("/%zz%4", b"/%zz%4");
        check("/%2a", b"/*");
        assert_eq!(decode_query(b"a+b%2B"), b"a b+");
    }

    #[test]
    fn encoding_leaves_no_byte_that_ends_the_part() {
        let check = |bytes: &[u8], part, expected: &str| {
            let mut out = String::new();
            encode(bytes, part, &mut out);
            assert_eq!(out, expected);
        };
        check(
            b"a b\r\n?#%\\\"<\xff",
            Part::Path,
            "a%20b%0D%0A%3F%23%25%5C%22%3C%FF",
        );
        check(b"a&b=c+d#e", Part::QueryValue, "a%26b%3Dc%2Bd%23e");
        check(b"a.b", Part::Label, "a%2Eb");
    }
}
