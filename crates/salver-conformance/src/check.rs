//! Judges an answer: the rules that hold for every answer, and those of the row.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::date;
use crate::expect::{ContentRule, Expectation, FieldRule};
use crate::facts::Facts;
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

/// What the judge must know besides the answer.
pub(crate) struct Circumstances<'a> {
    /// The request was HEAD.
    pub(crate) headless: bool,
    /// Files outside the root may be sent.
    pub(crate) may_leave_root: bool,
    /// The server's entity tags.
    pub(crate) facts: &'a Facts<'a>,
}

/// Everything that is wrong with an answer; empty if it is right.
pub(crate) fn check(
    response: &Response,
    expect: &Expectation,
    circumstances: &Circumstances<'_>,
) -> Vec<String> {
    let mut problems = invariants(response, circumstances);
    if !expect.statuses.contains(&response.status) {
        problems.push(format!(
            "status {} instead of {:?}",
            response.status, expect.statuses
        ));
    } else if Some(&response.status) == expect.statuses.first() {
        // The other statuses are alternatives to the answer that the fields belong to.
        for (name, rule) in &expect.fields {
            problems.extend(check_field(response, name, rule, circumstances));
        }
        if (200..300).contains(&response.status) && !circumstances.headless {
            problems.extend(check_content(response, &expect.content));
        }
    }
    if !problems.is_empty() {
        problems.push(format!("answer: {response}"));
    }
    problems
}

/// What every answer must be, whatever was asked.
fn invariants(response: &Response, circumstances: &Circumstances<'_>) -> Vec<String> {
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

/// `"..."`, which Salver always sends strong (RFC 9110 section 8.8.3).
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

fn check_field(
    response: &Response,
    name: &str,
    rule: &FieldRule,
    circumstances: &Circumstances<'_>,
) -> Option<String> {
    let value = response.field(name);
    let shown = value.map_or_else(
        || "absent".to_owned(),
        |value| value.escape_ascii().to_string(),
    );
    match rule {
        FieldRule::Absent => value.is_some().then(|| format!("{name} is there: {shown}")),
        FieldRule::Present => value.is_none().then(|| format!("{name} is missing")),
        FieldRule::Equals(wanted) => match circumstances.facts.resolve(wanted) {
            Err(error) => Some(error),
            Ok(wanted) => (value != Some(wanted.as_bytes()))
                .then(|| format!("{name} is {shown} instead of {wanted}")),
        },
        FieldRule::Differs(other) => match circumstances.facts.resolve(other) {
            Err(error) => Some(error),
            Ok(other) => {
                (value == Some(other.as_bytes())).then(|| format!("{name} is {shown} here too"))
            }
        },
        FieldRule::SameAs(other) => (value.is_none() || value != response.field(other))
            .then(|| format!("{name} is {shown}, not what {other} is")),
        FieldRule::Lists(member) => (!response.lists(name, member))
            .then(|| format!("{name} does not list {member}: {shown}")),
        FieldRule::MediaType(types, charset) => {
            let text = response.text(name).unwrap_or_default().to_ascii_lowercase();
            let (essence, parameters) = text.split_once(';').unwrap_or((&text, ""));
            let right = types.contains(&essence.trim())
                && (!*charset || parameters.trim() == "charset=utf-8")
                && (*charset || !parameters.contains("charset"));
            (!right).then(|| format!("{name} is {shown} instead of {types:?} ({charset})"))
        }
        FieldRule::Location(path, query) => {
            let value = value.unwrap_or_default();
            let at = value
                .iter()
                .position(|byte| *byte == b'?')
                .unwrap_or(value.len());
            let own_path = value.get(..at).unwrap_or_default();
            let own_query = value.get(at + 1..);
            let right =
                percent_decode(own_path).as_ref() == Some(path) && own_query == query.as_deref();
            (!right).then(|| {
                let query = query
                    .as_deref()
                    .unwrap_or_default()
                    .escape_ascii()
                    .to_string();
                format!(
                    "{name} is {shown} instead of {} {query}",
                    path.escape_ascii()
                )
            })
        }
    }
}

fn check_content(response: &Response, rule: &ContentRule) -> Option<String> {
    match rule {
        ContentRule::Any => None,
        ContentRule::Empty => {
            (!response.content.is_empty()).then(|| "content where none should be".to_owned())
        }
        ContentRule::Exactly(wanted) => (response.content != **wanted).then(|| {
            let start = wanted.get(..48).unwrap_or(wanted);
            format!(
                "the content is not the {} bytes {}",
                wanted.len(),
                start.escape_ascii()
            )
        }),
        ContentRule::Parts { length, parts } => {
            let content_type = response.text("content-type").unwrap_or_default();
            let own = match multipart::parse(content_type, &response.content) {
                Ok(own) => own,
                Err(error) => return Some(error),
            };
            if own.iter().any(|part| part.content_type.is_none()) {
                return Some("a part without Content-Type".to_owned());
            }
            if own.iter().any(|part| part.length != *length) {
                return Some("a part names another length".to_owned());
            }
            let own_ranges: Vec<_> = own.iter().map(|part| part.range.clone()).collect();
            let ranges: Vec<_> = parts.iter().map(|(range, _)| range.clone()).collect();
            if own_ranges != ranges {
                return Some(format!(
                    "the parts are {own_ranges:?} instead of {ranges:?}"
                ));
            }
            own.iter()
                .zip(parts)
                .any(|(own, (_, wanted))| own.content != **wanted)
                .then(|| "a part has other bytes".to_owned())
        }
    }
}

/// Percent-decodes; `None` if an escape is malformed.
fn percent_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    Some(out)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Request;
    use crate::transport::Transport;

    struct Nobody;

    impl Transport for Nobody {
        fn exchange(&self, _: &Request) -> Result<Response, String> {
            Err("nobody there".to_owned())
        }
    }

    fn now() -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        date::format(i64::try_from(now.as_secs()).unwrap())
    }

    fn response(status: u16, fields: &[(&str, &str)], content: &str) -> Response {
        let mut all = vec![("date".to_owned(), now().into_bytes())];
        for (name, value) in fields {
            all.push(((*name).to_owned(), value.as_bytes().to_vec()));
        }
        Response {
            status,
            fields: all,
            content: content.as_bytes().to_vec(),
        }
    }

    /// `part` must occur in the first problem; empty means that there is none.
    fn judge(response: &Response, expect: &Expectation, part: &str) {
        let facts = Facts::new(&Nobody);
        let circumstances = Circumstances {
            headless: false,
            may_leave_root: false,
            facts: &facts,
        };
        let problems = check(response, expect, &circumstances);
        match problems.first() {
            None => assert!(part.is_empty(), "{response} passed instead of {part}"),
            Some(first) => {
                assert!(
                    !part.is_empty() && first.contains(part),
                    "{problems:?}, not {part}"
                );
            }
        }
    }

    #[test]
    fn shapes_that_every_answer_has() {
        let ok = Expectation::status(200);
        judge(&response(200, &[], ""), &ok, "");
        judge(&response(204, &[], ""), &ok, "status 204");
        judge(&response(200, &[("date", "x")], ""), &ok, "more than once");
        judge(
            &response(200, &[("etag", "W/\"x\"")], ""),
            &ok,
            "not an entity tag",
        );
        judge(
            &response(200, &[("etag", "x")], ""),
            &ok,
            "not an entity tag",
        );
        judge(
            &response(200, &[("last-modified", "x")], ""),
            &ok,
            "malformed",
        );
        let late = date::format(4_000_000_000);
        judge(
            &response(200, &[("last-modified", &late)], ""),
            &ok,
            "later than Date",
        );
        judge(&response(200, &[], &format!("x{SECRET}y")), &ok, "SECRET");
        let undated = Response {
            status: 200,
            fields: Vec::new(),
            content: Vec::new(),
        };
        judge(&undated, &ok, "Date");
        judge(
            &response(206, &[], ""),
            &Expectation::status(206),
            "without Content-Range",
        );
        let range = [("content-range", "bytes 0-1/9"), ("content-length", "3")];
        judge(
            &response(206, &range, "abc"),
            &Expectation::status(206),
            "does not fit",
        );
        let tagged = [("etag", "\"x\""), ("content-length", "0")];
        judge(
            &response(304, &tagged, ""),
            &Expectation::status(304),
            "content-length in a 304",
        );
        for location in ["//evil", "http://x/", "/\\x", "/a b", ""] {
            let answer = response(308, &[("location", location)], "");
            judge(&answer, &Expectation::status(308), "unsafe Location");
        }
    }

    #[test]
    fn shapes_of_errors() {
        let fields = [
            ("content-type", "text/plain; charset=utf-8"),
            ("cache-control", "no-cache"),
        ];
        judge(
            &response(404, &fields, "Not Found"),
            &Expectation::status(404),
            "",
        );
        judge(
            &response(404, &fields, ""),
            &Expectation::status(404),
            "empty or long",
        );
        judge(
            &response(404, &[], "x"),
            &Expectation::status(404),
            "not text/plain",
        );
        judge(
            &response(405, &fields, "x"),
            &Expectation::status(405),
            "Allow",
        );
        judge(
            &response(416, &fields, "x"),
            &Expectation::status(416),
            "416 without",
        );
    }

    #[test]
    fn rules_of_rows() {
        let with = |name, value| response(200, &[(name, value)], "abc");
        let ok = || Expectation::status(200);
        judge(&with("a", "b"), &ok().has("a", "b"), "");
        judge(&with("a", "b"), &ok().has("a", "c"), "instead of");
        judge(&with("a", "b"), &ok().lacks("a"), "is there");
        judge(&with("a", "b"), &ok().present("c"), "missing");
        judge(&with("vary", "x"), &ok().varies(), "does not list");
        let date = FieldRule::SameAs("date");
        judge(&with("a", "b"), &ok().rule("a", date), "not what date is");
        let differs = FieldRule::Differs("b".to_owned());
        judge(&with("a", "b"), &ok().rule("a", differs), "here too");
        for (value, charset, part) in [
            ("text/html; charset=utf-8", true, ""),
            ("text/html;charset=UTF-8", true, ""),
            ("text/html", true, "instead of"),
            ("text/html", false, ""),
            ("text/html; charset=utf-8", false, "instead of"),
            ("text/css", false, "instead of"),
        ] {
            let rule = FieldRule::MediaType(vec!["text/html"], charset);
            judge(
                &with("content-type", value),
                &ok().rule("content-type", rule),
                part,
            );
        }
        for (location, part) in [
            ("/a%20b/?q=%zz", ""),
            ("/a%20b/", "instead of"),
            ("/a%2zb/?q=%zz", "instead of"),
            ("/ab/?q=%zz", "instead of"),
        ] {
            let expect = Expectation::redirect("/a b/", Some("q=%zz"));
            judge(&response(308, &[("location", location)], ""), &expect, part);
        }
        let content = |content: &str| {
            let mut expect = ok();
            expect.content = ContentRule::Exactly(content.as_bytes().into());
            expect
        };
        judge(&response(200, &[], "abc"), &content("abc"), "");
        judge(
            &response(200, &[], "abc"),
            &content("abd"),
            "not the 3 bytes",
        );
    }
}
