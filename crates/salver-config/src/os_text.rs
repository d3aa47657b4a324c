//! Text of the system, which need not be Unicode, in parts.

use std::ffi::{OsStr, OsString};

/// The parts of `text` between `separator`, which is ASCII; at most `most` of them, the last one with all that is left.
pub(crate) fn split(text: &OsStr, separator: u8, most: usize) -> Vec<OsString> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let parts = text.as_bytes().splitn(most, |byte| *byte == separator);
        parts
            .map(|part| OsString::from_vec(part.to_vec()))
            .collect()
    }
    #[cfg(windows)]
    {
        use std::os::windows::ffi::{OsStrExt, OsStringExt};
        let units: Vec<u16> = text.encode_wide().collect();
        let parts = units.splitn(most, |unit| *unit == u16::from(separator));
        parts.map(OsString::from_wide).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_between_separators() {
        let check = |text: &str, most, expected: &[&str]| {
            assert_eq!(split(OsStr::new(text), b',', most), expected, "{text:?}");
        };
        check("", 9, &[""]);
        check("a", 9, &["a"]);
        check("a,\u{fc},", 9, &["a", "\u{fc}", ""]);
        check("a,b,c", 2, &["a", "b,c"]);
    }
}
