//! Compression dictionaries (RFC 9842): the codings against one, and the fields as they are sent.

use std::fmt::Write;

/// A content coding against a dictionary that the client has (RFC 9842).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DictionaryCoding {
    /// `dcb` (RFC 9842 section 4): Brotli, with the dictionary before its window.
    Brotli,
    /// `dcz` (RFC 9842 section 5): Zstandard, with the dictionary before the content.
    Zstd,
}

impl DictionaryCoding {
    /// Both.
    pub const ALL: [DictionaryCoding; 2] = [DictionaryCoding::Brotli, DictionaryCoding::Zstd];

    /// Its name in `Accept-Encoding` and `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            DictionaryCoding::Brotli => "dcb",
            DictionaryCoding::Zstd => "dcz",
        }
    }

    /// The coding of that name, in any case.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        DictionaryCoding::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}

/// The value of `Use-As-Dictionary` (RFC 9842 section 2.1) for what `pattern`, `destinations` and `id` say.
///
/// ```
/// use salver_semantics::dictionary::{name_pattern, use_as_dictionary};
///
/// let pattern = name_pattern(b"app.", b".js").unwrap();
/// assert_eq!(
///     use_as_dictionary(&pattern, &["script"], "3f9a"),
///     "match=\"app.*.js\", match-dest=(\"script\"), id=\"3f9a\""
/// );
/// ```
pub fn use_as_dictionary(pattern: &str, destinations: &[&str], id: &str) -> String {
    let mut value = String::from("match=");
    push_string(&mut value, pattern);
    value.push_str(", match-dest=(");
    for (number, destination) in destinations.iter().enumerate() {
        if number > 0 {
            value.push(' ');
        }
        push_string(&mut value, destination);
    }
    value.push_str("), id=");
    push_string(&mut value, id);
    value
}

/// The URL pattern, relative to a file, of all that have its name but for what lies between the parts `before` and
/// `after`. `None` for names of which one cannot tell how clients write them in a URL, or whose pattern would mean
/// something else.
///
/// Of the bytes with a meaning in patterns those that stand in a URL as they are are escaped, and those that never do
/// are percent-encoded as in a URL. A colon has a meaning even where it is escaped: it would end a scheme.
pub fn name_pattern(before: &[u8], after: &[u8]) -> Option<String> {
    let mut pattern = String::new();
    push_pattern(&mut pattern, before)?;
    pattern.push('*');
    push_pattern(&mut pattern, after)?;
    Some(pattern)
}

/// Appends bytes of a name; `None` if there are some that no pattern can have.
fn push_pattern(pattern: &mut String, name: &[u8]) -> Option<()> {
    for &byte in name {
        match byte {
            b'*' | b'(' | b')' | b'+' => {
                pattern.push('\\');
                pattern.push(char::from(byte));
            }
            // Browsers send them as they find them in a link, and some of those who write links encode them.
            b':' | b'[' | b']' | b'^' | b'|' | b'\\' | b'/' => return None,
            b'"' | b'#' | b'%' | b'<' | b'>' | b'?' | b'`' | b'{' | b'}' | 0..=b' ' | 0x7f.. => {
                // Writing to a String cannot fail.
                let _ = write!(pattern, "%{byte:02X}");
            }
            _ => pattern.push(char::from(byte)),
        }
    }
    Some(())
}

/// Appends a String of structured fields (RFC 9651 section 4.1.6) of visible ASCII.
fn push_string(value: &mut String, text: &str) {
    value.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            value.push('\\');
        }
        value.push(character);
    }
    value.push('"');
}

/// The length of a value of `Available-Dictionary`.
pub const AVAILABLE_LENGTH: usize = 46;

/// The value of `Available-Dictionary` (RFC 9842 section 2.2) of who has the dictionary with this SHA-256: a Byte
/// Sequence (RFC 9651 section 4.1.8). Clients have no other form for it, so that comparing replaces reading.
pub fn available_dictionary(sha256: &[u8; 32]) -> [u8; AVAILABLE_LENGTH] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| {
        let place = usize::try_from(bits & 0x3f).unwrap_or_default();
        ALPHABET.get(place).copied().unwrap_or_default()
    };
    let groups = sha256.chunks(3).flat_map(|group| {
        let mut bytes = group.iter().copied();
        let mut next = || u32::from(bytes.next().unwrap_or_default());
        let bits = next() << 16 | next() << 8 | next();
        [
            digit(bits >> 18),
            digit(bits >> 12),
            digit(bits >> 6),
            digit(bits),
        ]
    });
    let mut value = [b':'; AVAILABLE_LENGTH];
    for (to, from) in value.iter_mut().skip(1).zip(groups) {
        *to = from;
    }
    // 32 bytes are ten groups of three, and one of two.
    let [.., padding, _] = &mut value;
    *padding = b'=';
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_names() {
        fn check(before: &str, after: &str, expected: Option<&str>) {
            let found = name_pattern(before.as_bytes(), after.as_bytes());
            assert_eq!(found.as_deref(), expected, "{before} {after}");
        }
        check("app.", ".js", Some("app.*.js"));
        check("index-", ".chunk.js", Some("index-*.chunk.js"));
        check("a+b(1)*-", ".js", Some("a\\+b\\(1\\)\\*-*.js"));
        check("what?{x} y%-", ".js", Some("what%3F%7Bx%7D%20y%25-*.js"));
        check("caf\u{e9}.", ".css", Some("caf%C3%A9.*.css"));
        check("~$&'@!,;=_.", ".js", Some("~$&'@!,;=_.*.js"));
        for name in ["a:b.", "a[b].", "a^.", "a|.", "a\\.", "a/b."] {
            check(name, ".js", None);
            check("x.", name, None);
        }
    }

    #[test]
    fn values_that_are_sent() {
        let value = use_as_dictionary("a\\+\"*", &["script", ""], "1");
        assert_eq!(
            value,
            r#"match="a\\+\"*", match-dest=("script" ""), id="1""#
        );
        assert_eq!(
            use_as_dictionary("/*", &[], ""),
            r#"match="/*", match-dest=(), id="""#
        );
    }

    #[test]
    fn digests_that_clients_send() {
        // FIPS 180-4: of the empty message.
        let empty = [
            0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f,
            0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b,
            0x78, 0x52, 0xb8, 0x55,
        ];
        let value = available_dictionary(&empty);
        assert_eq!(&value, b":47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:");
        assert_eq!(
            &available_dictionary(&[0xff; 32]),
            b"://////////////////////////////////////////8=:"
        );
    }
}
