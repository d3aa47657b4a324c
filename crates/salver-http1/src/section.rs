//! The parser of field sections (RFC 9112 section 5), which reads each byte once.

use salver_semantics::field::is_token;

use crate::error::ParseError;
use crate::scan;

/// A field value, and the input behind its line.
type ValueAndRest<'b> = (&'b [u8], &'b [u8]);

/// Parses the field section that `input` begins with, up to and with the empty line behind it, and gives `keep` the
/// name and the value of each line, the value with the whitespace around it.
///
/// Returns the length of the section in bytes; `None` if it is incomplete.
///
/// # Errors
/// The first byte that is wrong decides. More than `max_fields` lines are refused at the end of the
/// line that is too many.
// A function of its own, so that its loop has the registers for itself.
#[inline(never)]
pub(crate) fn parse<'b>(
    input: &'b [u8],
    max_fields: usize,
    mut keep: impl FnMut(&'b [u8], &'b [u8]),
) -> Result<Option<usize>, ParseError> {
    let mut left = max_fields;
    let mut rest = input;
    loop {
        // Most often nothing follows the section: then there are too few bytes to scan at once.
        if rest == b"\r\n" {
            return Ok(Some(input.len()));
        }
        let (name, behind) = match rest.split_at_checked(scan::run(scan::NAME, rest)) {
            Some((name @ [_, ..], [b':', behind @ ..])) => (name, behind),
            _ => match line_or_end(rest)? {
                Some(LineOrEnd::Line(name, behind)) => (name, behind),
                Some(LineOrEnd::End(behind)) => return Ok(Some(input.len() - behind.len())),
                None => return Ok(None),
            },
        };
        let Some((value, next)) = value(behind)? else {
            return Ok(None);
        };
        left = left.checked_sub(1).ok_or(ParseError::TooManyFields)?;
        keep(name, value);
        rest = next;
    }
}

/// The end of a section, or a line with an unusual name. Each holds the input behind it.
enum LineOrEnd<'b> {
    /// The empty line.
    End(&'b [u8]),
    /// A line whose name has other characters than letters and `-`.
    Line(&'b [u8], &'b [u8]),
}

/// Parses the end of a section, or a name of any characters. `None` if it is incomplete.
fn line_or_end(input: &[u8]) -> Result<Option<LineOrEnd<'_>>, ParseError> {
    match input {
        [b'\r', b'\n', behind @ ..] | [b'\n', behind @ ..] => {
            return Ok(Some(LineOrEnd::End(behind)));
        }
        [b'\r'] => return Ok(None),
        [b'\r', ..] => return Err(ParseError::LineEnd),
        _ => {}
    }
    let Some(length) = input.iter().position(|&byte| !is_token(&[byte])) else {
        return Ok(None);
    };
    match input.split_at_checked(length) {
        Some((name @ [_, ..], [b':', behind @ ..])) => Ok(Some(LineOrEnd::Line(name, behind))),
        _ => Err(ParseError::FieldName),
    }
}

/// Divides `input` behind the line that it begins with: the value, with the whitespace around it,
/// and the next line. `None` if the line has not ended.
#[inline]
fn value(input: &[u8]) -> Result<Option<ValueAndRest<'_>>, ParseError> {
    let mut end = scan::run_of_text(input);
    loop {
        match input.split_at_checked(end) {
            // RFC 9112 section 2.2: LF alone may end a line.
            Some((value, [b'\r', b'\n', next @ ..] | [b'\n', next @ ..])) => {
                return Ok(Some((value, next)));
            }
            Some((_, [b'\t', more @ ..])) => end += 1 + scan::run_of_text(more),
            Some((_, [] | [b'\r'])) => return Ok(None),
            _ => return Err(ParseError::FieldValue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use salver_semantics::field::trim_ows;

    /// The lines and the length, or what is wrong.
    type Outcome<'b> = Result<Option<(Vec<ValueAndRest<'b>>, usize)>, ParseError>;

    fn parsed(input: &[u8], max_fields: usize) -> Outcome<'_> {
        let mut lines = Vec::new();
        let length = parse(input, max_fields, |name, value| {
            lines.push((name, trim_ows(value)));
        })?;
        Ok(length.map(|length| (lines, length)))
    }

    /// The same, said by a parser that many others use.
    fn expected(input: &[u8], max_fields: usize) -> Outcome<'_> {
        let mut room = vec![httparse::EMPTY_HEADER; max_fields];
        match httparse::parse_headers(input, &mut room) {
            Ok(httparse::Status::Complete((length, lines))) => {
                let lines = lines.iter().map(|line| (line.name.as_bytes(), line.value));
                Ok(Some((lines.collect(), length)))
            }
            Ok(httparse::Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => Err(ParseError::TooManyFields),
            Err(httparse::Error::HeaderValue) => Err(ParseError::FieldValue),
            Err(httparse::Error::NewLine) => Err(ParseError::LineEnd),
            Err(_) => Err(ParseError::FieldName),
        }
    }

    #[track_caller]
    fn check(input: &[u8]) {
        for max_fields in [0, 1, 3, 100] {
            let (actual, expected) = (parsed(input, max_fields), expected(input, max_fields));
            assert_eq!(actual, expected, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn lines() {
        for input in [
            "\r\n",
            "\n",
            "\r\r\n",
            "\rx",
            "A: b\r\n\r\n",
            "A:b\n\n",
            "A:\r\n\r\n",
            "A: \t \r\n\r\n",
            "A: \tb \t c\t \r\n\r\n",
            "A: b\r\nC: d\r\n\r\nE: f\r\n\r\n",
            "X-1_a.b: c\r\n1: 2\r\n~!: 3\r\n\r\n",
            "A: b\r\n c\r\n\r\n",
            "A : b\r\n\r\n",
            " A: b\r\n\r\n",
            ": b\r\n\r\n",
            "A\r\n\r\n",
            "A\n",
            "A: b\rc\r\n\r\n",
            "A: b\0\r\n\r\n",
            "A: \u{e9}\r\n\r\n",
            "\u{e9}: a\r\n\r\n",
            "Name-Of-Sixteen-: value of some length\t\tand more\r\n\r\n",
            "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n",
        ] {
            for end in 0..=input.len() {
                check(&input.as_bytes()[..end]);
            }
        }
    }

    fn section() -> impl Strategy<Value = Vec<u8>> {
        let name = "[A-Za-z-]{1,20}|[A-Za-z0-9_.!~-]{1,20}|Host|Accept-Encoding";
        let line = (
            name,
            "[ \t]{0,2}[ -~]{0,40}[ \t]{0,2}[ -~\u{e9}]{0,3}",
            "\r\n|\r\n|\n",
        );
        let line = line.prop_map(|(name, value, end)| format!("{name}:{value}{end}"));
        let lines = prop::collection::vec(line, 0..6);
        (lines, "\r\n|\n|").prop_map(|(lines, end)| [lines.concat(), end].concat().into_bytes())
    }

    /// A place, what is taken out there, and what is put in.
    fn change() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
        let byte = prop_oneof![
            prop::sample::select(b"\r\n\t :\0\x7f\x80-_A1".as_slice()),
            any::<u8>(),
        ];
        (
            any::<prop::sample::Index>(),
            0..3usize,
            prop::collection::vec(byte, 0..3),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2000,
            failure_persistence: None,
            ..Default::default()
        })]

        #[test]
        fn any_section(
            mut input in section(),
            changes in prop::collection::vec(change(), 0..3),
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            for (place, taken, put) in changes {
                let start = place.index(input.len() + 1);
                let end = (start + taken).min(input.len());
                input.splice(start..end, put);
            }
            input.extend(behind);
            check(&input);
        }

        #[test]
        fn any_bytes(input in prop::collection::vec(any::<u8>(), 0..60)) {
            check(&input);
        }
    }
}
