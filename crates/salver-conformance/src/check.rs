//! Judges an answer by its shape and by its row.

use crate::expect::{ContentRule, Expectation, FieldRule};
use crate::facts::Circumstances;
use crate::multipart;
use crate::response::Response;
use crate::shape::invariants;

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

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;
    use crate::date;
    use crate::exchange::Request;
    use crate::facts::Facts;
    use crate::fixture::SECRET;
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
            &response(
                206,
                &[
                    ("etag", "W/\"x\""),
                    ("content-length", "1"),
                    ("content-range", "bytes 0-0/20000000"),
                ],
                "x",
            ),
            &Expectation::status(206),
            "",
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
