//! Words of a line: printable ASCII without spaces, all else percent-encoded.

use std::fmt::Write;

/// The word for these bytes.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut word = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'%' | ..=0x20 | 0x7f.. => {
                // To a string there is always room.
                let _ = write!(word, "%{byte:02X}");
            }
            _ => word.push(char::from(byte)),
        }
    }
    word
}

/// The bytes of a word, if it is what [`escape`] gives for them.
pub(crate) fn unescape(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    (escape(&bytes) == word).then_some(bytes)
}
