//! Text of strangers, escaped and bounded, so that none can end a field, a line, or fool who reads it.
//!
//! A line is ASCII, and no byte below 0x20 nor 0x7f is in it. In the formats of text each byte that is not
//! printable, each quote and each backslash is `\xHH`, as nginx and Apache have it. In JSON what is not ASCII
//! is `\uXXXX`: a program reads the original back, and a terminal sees no mark that turns the direction of
//! writing; what is not UTF-8 is U+FFFD.

use crate::digits::hex;

/// The mark behind a text that was cut.
const CUT: &[u8] = b"...";

/// True if a byte from `LEAST` on stands for itself everywhere.
const fn is_plain<const LEAST: u8>(byte: u8) -> bool {
    byte >= LEAST && byte < 0x7f && byte != b'"' && byte != b'\\'
}

/// True if all bytes are plain. Nearly every text is. Several are looked at together, so that the compiler can do so at
/// once; the last of them with some that were.
fn all_plain<const LEAST: u8>(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk::<16>() {
        let (steps, _) = text.as_chunks::<16>();
        return !steps.iter().chain([last]).any(is_odd::<LEAST, 16>);
    }
    match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => !is_odd::<LEAST, 8>(first) && !is_odd::<LEAST, 8>(last),
        _ => text.iter().all(|byte| is_plain::<LEAST>(*byte)),
    }
}

/// True if one of the bytes is not plain; without a way out in the midst, so that all are looked at together.
fn is_odd<const LEAST: u8, const STEP: usize>(step: &[u8; STEP]) -> bool {
    let odd = step.iter().fold(0, |odd, byte| {
        let byte = *byte;
        odd | u8::from(byte < LEAST)
            | u8::from(byte >= 0x7f)
            | u8::from(byte == b'"')
            | u8::from(byte == b'\\')
    });
    odd != 0
}

/// Appends text that stands in quotes.
pub(crate) fn quoted(out: &mut Vec<u8>, text: &[u8], most: usize) {
    if text.len() <= most && all_plain::<0x20>(text) {
        out.extend_from_slice(text);
    } else {
        escaped(out, text, most, is_plain::<0x20>);
    }
}

/// Appends text that must be one word, because a space separates it from the next; `-` if there is none.
pub(crate) fn word(out: &mut Vec<u8>, text: &[u8], most: usize) {
    if text.len() <= most && all_plain::<0x21>(text) && !text.is_empty() {
        out.extend_from_slice(text);
    } else {
        or_dash(out, text, |out| escaped(out, text, most, is_plain::<0x21>));
    }
}

/// Appends the name of a user, which stands before the date, and so must not look like one: only letters,
/// digits and what names commonly have stand for themselves.
pub(crate) fn user(out: &mut Vec<u8>, text: &[u8], most: usize) {
    let is_common = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    or_dash(out, text, |out| escaped(out, text, most, is_common));
}

/// What `write` appends, or `-` if there is no text.
fn or_dash(out: &mut Vec<u8>, text: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    match text {
        [] => out.push(b'-'),
        _ => write(out),
    }
}

/// Appends `text`, in at most `most` bytes, with everything that is not plain as `\xHH`.
fn escaped(out: &mut Vec<u8>, text: &[u8], most: usize, is_plain: impl Fn(u8) -> bool) {
    let end = out.len() + most;
    for (at, byte) in text.iter().enumerate() {
        let is_plain = is_plain(*byte);
        let length = if is_plain { 1 } else { 4 };
        let is_last = at + 1 == text.len();
        if out.len() + length + if is_last { 0 } else { CUT.len() } > end {
            return out.extend_from_slice(CUT);
        }
        if is_plain {
            out.push(*byte);
        } else {
            let [high, low] = hex(*byte);
            out.extend_from_slice(&[
                b'\\',
                b'x',
                high.to_ascii_uppercase(),
                low.to_ascii_uppercase(),
            ]);
        }
    }
}

/// Appends what stands between the quotes of a JSON string (RFC 8259 section 7), in at most `most` bytes.
pub(crate) fn json(out: &mut Vec<u8>, text: &[u8], most: usize) {
    if text.len() <= most && all_plain::<0x20>(text) {
        return out.extend_from_slice(text);
    }
    let end = out.len() + most;
    for part in text.utf8_chunks() {
        let broken = (!part.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for sign in part.valid().chars().chain(broken) {
            let before = out.len();
            json_char(out, sign);
            if out.len() + CUT.len() > end {
                out.truncate(before);
                return out.extend_from_slice(CUT);
            }
        }
    }
}

fn json_char(out: &mut Vec<u8>, sign: char) {
    match sign {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        ' '..='~' => out.extend(u8::try_from(sign)),
        _ => {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                let [high, low] = unit.to_be_bytes();
                out.extend_from_slice(b"\\u");
                out.extend_from_slice(&hex(high));
                out.extend_from_slice(&hex(low));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(write: impl Fn(&mut Vec<u8>, &[u8], usize), text: &[u8], most: usize, expected: &str) {
        let mut out = b"before ".to_vec();
        write(&mut out, text, most);
        let said = text.escape_ascii();
        assert_eq!(
            out.escape_ascii().to_string(),
            format!("before {}", expected.as_bytes().escape_ascii()),
            "{said}"
        );
    }

    #[test]
    fn what_is_quoted() {
        let check = |text: &[u8], expected: &str| check(quoted, text, 40, expected);
        check(b"", "");
        check(b"Mozilla/5.0 (X11)", "Mozilla/5.0 (X11)");
        check(b"a\" 200 1 \"", "a\\x22 200 1 \\x22");
        check(b"\\x22", "\\x5Cx22");
        check(
            b"a\r\nb\0\x1b[31m\x7f\t",
            "a\\x0D\\x0Ab\\x00\\x1B[31m\\x7F\\x09",
        );
        check("\u{202e}".as_bytes(), "\\xE2\\x80\\xAE");
        check(b"\xff", "\\xFF");
    }

    #[test]
    fn words() {
        let check = |text: &[u8], expected: &str| check(word, text, 40, expected);
        check(b"", "-");
        check(b"example.org:8080", "example.org:8080");
        check(b"a b", "a\\x20b");
        check(b"a\"b", "a\\x22b");
    }

    #[test]
    fn users() {
        let check = |text: &[u8], expected: &str| check(user, text, 40, expected);
        check(b"", "-");
        check(b"jane.doe+1@example.org", "jane.doe+1@example.org");
        check(b"[1/Jan:0", "\\x5B1\\x2FJan\\x3A0");
        check(b"a b", "a\\x20b");
    }

    #[test]
    fn json_strings() {
        let check = |text: &[u8], expected: &str| check(json, text, 60, expected);
        check(b"", "");
        check(b"plain", "plain");
        check(b"a\"b\\c", "a\\\"b\\\\c");
        check(b"\n\x7f\0", "\\u000a\\u007f\\u0000");
        check(
            "\u{e9}\u{202e}\u{1f600}".as_bytes(),
            "\\u00e9\\u202e\\ud83d\\ude00",
        );
        check(b"a\xff\xc3b\xe2\x80", "a\\ufffd\\ufffdb\\ufffd");
    }

    #[test]
    fn what_is_too_long_is_cut() {
        check(quoted, b"abcdefgh", 8, "abcdefgh");
        check(quoted, b"abcdefghi", 8, "abcde...");
        check(quoted, b"ab\n\n", 8, "ab...");
        check(quoted, b"abcd\n", 8, "abcd\\x0A");
        check(quoted, b"abcde\n", 8, "abcde...");
        check(json, b"abcdefghi", 8, "abcde...");
        check(json, b"ab\nabc", 12, "ab\\u000aa...");
    }

    /// Texts with runs of what is plain, and with all that is not.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let plain = "[ -~]{0,40}".prop_map(String::into_bytes);
        let odd = prop::collection::vec(any::<u8>(), 0..10);
        let letters = any::<String>().prop_map(String::into_bytes);
        let part = prop_oneof![plain, odd, letters];
        prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn nothing_leaves_its_field(text in text(), most in 12..200_usize) {
            for write in [quoted, word, user] {
                let mut out = Vec::new();
                write(&mut out, &text, most);
                prop_assert!(out.len() <= most);
                prop_assert!(out.iter().all(|byte| (0x20..0x7f).contains(byte) && *byte != b'"'));
            }
            let mut out = Vec::new();
            word(&mut out, &text, most);
            prop_assert!(!out.contains(&b' ') && !out.is_empty());
        }

        #[test]
        fn json_is_read_back(text in text(), most in 12..200_usize) {
            let mut out = vec![b'"'];
            json(&mut out, &text, most);
            prop_assert!(out.len() <= most + 1 && out.iter().all(|byte| (0x20..0x7f).contains(byte)));
            out.push(b'"');
            let read: String = serde_json::from_slice(&out).unwrap();
            let original = String::from_utf8_lossy(&text);
            if text.len() * 6 + 3 <= most {
                prop_assert_eq!(read, original);
            } else {
                let kept = read.strip_suffix("...").unwrap_or(&read);
                prop_assert!(original.starts_with(kept));
            }
        }
    }
}
