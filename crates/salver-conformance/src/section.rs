//! The strict reading of an answer's field section in HTTP/2 and HTTP/3.

use crate::carried::is_connection_specific;
use crate::response::{Response, is_token_byte};

/// Field lines in order.
pub(crate) type Lines = Vec<(Vec<u8>, Vec<u8>)>;

/// The head of an answer (RFC 9113 sections 8.2 and 8.3.2, RFC 9114 sections 4.2 and 4.3.2).
pub(crate) fn read_head(lines: &Lines) -> Result<Response, String> {
    let mut lines = lines.iter();
    let (name, value) = lines.next().ok_or("an empty field section")?;
    if name != b":status" {
        return Err(format!(
            "the first field is {} instead of :status",
            name.escape_ascii()
        ));
    }
    if value.len() != 3 || !value.iter().all(u8::is_ascii_digit) {
        return Err(format!(":status is {}", value.escape_ascii()));
    }
    let status = std::str::from_utf8(value)
        .ok()
        .and_then(|code| code.parse().ok())
        .unwrap_or_default();
    let mut fields = Vec::new();
    for (name, value) in lines {
        let wrong = |what: &str| {
            Err(format!(
                "{what}: {}: {}",
                name.escape_ascii(),
                value.escape_ascii()
            ))
        };
        if name.starts_with(b":") {
            return wrong("a pseudo-field behind :status");
        }
        if name.is_empty() || !name.iter().copied().all(is_token_byte) {
            return wrong("a field name is not a token");
        }
        if name.iter().any(u8::is_ascii_uppercase) {
            return wrong("a field name in upper case");
        }
        if is_connection_specific(name) {
            return wrong("a connection-specific field");
        }
        if value.trim_ascii() != value {
            return wrong("white space around a field value");
        }
        let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
        if value.iter().any(is_control) {
            return wrong("a control byte in a field value");
        }
        fields.push((String::from_utf8_lossy(name).into_owned(), value.clone()));
    }
    Ok(Response {
        status,
        fields,
        content: Vec::new(),
    })
}

/// Whether the content is as long as the answer says; a static server always knows, so that
/// silence is wrong too wherever content comes (RFC 9110 section 8.6).
pub(crate) fn check_length(response: &Response, headless: bool) -> Result<(), String> {
    let mut lengths = response
        .fields
        .iter()
        .filter(|(name, _)| name == "content-length");
    let length = lengths.next().map(|(_, value)| value.as_slice());
    if lengths.next().is_some() {
        return Err("Content-Length is there twice".to_owned());
    }
    if let Some(value) = length
        && (value.is_empty() || !value.iter().all(u8::is_ascii_digit))
    {
        return Err(format!("Content-Length: {}", value.escape_ascii()));
    }
    let got = response.content.len();
    if headless || response.status == 304 || response.status == 204 {
        return if got == 0 {
            Ok(())
        } else {
            Err(format!("{got} bytes where none can be"))
        };
    }
    let own = got.to_string();
    match length {
        Some(value) if value == own.as_bytes() => Ok(()),
        Some(value) => Err(format!(
            "Content-Length is {}, the content has {got} bytes",
            value.escape_ascii()
        )),
        None => Err("no Content-Length".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        text.lines()
            .map(|line| {
                let (name, value) = line.split_once('=').unwrap();
                (name.as_bytes().to_vec(), value.as_bytes().to_vec())
            })
            .collect()
    }

    /// `part` is in the error; empty if there is none.
    fn check(text: &str, content: &str, part: &str) {
        let outcome = read_head(&lines(text)).and_then(|mut response| {
            response.content = content.as_bytes().to_vec();
            check_length(&response, false)
        });
        match outcome {
            Ok(()) => assert!(part.is_empty(), "{text:?} passed instead of {part}"),
            Err(error) => assert!(
                !part.is_empty() && error.contains(part),
                "{text:?}: {error}"
            ),
        }
    }

    #[test]
    fn sections() {
        check(":status=200\ncontent-length=2\nx-a=b\tc", "ab", "");
        check(":status=304\netag=\"x\"", "", "");
        check("", "", "empty");
        check("a=b\n:status=200", "", "first field");
        check(":status=20", "", ":status is 20");
        check(":status=2x0", "", ":status is 2x0");
        check(":status=200\n:status=200", "", "pseudo-field");
        check(":status=200\nA=b", "", "upper case");
        check(":status=200\na b=c", "", "not a token");
        check(":status=200\nconnection=close", "", "connection-specific");
        check(":status=200\na= b", "", "white space");
        check(":status=200\na=b\x01c", "", "control byte");
        check(":status=200\ncontent-length=2", "abc", "3 bytes");
        check(":status=200\ncontent-length=+2", "ab", "+2");
        check(":status=200", "", "no Content-Length");
        check(":status=304", "a", "none can be");
        check(
            ":status=200\ncontent-length=2\ncontent-length=2",
            "ab",
            "twice",
        );
    }
}
