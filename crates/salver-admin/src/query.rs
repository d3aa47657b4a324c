//! Percent-encoding: the parameters of queries, and paths as JSON has them.

use std::fmt::Write;

/// The value of a parameter, decoded; `None` if it is not there, or its escapes are none. A `+` is a `+`, as in paths.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<Vec<u8>> {
    let mut pairs = query?.split('&').map(|pair| match pair.split_once('=') {
        Some(pair) => pair,
        None => (pair, ""),
    });
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    decoded(value.as_bytes())
}

/// The bytes that a text with percent-encoding stands for; `None` if its escapes are none.
pub(crate) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, more @ ..] = rest else {
            return None;
        };
        bytes.push(digit(*high)? * 16 + digit(*low)?);
        rest = more;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// A path as it stands in a URL, or in the query of one. What is not plain is encoded, so that no name can do harm
/// wherever this is shown.
pub fn encoded_path(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'+' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes that these are the hexadecimal digits of.
pub(crate) fn from_hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let pairs = text.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? * 16 + digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_their_whole_name_and_decoded_once() {
        fn check(query: &str, expected: Option<&[u8]>) {
            assert_eq!(
                parameter(Some(query), "path").as_deref(),
                expected,
                "{query}"
            );
        }
        check("path=/a", Some(b"/a"));
        check("x=1&path=/a=b&path=/c", Some(b"/a=b"));
        check("path=%2Fa%2520%ff+", Some(b"/a%20\xff+"));
        check("path", Some(b""));
        check("mypath=/a", None);
        check("path=%", None);
        check("path=%4", None);
        check("path=%zz", None);
        assert_eq!(parameter(None, "path"), None);
    }

    #[test]
    fn no_name_does_harm() {
        fn check(path: &[u8], expected: &str) {
            assert_eq!(encoded_path(path), expected);
        }
        check(b"/a-b_c.d~e+f", "/a-b_c.d~e+f");
        check(b"/<script>\"'\r\n\0", "/%3Cscript%3E%22%27%0D%0A%00");
        check("/\u{202e}gpj".as_bytes(), "/%E2%80%AEgpj");
    }

    #[test]
    fn hexadecimal_digits_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(
            from_hexadecimal(hexadecimal(&bytes).as_bytes()),
            Some(bytes)
        );
        assert_eq!(from_hexadecimal(b"0"), None);
        assert_eq!(from_hexadecimal(b"0g"), None);
    }
}
