//! The path of a request target (RFC 3986 section 3.3), decoded once and free of anything that could lead elsewhere.

use std::borrow::Cow;
use std::fmt;

/// A decoded, normalised path: parsing it is the check.
///
/// Begins with `/`; has no empty, `.` or `..` segment and no NUL; ends with `/` exactly if it asks
/// for a directory. Segments are bytes, as file names are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath<'a> {
    bytes: Cow<'a, [u8]>,
    has_dot_segment: bool,
}

/// The reason why a path names nothing that could be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// Does not begin with `/`.
    NotAbsolute,
    /// A `%` without two hexadecimal digits (RFC 3986 section 2.1).
    BadEscape,
    /// A NUL, which no file name holds.
    Nul,
    /// `..` beyond the root.
    AboveRoot,
    /// An encoded `/` within a segment: syntactically right, but no file name holds one.
    EncodedSlash,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathError::NotAbsolute => "it does not begin with /",
            PathError::BadEscape => "it has a % without two hexadecimal digits",
            PathError::Nul => "it holds a NUL",
            PathError::AboveRoot => "it leads out of the root",
            PathError::EncodedSlash => "it has an encoded / within a segment",
        })
    }
}

impl std::error::Error for PathError {}

impl PathError {
    /// The status of the answer.
    pub fn status(self) -> u16 {
        match self {
            PathError::EncodedSlash => 404,
            PathError::NotAbsolute
            | PathError::BadEscape
            | PathError::Nul
            | PathError::AboveRoot => 400,
        }
    }
}

impl<'a> RequestPath<'a> {
    /// Decodes and normalises the path component of a request target, without its query.
    ///
    /// Dot segments are removed as RFC 3986 section 5.2.4 says (their percent-encoded forms are
    /// the same segments: section 6.2.2.2), repeated slashes collapse. Borrows what is clean.
    ///
    /// # Errors
    /// [`PathError`] says what is wrong; `..` above the root is an error rather than the root.
    pub fn parse(raw: &'a [u8]) -> Result<Self, PathError> {
        if raw.first() != Some(&b'/') {
            return Err(PathError::NotAbsolute);
        }
        if is_clean(raw) {
            return Ok(RequestPath {
                bytes: Cow::Borrowed(raw),
                has_dot_segment: false,
            });
        }
        let mut bytes = Vec::with_capacity(raw.len());
        let mut wants_directory = false;
        for segment in raw.split(|&byte| byte == b'/').skip(1) {
            let segment = decode(segment)?;
            wants_directory = true;
            match &*segment {
                b"" | b"." => {}
                b".." => {
                    let parent = bytes.iter().rposition(|&byte| byte == b'/');
                    bytes.truncate(parent.ok_or(PathError::AboveRoot)?);
                }
                name => {
                    wants_directory = false;
                    bytes.push(b'/');
                    bytes.extend_from_slice(name);
                }
            }
        }
        if wants_directory {
            bytes.push(b'/');
        }
        let has_dot_segment = bytes.windows(2).any(|pair| pair == b"/.");
        Ok(RequestPath {
            bytes: Cow::Owned(bytes),
            has_dot_segment,
        })
    }

    /// The whole path.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if any segment begins with a dot.
    pub fn has_dot_segment(&self) -> bool {
        self.has_dot_segment
    }
}

/// The target of a request for the file at `path`, which is not percent-encoded; slashes before it do
/// not count: `reports/2026.pdf` and `/reports/2026.pdf` are one.
pub fn target_of(path: &str) -> String {
    let mut target = String::with_capacity(path.len() + 1);
    target.push('/');
    encode_path(path.trim_start_matches('/').as_bytes(), &mut target);
    target
}

/// Percent-encodes a decoded path for a URI reference. With a single leading slash, as
/// [`RequestPath`] has, it can never be read as an authority.
pub fn encode_path(path: &[u8], out: &mut String) {
    encode(path, b"-._~!$&'()*+,;=:@/", out);
}

/// Percent-encodes a raw query: what RFC 3986 section 3.4 lets stand stays as it came.
pub fn encode_query(query: &[u8], out: &mut String) {
    encode(query, b"-._~!$&'()*+,;=:@/?%[]", out);
}

fn encode(bytes: &[u8], safe: &[u8], out: &mut String) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || safe.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(HEX.get(usize::from(byte >> 4)));
            out.extend(HEX.get(usize::from(byte & 15)));
        }
    }
}

/// True if the path has no escape, no empty segment, no segment that begins with a dot and no NUL. `raw`
/// begins with `/`.
fn is_clean(raw: &[u8]) -> bool {
    let mut rest = raw;
    while let Some(chunk) = rest.first_chunk() {
        if is_unclean_chunk(chunk) {
            return false;
        }
        // The last byte is looked at again, as the one before the next.
        rest = rest.get(8..).unwrap_or_default();
    }
    match raw.last_chunk() {
        // What is left is looked at together with bytes before it.
        Some(chunk) => !is_unclean_chunk(chunk),
        None => {
            let mut chunk = [b'x'; 9];
            for (place, &byte) in chunk.iter_mut().zip(raw) {
                *place = byte;
            }
            !is_unclean_chunk(&chunk)
        }
    }
}

/// True if one of the last eight of these bytes is an escape, NUL, or the begin of a segment that is empty or
/// begins with a dot. They are looked at as one word.
fn is_unclean_chunk(chunk: &[u8; 9]) -> bool {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    // Marks the bytes that are zero, and may mark 1 behind a marked one.
    let zeros = |word: u64| word.wrapping_sub(each(1)) & !word & each(0x80);
    let [bytes @ .., _] = chunk;
    let before = u64::from_le_bytes(*bytes);
    let [_, bytes @ ..] = chunk;
    let word = u64::from_le_bytes(*bytes);
    // `.` and `/` differ in the last bit.
    let dots_and_slashes = zeros((word | each(1)) ^ each(b'/'));
    let begins = zeros(before ^ each(b'/')) & dots_and_slashes;
    (zeros(word) | zeros(word ^ each(b'%')) | begins) != 0
}

fn decode(segment: &[u8]) -> Result<Cow<'_, [u8]>, PathError> {
    if segment.contains(&0) {
        return Err(PathError::Nul);
    }
    if !segment.contains(&b'%') {
        return Ok(Cow::Borrowed(segment));
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut bytes = segment.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|&byte| char::from(byte).to_digit(16));
        let (high, low) = (digit(), digit());
        let value = high
            .zip(low)
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        match value.ok_or(PathError::BadEscape)? {
            0 => return Err(PathError::Nul),
            b'/' => return Err(PathError::EncodedSlash),
            byte => out.push(byte),
        }
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use PathError::{AboveRoot, BadEscape, EncodedSlash, NotAbsolute, Nul};
    use proptest::prelude::*;

    #[test]
    fn paths() {
        fn check(raw: &str, expected: Result<&str, PathError>) {
            let parsed = RequestPath::parse(raw.as_bytes());
            let parsed = parsed.map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
            assert_eq!(parsed, expected.map(str::to_owned), "{raw:?}");
        }
        for (raw, expected) in [
            ("/", "/"),
            ("/a", "/a"),
            ("/a/b.c", "/a/b.c"),
            ("/a/", "/a/"),
            ("//", "/"),
            ("//evil.com", "/evil.com"),
            ("///a//b///", "/a/b/"),
            ("/./Packages", "/Packages"),
            ("/a/.", "/a/"),
            ("/a/./", "/a/"),
            ("/a/..", "/"),
            ("/a/../b", "/b"),
            ("/a/b/..", "/a/"),
            ("/a/b/../..", "/"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/.%2e/b", "/b"),
            ("/%2e/b", "/b"),
            ("/a%20b", "/a b"),
            ("/%61", "/a"),
            ("/%2561", "/%61"),
            ("/%252e%252e/x", "/%2e%2e/x"),
            ("/..a/b..", "/..a/b.."),
            ("/...", "/..."),
            ("/.well-known/x", "/.well-known/x"),
            ("/a\\..\\b", "/a\\..\\b"),
            ("/..%5c..%5cx", "/..\\..\\x"),
            ("/%3F%23", "/?#"),
            ("/a;b=c", "/a;b=c"),
        ] {
            check(raw, Ok(expected));
        }
        for (raw, expected) in [
            ("", NotAbsolute),
            ("a", NotAbsolute),
            ("*", NotAbsolute),
            ("/..", AboveRoot),
            ("/../etc/passwd", AboveRoot),
            ("/a/../../b", AboveRoot),
            ("/%2e%2e/x", AboveRoot),
            ("//../x", AboveRoot),
            ("/%", BadEscape),
            ("/%4", BadEscape),
            ("/%4/1", BadEscape),
            ("/%zz", BadEscape),
            ("/%+1", BadEscape),
            ("/%00", Nul),
            ("/a%00.txt", Nul),
            ("/a\0b", Nul),
            ("/a%2Fb", EncodedSlash),
            ("/..%2f..%2fetc", EncodedSlash),
        ] {
            check(raw, Err(expected));
        }
        let overlong = RequestPath::parse(b"/%c0%ae%c0%ae/%c0%afx").unwrap();
        assert_eq!(overlong.as_bytes(), b"/\xc0\xae\xc0\xae/\xc0\xafx");
    }

    #[test]
    fn locations() {
        fn check(path: &[u8], expected: &str) {
            let mut out = String::new();
            encode_path(path, &mut out);
            assert_eq!(out, expected);
        }
        check(b"/a/b/", "/a/b/");
        check(b"/a b/", "/a%20b/");
        check(b"/\\evil.com/", "/%5Cevil.com/");
        check(b"/a?b#c%/", "/a%3Fb%23c%25/");
        check(b"/x\r\nSet-Cookie: a/", "/x%0D%0ASet-Cookie:%20a/");
        check("/é/".as_bytes(), "/%C3%A9/");
        let mut out = String::new();
        encode_query(b"a=%20&b=\"<\xff", &mut out);
        assert_eq!(out, "a=%20&b=%22%3C%FF");
    }

    /// The rule of [`is_clean`], byte by byte.
    fn is_clean_byte_by_byte(raw: &[u8]) -> bool {
        raw.split(|&byte| byte == b'/')
            .skip(1)
            .enumerate()
            .all(|(number, segment)| {
                let is_last = number + 2 == raw.split(|&byte| byte == b'/').count();
                !segment.contains(&0)
                    && !segment.contains(&b'%')
                    && !segment.starts_with(b".")
                    && (is_last || !segment.is_empty())
            })
    }

    #[test]
    fn a_blemish_is_found_at_each_place() {
        for length in 1..70 {
            let clean = [b"/", "x".repeat(length - 1).as_bytes()].concat();
            assert!(is_clean(&clean));
            for place in 1..length {
                for put in [&b"%"[..], b"\0", b"/", b"//", b"/.", b"."] {
                    let mut raw = clean.clone();
                    raw.splice(place..(place + put.len()).min(length), put.iter().copied());
                    assert_eq!(
                        is_clean(&raw),
                        is_clean_byte_by_byte(&raw),
                        "{}",
                        raw.escape_ascii()
                    );
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_parses_is_normal_and_stays_so(raw in "/(%2[eEfF]|%5c|\\.|/|[a-c%é\\\\]){0,24}") {
            let Ok(path) = RequestPath::parse(raw.as_bytes()) else { return Ok(()) };
            let bytes = path.as_bytes();
            prop_assert_eq!(bytes.first(), Some(&b'/'));
            let inner = bytes.strip_suffix(b"/").unwrap_or(bytes);
            for segment in inner.split(|&byte| byte == b'/').skip(1) {
                prop_assert!(!matches!(segment, b"" | b"." | b".."));
            }
            let mut encoded = String::new();
            encode_path(bytes, &mut encoded);
            prop_assert!(!encoded.starts_with("//"));
            let again = RequestPath::parse(encoded.as_bytes()).unwrap();
            prop_assert_eq!(again.as_bytes(), bytes);
        }
    }
}
