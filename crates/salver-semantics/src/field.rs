//! The grammar that fields share: optional white space, tokens, lists, weights
//! (RFC 9110 sections 5.6 and 12.4.2), Base64.

/// The part of `value` without the optional white space (SP, HTAB) at both ends (RFC 9110 section 5.6.3).
///
/// ```
/// assert_eq!(salver_semantics::field::trim_ows(b" \ta b\t"), b"a b");
/// ```
pub fn trim_ows(value: &[u8]) -> &[u8] {
    let mut rest = value;
    while let [b' ' | b'\t', tail @ ..] = rest {
        rest = tail;
    }
    while let [head @ .., b' ' | b'\t'] = rest {
        rest = head;
    }
    rest
}

/// A set of bytes.
pub(crate) type ByteTable = [bool; 256];

/// The set of these bytes.
pub(crate) const fn byte_table(bytes: &[u8]) -> ByteTable {
    let mut table = [false; 256];
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        // Only the compiler runs this.
        #[allow(clippy::indexing_slicing)]
        {
            table[*byte as usize] = true;
        }
        rest = tail;
    }
    table
}

/// True if `byte` belongs to `table`.
#[inline]
pub(crate) fn has(table: &ByteTable, byte: u8) -> bool {
    table.get(usize::from(byte)) == Some(&true)
}

/// True if `value` is a token: one or more `tchar` (RFC 9110 section 5.6.2).
pub fn is_token(value: &[u8]) -> bool {
    // Without a way out before the end the compiler looks at several bytes at a time.
    let all = value
        .iter()
        .fold(true, |all, &byte| all & has(&IS_TCHAR, byte));
    all && !value.is_empty()
}

/// The bytes of a token (`tchar`).
static IS_TCHAR: ByteTable =
    byte_table(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/// The bytes that a text in Base64 (RFC 4648 section 4) stands for, padded or not; `None` if it is none.
///
/// ```
/// use salver_semantics::field::decode_base64;
///
/// assert_eq!(decode_base64(b"YTpi").as_deref(), Some(&b"a:b"[..]));
/// assert_eq!(decode_base64(b"YTp!"), None);
/// ```
pub fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text
        .iter()
        .rposition(|&byte| byte != b'=')
        .map_or(0, |last| last + 1);
    let (digits, padding) = text.split_at_checked(end)?;
    if padding.len() > 2
        || (!padding.is_empty() && !text.len().is_multiple_of(4))
        || digits.len() % 4 == 1
    {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for &digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(out)
}

/// True if `value` is a field value as it stands in a message: without controls but HTAB, and without white
/// space at either end (RFC 9110 section 5.5, RFC 9113 section 8.2.1).
pub fn is_value(value: &[u8]) -> bool {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_text = |&byte: &u8| byte >= 0x20 && byte != 0x7f || byte == b'\t';
    value.iter().all(is_text) && !is_space(value.first()) && !is_space(value.last())
}

/// True if `token` is `lower`, which is made of small letters and `-`, in whatever case.
///
/// Of the bytes that become a small letter or `-` by setting the bit that tells small letters from
/// capitals, all but CR are those. So it is set in many bytes at once: no field line holds CR.
#[inline]
pub fn is<const N: usize>(token: &[u8], lower: &[u8; N]) -> bool {
    let Some(token) = token.as_array::<N>() else {
        return false;
    };
    // What remains behind the last whole word is compared together with bytes before it.
    if N < 8 {
        let word = |bytes: Option<&[u8; 4]>| bytes.map(|bytes| u32::from_le_bytes(*bytes));
        let small = |bytes| word(bytes).map(|word| word | 0x2020_2020);
        small(token.first_chunk()) == word(lower.first_chunk())
            && small(token.last_chunk()) == word(lower.last_chunk())
    } else {
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let same = |(token, lower)| word(token) | 0x2020_2020_2020_2020 == word(lower);
        let (tokens, lowers) = (token.as_chunks().0, lower.as_chunks().0);
        tokens.iter().zip(lowers).all(same)
            && token.last_chunk().zip(lower.last_chunk()).is_some_and(same)
    }
}

/// The value of `1*DIGIT`, at most [`u64::MAX`]; `None` if `text` is none.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte & 0x0f))?;
        Some(sum.saturating_mul(10).saturating_add(digit))
    })
}

/// The elements of a comma-separated list (RFC 9110 section 5.6.1), each without the white space
/// around it.
///
/// Empty elements are skipped, as a recipient must (section 5.6.1.2). A comma within a
/// quoted-string separates nothing; a quoted-string that is never closed runs to the end.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    List {
        rest: value,
        quoting: Quoting::QuotedString,
    }
}

/// The meaning of a backslash between two double quotes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// It escapes the next byte (quoted-string, RFC 9110 section 5.6.4).
    QuotedString,
    /// It is a byte like any other (opaque-tag, RFC 9110 section 8.8.3).
    EntityTag,
}

/// The iterator behind [`list`].
#[derive(Clone, Debug)]
pub(crate) struct List<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) quoting: Quoting,
}

impl<'a> List<'a> {
    /// Cuts off everything up to the next separating comma.
    fn take_element(&mut self) -> &'a [u8] {
        let mut quoted = false;
        let mut escaped = false;
        let comma = self.rest.iter().position(|&byte| {
            if escaped {
                escaped = false;
                return false;
            }
            match byte {
                b'"' => quoted = !quoted,
                b'\\' => escaped = quoted && self.quoting == Quoting::QuotedString,
                _ => {}
            }
            byte == b',' && !quoted
        });
        let (element, rest) = match comma.and_then(|at| self.rest.split_at_checked(at)) {
            Some((element, [_comma, rest @ ..])) => (element, rest),
            _ => (self.rest, [].as_slice()),
        };
        self.rest = rest;
        element
    }
}

impl<'a> Iterator for List<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let element = trim_ows(self.take_element());
            if !element.is_empty() {
                return Some(element);
            }
        }
        None
    }
}

/// The weight of a preference: a qvalue in thousandths, 0 to 1000 (RFC 9110 section 12.4.2). Zero
/// means "not acceptable".
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u16);

impl Weight {
    /// The weight `q=1`, also that of a member without one.
    pub const MAX: Weight = Weight(1000);
    /// The weight `q=0`: not acceptable.
    pub const ZERO: Weight = Weight(0);

    /// Reads a qvalue by the letter of the grammar: `0` or `1`, at most three decimals, nothing
    /// above 1. `0.` and `1.` are valid. `None` for everything else.
    pub fn parse(value: &[u8]) -> Option<Weight> {
        let (whole, decimals) = match value {
            [whole] => (whole, [].as_slice()),
            [whole, b'.', decimals @ ..] => (whole, decimals),
            _ => return None,
        };
        if decimals.len() > 3 || !decimals.iter().all(u8::is_ascii_digit) {
            return None;
        }
        match whole {
            b'0' => {
                let padded = decimals.iter().chain(b"000").take(3);
                Some(Weight(
                    padded.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')),
                ))
            }
            b'1' if decimals.iter().all(|&digit| digit == b'0') => Some(Weight::MAX),
            _ => None,
        }
    }

    /// The weight in thousandths, 0 to 1000.
    pub const fn thousandths(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens() {
        fn check(input: &[u8], expected: bool) {
            assert_eq!(
                is_token(input),
                expected,
                "{:?}",
                input.escape_ascii().to_string()
            );
        }
        check(b"", false);
        check(b"gzip", true);
        check(b"x-gzip", true);
        check(b"!#$%&'*+-.^_`|~09azAZ", true);
        check(b"a b", false);
        check(b" a", false);
        check(b"a\t", false);
        check(b"\xe9", false);
        check(b"\x7f", false);
        check(b"a\0", false);
        for byte in b"\"(),/:;<=>?@[\\]{}" {
            check(&[*byte], false);
        }
    }

    #[test]
    fn values() {
        for value in ["", "a", "a b", "a\tb", "\u{e9}"] {
            assert!(is_value(value.as_bytes()), "{value:?}");
        }
        for value in [" ", " a", "a\t", "a\u{1}", "\u{7f}", "a\nb", "\r", "\0"] {
            assert!(!is_value(value.as_bytes()), "{value:?}");
        }
    }

    #[test]
    fn optional_white_space() {
        fn check(input: &[u8], expected: &[u8]) {
            assert_eq!(trim_ows(input), expected);
        }
        check(b"", b"");
        check(b" ", b"");
        check(b"\t \t", b"");
        check(b"a", b"a");
        check(b" a b ", b"a b");
        check(b"\ta\t", b"a");
        // Only SP and HTAB are white space here.
        check(b"\r\n a \x0b", b"\r\n a \x0b");
        check(b"\xa0a\xa0", b"\xa0a\xa0");
    }

    #[test]
    fn lists() {
        fn check(input: &str, expected: &[&str]) {
            let expected: Vec<&[u8]> = expected.iter().map(|element| element.as_bytes()).collect();
            assert_eq!(
                list(input.as_bytes()).collect::<Vec<_>>(),
                expected,
                "{input:?}"
            );
        }
        check("", &[]);
        check(" \t ", &[]);
        check(",", &[]);
        check(",,, ,\t,", &[]);
        check("a", &["a"]);
        check("a,b", &["a", "b"]);
        check("a , b", &["a", "b"]);
        check("\ta\t,\tb\t", &["a", "b"]);
        check(",a,,b,", &["a", "b"]);
        check("foo ,bar,charlie", &["foo", "bar", "charlie"]);
        check("foo , ,bar,charlie", &["foo", "bar", "charlie"]);
        check("a b,c", &["a b", "c"]);
        check(r#""a,b",c"#, &[r#""a,b""#, "c"]);
        check(r#"x="a,b" , c"#, &[r#"x="a,b""#, "c"]);
        check(r#""a\",b",c"#, &[r#""a\",b""#, "c"]);
        check(r#""a\\",b"#, &[r#""a\\""#, "b"]);
        // Outside of quotes a backslash escapes nothing.
        check(r"a\,b", &[r"a\", "b"]);
        check(r#"\"a,b"c"#, &[r#"\"a,b"c"#]);
        check(r#""never closed, a"#, &[r#""never closed, a"#]);
        check(r#"a, "never closed\"#, &["a", r#""never closed\"#]);
        check(r#""","#, &[r#""""#]);
    }

    #[test]
    fn entity_tag_lists_know_no_escape() {
        let list = List {
            rest: br#""a\","b""#,
            quoting: Quoting::EntityTag,
        };
        assert_eq!(list.collect::<Vec<_>>(), [br#""a\""#.as_slice(), br#""b""#]);
    }

    #[test]
    fn weights() {
        fn check(input: &str, expected: Option<u16>) {
            assert_eq!(
                Weight::parse(input.as_bytes()).map(Weight::thousandths),
                expected,
                "{input}"
            );
        }
        check("0", Some(0));
        check("1", Some(1000));
        check("0.", Some(0));
        check("1.", Some(1000));
        check("0.5", Some(500));
        check("0.05", Some(50));
        check("0.005", Some(5));
        check("0.001", Some(1));
        check("0.999", Some(999));
        check("0.000", Some(0));
        check("1.0", Some(1000));
        check("1.00", Some(1000));
        check("1.000", Some(1000));
        for malformed in [
            "", ".", ".5", "00", "01", "2", "10", "0.0000", "1.0000", "1.001", "1.1", "-0", "+1",
            "0,5", " 1", "1 ", "0. 5", "0.5a", "a", "q", "0x1", "1e0", "0.+5", "0.-1", "0..5",
            "\u{661}", "NaN", "inf",
        ] {
            check(malformed, None);
        }
        assert!(Weight::ZERO < Weight::MAX);
        assert_eq!(Weight::parse(b"0"), Some(Weight::ZERO));
        assert_eq!(Weight::parse(b"1"), Some(Weight::MAX));
    }

    #[test]
    fn every_weight_is_read_back() {
        for thousandths in 0..=1000_u16 {
            let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
            let weight = Weight::parse(text.as_bytes()).map(Weight::thousandths);
            assert_eq!(weight, Some(thousandths), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn list_elements_are_trimmed_parts_of_the_value(value in "[a, \t\"\\\\]{0,40}") {
            for element in list(value.as_bytes()) {
                prop_assert!(!element.is_empty());
                prop_assert_eq!(trim_ows(element), element);
                prop_assert!(value.as_bytes().windows(element.len()).any(|part| part == element));
            }
        }

        #[test]
        fn joining_and_splitting_is_the_identity(
            elements in prop::collection::vec("[a-z;=]{1,8}", 0..10)
        ) {
            let joined = elements.join(", ");
            let split: Vec<&[u8]> = list(joined.as_bytes()).collect();
            let expected: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
            prop_assert_eq!(split, expected);
        }

        #[test]
        fn any_weight_is_within_its_bounds(value in prop::collection::vec(any::<u8>(), 0..8)) {
            if let Some(weight) = Weight::parse(&value) {
                prop_assert!(weight.thousandths() <= 1000);
            }
        }
    }
}
