//! Names, sizes and times as text: for people, and for links.

use std::fmt::Write as _;

use salver_semantics::CivilTime;

/// A name that people can read and tell from others: bytes that are no text are shown as U+FFFD, and characters that
/// show nothing or change how the rest is read (line ends, marks of direction) by their numbers, as `\u{202e}`.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_hidden(character) {
            true => {
                let _ = write!(shown, "{}", character.escape_unicode());
            }
            false => shown.push(character),
        }
    }
    shown
}

/// True for characters that show nothing, or change how those around them are read. Joiners are not among them, which
/// scripts and emoji need.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A size for people, in binary units.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    // Tenths, rounded half up.
    let mut tenths = (u128::from(bytes) * 10 + 512) / 1024;
    while tenths >= 10_235 && unit + 1 < UNITS.len() {
        tenths = (tenths + 512) / 1024;
        unit += 1;
    }
    let unit = UNITS.get(unit).unwrap_or(&"EiB");
    match tenths >= 100 {
        true => format!("{} {unit}", (tenths + 5) / 10),
        false => format!("{}.{} {unit}", tenths / 10, tenths % 10),
    }
}

/// A time as RFC 3339 writes it, in UTC; empty for one that has no year of four digits.
pub(crate) fn rfc3339(seconds: i64) -> String {
    civil_time(seconds).map_or_else(String::new, |time| time.to_string())
}

/// A time for people, to the minute, in UTC.
pub(crate) fn minute(seconds: i64) -> String {
    civil_time(seconds).map_or_else(String::new, |time| {
        let CivilTime {
            year,
            month,
            day,
            hour,
            minute,
            ..
        } = time;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    })
}

/// The calendar's time, if its year has four digits.
fn civil_time(seconds: i64) -> Option<CivilTime> {
    let time = CivilTime::of(seconds);
    (0..=9999).contains(&time.year).then_some(time)
}

/// Percent-encodes the name of a file as one segment of a path (RFC 3986 section 3.3).
pub(crate) fn encode_segment(name: &[u8], out: &mut String) {
    encode(name, b"-._~!$()*+,;=@", out);
}

/// Percent-encodes text as a value of a query.
pub(crate) fn encode_query(text: &str, out: &mut String) {
    encode(text.as_bytes(), b"-._~", out);
}

fn encode(bytes: &[u8], plain: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            true => out.push(char::from(byte)),
            false => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// The text of a value that a form sends; what is no escape stays as it is.
pub(crate) fn decode_query(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use salver_semantics::HttpDate;

    #[test]
    fn names_show_what_they_hold() {
        let check = |name: &[u8], expected: &str| assert_eq!(shown(name), expected);
        check(b"plain.txt", "plain.txt");
        check("é 😀👩\u{200d}🚀".as_bytes(), "é 😀👩\u{200d}🚀");
        check(b"a\r\nb\0\x1b", "a\\u{d}\\u{a}b\\u{0}\\u{1b}");
        check("x\u{202e}gpj.exe".as_bytes(), "x\\u{202e}gpj.exe");
        check(b"caf\xe9", "caf\u{fffd}");
        check(b"<script>", "<script>");
    }

    #[test]
    fn sizes_are_for_people() {
        let check = |bytes, expected: &str| assert_eq!(size(bytes), expected, "{bytes}");
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1.0 KiB");
        check(1536, "1.5 KiB");
        check(10 * 1024, "10 KiB");
        check(1_048_000, "1023 KiB");
        check(1_048_575, "1.0 MiB");
        check(5 << 30, "5.0 GiB");
        check(u64::MAX, "16 EiB");
    }

    #[test]
    fn times_are_in_utc() {
        let check = |seconds, expected: &str, short: &str| {
            assert_eq!((&*rfc3339(seconds), &*minute(seconds)), (expected, short));
        };
        check(0, "1970-01-01T00:00:00Z", "1970-01-01 00:00");
        check(-1, "1969-12-31T23:59:59Z", "1969-12-31 23:59");
        check(951_782_400, "2000-02-29T00:00:00Z", "2000-02-29 00:00");
        check(1_700_000_000, "2023-11-14T22:13:20Z", "2023-11-14 22:13");
        check(i64::MAX, "", "");
        check(i64::MIN, "", "");
    }

    proptest! {
        /// The same day as the dates of HTTP have.
        #[test]
        fn dates_are_those_of_http(seconds in -62_000_000_000_i64..253_402_300_799) {
            let http = HttpDate::from_unix_seconds(seconds).format();
            let own = rfc3339(seconds).into_bytes();
            prop_assert_eq!(&http[17..25], &own[11..19]);
            prop_assert_eq!(&http[5..7], &own[8..10]);
            prop_assert_eq!(&http[12..16], &own[0..4]);
        }

        #[test]
        fn segments_are_plain(name in proptest::collection::vec(any::<u8>(), 0..20)) {
            let mut encoded = String::new();
            encode_segment(&name, &mut encoded);
            prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>&?#/:".contains(&byte)));
            // Of these no escape is a plus.
            let decoded = decode_query(encoded.replace('+', "%2B").as_bytes());
            prop_assert_eq!(decoded, String::from_utf8_lossy(&name));
        }
    }
}
