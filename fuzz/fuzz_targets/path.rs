//! Paths: what is parsed cannot lead elsewhere, and is what a slow reading of the rules gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_semantics::RequestPath;

fuzz_target!(|data: &[u8]| {
    let parsed = RequestPath::parse(data);
    let parsed = parsed.as_ref().map(RequestPath::as_bytes).ok();
    assert_eq!(parsed, slowly(data).as_deref(), "{:?}", data.escape_ascii());
    let Some(path) = parsed else {
        return;
    };
    assert!(path.starts_with(b"/") && !path.contains(&0) && !path.starts_with(b"//"));
    let mut segments: Vec<_> = path.split(|&byte| byte == b'/').skip(1).collect();
    if segments.last().is_some_and(|last| last.is_empty()) {
        segments.pop();
    }
    for segment in &segments {
        assert!(!segment.is_empty() && *segment != b"." && *segment != b"..");
    }
    let hidden = segments.iter().any(|segment| segment.starts_with(b"."));
    let has_dot_segment = RequestPath::parse(data).is_ok_and(|path| path.has_dot_segment());
    assert_eq!(has_dot_segment, hidden);

    // Encoding it again, wholly or where needed, gives the same path.
    let mut whole = String::new();
    let mut least = Vec::new();
    for &byte in path {
        if byte == b'/' {
            whole.push('/');
        } else {
            whole += &format!("%{byte:02x}");
        }
        match byte {
            b'%' => least.extend_from_slice(b"%25"),
            _ => least.push(byte),
        }
    }
    for again in [whole.as_bytes(), &least] {
        let again = RequestPath::parse(again);
        assert_eq!(again.as_ref().map(RequestPath::as_bytes).ok(), Some(path));
    }
});

/// The rules one after the other: decode each segment once, then take out `.` and `..`.
fn slowly(data: &[u8]) -> Option<Vec<u8>> {
    let rest = data.strip_prefix(b"/")?;
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut directory = true;
    for raw in rest.split(|&byte| byte == b'/') {
        let segment = decode(raw)?;
        directory = matches!(&*segment, b"" | b"." | b"..");
        match &*segment {
            b".." => drop(kept.pop()?),
            _ if directory => {}
            _ => kept.push(segment),
        }
    }
    let mut path = Vec::new();
    for segment in &kept {
        path.push(b'/');
        path.extend_from_slice(segment);
    }
    if directory {
        path.push(b'/');
    }
    Some(path)
}

/// `None` for a bad escape, a NUL, or a slash that was hidden in an escape.
fn decode(raw: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut bytes = raw.iter();
    while let Some(&byte) = bytes.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(*bytes.next()?).to_digit(16);
            u8::try_from(digit()? * 16 + digit()?).ok()?
        } else {
            byte
        };
        if byte == 0 || (byte == b'/') {
            return None;
        }
        decoded.push(byte);
    }
    Some(decoded)
}
