//! Reading multipart/byteranges (RFC 9110 section 14.6) strictly.

use std::ops::Range;

/// One part: its range, the whole length it names, its media type and its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) range: Range<u64>,
    pub(crate) length: u64,
    pub(crate) content_type: Option<String>,
    pub(crate) content: Vec<u8>,
}

/// The boundary parameter of a Content-Type value.
fn boundary(content_type: &str) -> Option<&str> {
    content_type
        .split(';')
        .skip(1)
        .find_map(|parameter| parameter.trim().strip_prefix("boundary="))
        .map(|value| value.trim_matches('"'))
        .filter(|value| !value.is_empty() && value.len() <= 70)
}

fn split_once<'a>(bytes: &'a [u8], needle: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes
        .windows(needle.len())
        .position(|window| window == needle)?;
    Some((bytes.get(..at)?, bytes.get(at + needle.len()..)?))
}

/// `bytes A-B/N` as a half-open range and N.
pub(crate) fn parse_content_range(value: &str) -> Option<(Range<u64>, u64)> {
    let (range, length) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let length = length.parse().ok()?;
    (first <= last && last < length).then_some((first..last + 1, length))
}

/// All parts of the content; an error says what is not as RFC 2046 section 5.1 has it.
pub(crate) fn parse(content_type: &str, content: &[u8]) -> Result<Vec<Part>, String> {
    let boundary = boundary(content_type)
        .ok_or_else(|| format!("no usable boundary in Content-Type: {content_type}"))?;
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    // The first delimiter may stand at the very start, without its CRLF.
    let mut rest = match content.strip_prefix(delimiter.get(2..).unwrap_or_default()) {
        Some(rest) => rest,
        None => {
            split_once(content, &delimiter)
                .ok_or("the first boundary is missing")?
                .1
        }
    };
    let mut parts = Vec::new();
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            if !end.is_empty() && end != b"\r\n" {
                return Err("bytes after the closing boundary".to_owned());
            }
            return Ok(parts);
        }
        let part = rest
            .strip_prefix(b"\r\n")
            .ok_or("no CRLF after a boundary")?;
        let (head, after) = split_once(part, b"\r\n\r\n").ok_or("a part's head does not end")?;
        let head = std::str::from_utf8(head).map_err(|_| "a part's head is not text")?;
        let field = |wanted: &str| {
            head.split("\r\n").find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted)
                    .then(|| value.trim().to_owned())
            })
        };
        let (range, length) = field("content-range")
            .as_deref()
            .and_then(parse_content_range)
            .ok_or_else(|| format!("a part without a valid Content-Range: {head:?}"))?;
        let (content, behind) =
            split_once(after, &delimiter).ok_or("the closing boundary is missing")?;
        parts.push(Part {
            range,
            length,
            content_type: field("content-type"),
            content: content.to_vec(),
        });
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/byteranges; boundary=X";

    #[test]
    fn two_parts() {
        let content = b"--X\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/9\r\n\r\nab\
            \r\n--X\r\nContent-Range: bytes 4-4/9\r\n\r\nz\r\n--X--\r\n";
        let parts = parse(TYPE, content).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].range, 0..2);
        assert_eq!(parts[0].content, b"ab");
        assert_eq!(parts[0].content_type.as_deref(), Some("text/plain"));
        assert_eq!((parts[1].range.clone(), parts[1].length), (4..5, 9));
    }

    #[test]
    fn mistakes_are_found() {
        for content in [
            &b"--X\r\nContent-Range: bytes 0-1/9\r\n\r\nab\r\n"[..],
            b"--X\r\n\r\nab\r\n--X--",
            b"--Y\r\nContent-Range: bytes 0-1/9\r\n\r\nab\r\n--Y--",
            b"--X\nContent-Range: bytes 0-1/9\r\n\r\nab\r\n--X--",
            b"--X\r\nContent-Range: bytes 0-1/9\r\n\r\nab\r\n--X--junk",
        ] {
            assert!(parse(TYPE, content).is_err(), "{}", content.escape_ascii());
        }
        assert!(parse("multipart/byteranges", b"--X--").is_err());
        assert_eq!(parse_content_range("bytes 0-9/10"), Some((0..10, 10)));
        for value in [
            "bytes 5-4/10",
            "bytes 0-10/10",
            "bytes */10",
            "bytes=0-1/10",
            "",
        ] {
            assert_eq!(parse_content_range(value), None, "{value}");
        }
    }
}
