//! Chunked content, decoded as it comes (RFC 9112 section 7.1).

/// Longer lines - sizes with extensions, trailer fields - are malformed.
const LONGEST_LINE: usize = 16 * 1024;

/// Where in the chunks the next byte is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    at: At,
    /// Bytes of the line so far.
    line: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// In the digits of a size; whether there was one yet.
    #[default]
    Size0,
    Size(u64),
    /// After the digits, in an extension or before the line's end.
    Extension(u64),
    Data(u64),
    /// Before the line end after data.
    AfterData,
    AfterDataLf,
    /// In the trailer section, at the beginning of a line or within one.
    Trailer,
    TrailerLine,
    TrailerLf,
    End,
}

/// The bytes of an input that belonged to the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many belonged to the chunks.
    pub(crate) bytes: usize,
    pub(crate) is_end: bool,
}

impl Chunks {
    /// Takes what belongs to the chunks from `input`; gives their data to `data`. `None`: malformed.
    pub(crate) fn take(&mut self, input: &[u8], mut data: impl FnMut(&[u8])) -> Option<Taken> {
        let mut bytes = 0;
        while self.at != At::End {
            let rest = input.get(bytes..).unwrap_or_default();
            let Some(&byte) = rest.first() else { break };
            if let At::Data(left) = self.at {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                data(rest.get(..here).unwrap_or_default());
                bytes += here;
                self.at = match left - here as u64 {
                    0 => At::AfterData,
                    left => At::Data(left),
                };
                continue;
            }
            bytes += 1;
            self.line += 1;
            if self.line > LONGEST_LINE {
                return None;
            }
            self.at = self.at.next(byte)?;
            if byte == b'\n' {
                self.line = 0;
            }
        }
        Some(Taken {
            bytes,
            is_end: self.at == At::End,
        })
    }
}

impl At {
    /// Where the byte after this one is.
    fn next(self, byte: u8) -> Option<At> {
        let digit = || char::from(byte).to_digit(16).map(u64::from);
        Some(match (self, byte) {
            (At::Size0, _) => At::Size(digit()?),
            (At::Size(size) | At::Extension(size), b'\n') => match size {
                0 => At::Trailer,
                size => At::Data(size),
            },
            (At::Size(size), b';' | b' ' | b'\t' | b'\r') | (At::Extension(size), _) => {
                At::Extension(size)
            }
            (At::Size(size), _) => At::Size(size.checked_mul(16)?.checked_add(digit()?)?),
            (At::AfterData, b'\r') => At::AfterDataLf,
            (At::AfterData | At::AfterDataLf, b'\n') => At::Size0,
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::Trailer | At::TrailerLf, b'\n') | (At::End, _) => At::End,
            (At::TrailerLine, b'\n') => At::Trailer,
            (At::Trailer | At::TrailerLine, _) => At::TrailerLine,
            (At::AfterData | At::AfterDataLf | At::TrailerLf | At::Data(_), _) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data, and how much of the input was taken, however it is cut.
    fn check(input: &str, expected: Option<(&str, usize)>) {
        for cut in 0..=input.len() {
            let mut chunks = Chunks::default();
            let mut data = Vec::new();
            let (first, second) = input.as_bytes().split_at(cut);
            let (mut taken, mut end) = (0, Some(false));
            for part in [first, second] {
                if end == Some(false) {
                    let found = chunks.take(part, |piece| data.extend_from_slice(piece));
                    taken += found.map_or(0, |found| found.bytes);
                    end = found.map(|found| found.is_end);
                }
            }
            let found = (end == Some(true)).then(|| (String::from_utf8(data).unwrap(), taken));
            let expected = expected.map(|(data, taken)| (data.to_owned(), taken));
            assert_eq!(found, expected, "{input:?} cut at {cut}");
        }
    }

    #[test]
    fn chunks_are_put_together() {
        check("0\r\n\r\nX", Some(("", 5)));
        check("5\r\nhello\r\n0\r\n\r\nHTTP", Some(("hello", 15)));
        let all = "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
        check(all, Some(("abcde", 30)));
        check("A\r\n0123456789\r\n0\r\n\r\n", Some(("0123456789", 20)));
        // What is wrong or missing.
        check("", None);
        check("5\r\nhello\r\n", None);
        check("x\r\n", None);
        check("5\r\nhelloX\r\n0\r\n\r\n", None);
        check("fffffffffffffffff\r\n", None);
        check("0\r\n\rX", None);
    }
}
