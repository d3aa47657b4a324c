//! What every answer must be, whatever was asked: the rules that no row repeats.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::date;
use crate::facts::Circumstances;
use crate::fixture::SECRET;
use crate::multipart;
use crate::response::Response;

/// Fields that an answer has at most once.
const SINGLETONS: [&str; 13] = [
    "accept-ranges",
    "age",
    "cache-control",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "server",
];

/// The content of an error is a short text for people.
const MAX_ERROR_CONTENT: usize = 1024;

/// What every answer must be, whatever was asked.
pub(crate) fn invariants(response: &Response, circumstances: &Circumstances<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut wrong = |problem: String| problems.push(problem);
    for name in SINGLETONS {
        if response
            .fields
            .iter()
            .filter(|(own, _)| own == name)
            .count()
            > 1
        {
            wrong(format!("{name} is there more than once"));
        }
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|now| i64::try_from(now.as_secs()).ok())
        .unwrap_or_default();
    // RFC 9110 section 6.6.1: an origin server with a clock sends Date.
    let date = response.text("date").and_then(date::parse);
    match date {
        None => wrong("Date is missing or malformed".to_owned()),
        Some(date) if (date - now).abs() > 10 => wrong("Date is not the time".to_owned()),
        Some(_) => {}
    }
    if response.field("last-modified").is_some() {
        match (response.text("last-modified").and_then(date::parse), date) {
            (None, _) => wrong("Last-Modified is malformed".to_owned()),
            // RFC 9110 section 8.8.2.1
            (Some(modified), Some(date)) if modified > date => {
                wrong("Last-Modified is later than Date".to_owned());
            }
            _ => {}
        }
    }
    if let Some(tag) = response.field("etag")
        && !is_entity_tag(tag)
        && !(is_unhashed(response) && tag.strip_prefix(b"W/").is_some_and(is_entity_tag))
    {
        wrong(format!("not an entity tag: {}", tag.escape_ascii()));
    }
    if circumstances.headless && !response.content.is_empty() {
        wrong("content in answer to HEAD".to_owned());
    }
    if !circumstances.may_leave_root && contains(&response.content, SECRET.as_bytes()) {
        wrong("A SECRET FROM OUTSIDE THE ROOT WAS SENT".to_owned());
    }
    match response.status {
        206 => problems.extend(partial(response)),
        304 => {
            // RFC 9110 section 15.4.5: no representation metadata without need.
            for name in [
                "content-length",
                "content-type",
                "content-encoding",
                "last-modified",
            ] {
                if response.field(name).is_some() {
                    problems.push(format!("{name} in a 304"));
                }
            }
        }
        308 => problems.extend(redirect(response)),
        400.. => problems.extend(error(response, circumstances.headless)),
        _ => {}
    }
    problems
}

/// The longest content whose tag is a hash. A longer file that was changed a moment ago may change again under
/// the same times, so that its tag is weak for a while (RFC 9110 section 8.8.1).
const HASHED: u64 = 16 * 1024 * 1024;

/// Whether the answer is of a longer one, or of parts that may be.
fn is_unhashed(response: &Response) -> bool {
    let whole = response
        .text("content-range")
        .and_then(|range| range.rsplit('/').next());
    let length = whole.or_else(|| response.text("content-length"));
    let is_long = length.is_some_and(|length| length.parse().is_ok_and(|long: u64| long > HASHED));
    let kind = response.text("content-type").unwrap_or_default();
    is_long || kind.starts_with("multipart/byteranges")
}

/// `"..."`, strong (RFC 9110 section 8.8.3).
fn is_entity_tag(value: &[u8]) -> bool {
    value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""))
        .is_some_and(|opaque| {
            !opaque.is_empty()
                && opaque
                    .iter()
                    .all(|byte| byte.is_ascii_graphic() && *byte != b'"')
        })
}

/// RFC 9110 section 15.3.7
fn partial(response: &Response) -> Option<String> {
    let multipart = response
        .text("content-type")
        .is_some_and(|value| value.starts_with("multipart/"));
    match response.text("content-range") {
        None if multipart => None,
        None => Some("206 without Content-Range".to_owned()),
        Some(_) if multipart => Some("Content-Range beside multipart/byteranges".to_owned()),
        Some(value) => match multipart::parse_content_range(value) {
            None => Some(format!("malformed Content-Range: {value}")),
            Some((range, _)) => {
                let length = (range.end - range.start).to_string();
                (response.text("content-length") != Some(length.as_str()))
                    .then(|| "Content-Length does not fit Content-Range".to_owned())
            }
        },
    }
}

/// A redirect stays on this server whatever a browser makes of it.
fn redirect(response: &Response) -> Option<String> {
    let location = response.field("location").unwrap_or_default();
    let safe = location.starts_with(b"/")
        && !location.starts_with(b"//")
        && !location.starts_with(b"/\\")
        && location.iter().all(u8::is_ascii_graphic);
    (!safe).then(|| format!("an unsafe Location: {}", location.escape_ascii()))
}

/// The shape of every error.
fn error(response: &Response, headless: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for name in ["etag", "last-modified", "content-encoding", "location"] {
        if response.field(name).is_some() {
            problems.push(format!("{name} in an error"));
        }
    }
    if !response
        .text("content-type")
        .is_some_and(|value| value.starts_with("text/plain"))
    {
        problems.push("an error that is not text/plain".to_owned());
    }
    if response.text("cache-control") != Some("no-cache") {
        problems.push("an error without Cache-Control: no-cache".to_owned());
    }
    if !headless && (response.content.is_empty() || response.content.len() > MAX_ERROR_CONTENT) {
        problems.push("the content of an error is empty or long".to_owned());
    }
    let content_range = response.text("content-range");
    match (response.status, content_range) {
        // RFC 9110 sections 15.5.17 and 14.4
        (416, Some(value)) if value.starts_with("bytes */") => {}
        (416, _) => problems.push("416 without Content-Range: bytes */N".to_owned()),
        (_, Some(_)) => problems.push("Content-Range in an error".to_owned()),
        (_, None) => {}
    }
    if response.status == 405 {
        // RFC 9110 section 15.5.6
        for method in ["GET", "HEAD", "OPTIONS"] {
            if !response.lists("allow", method) {
                problems.push(format!("405 whose Allow lacks {method}"));
            }
        }
    }
    problems
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    // The marker begins with a rare byte: large contents are skimmed, not compared.
    let first = needle.first().copied().unwrap_or_default();
    let mut rest = haystack;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(needle) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}
