use super::*;
use crate::address::AddressText;
use crate::entry::{Draft, LINE_AT_MOST, Protocol};
use crate::request_id::RequestId;
use crate::trace_context::TraceParent;
use proptest::prelude::*;
use salver_semantics::CacheState;
use serde_json::Value;
use std::time::Duration;

const TRACE: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A request and its response.
#[derive(Clone, Copy)]
struct Entry<'a> {
    request: LoggedRequest<'a>,
    response: LoggedResponse<'a>,
}

/// An entry with all that an entry can have.
fn full(client: &AddressText) -> Entry<'_> {
    Entry {
        request: LoggedRequest {
            client,
            user: b"jane",
            host: b"example.org",
            method: b"GET",
            path: b"/app.js",
            query: Some(b"v=1"),
            protocol: Protocol::Http2,
            started: Duration::new(1_795_355_739, 123_456_789),
            request_id: RequestId::from_u128(0xabc),
            trace: TraceParent::parse(TRACE),
            referer: b"https://example.org/",
            user_agent: b"curl/8.14.1",
        },
        response: LoggedResponse {
            status: 200,
            sent: 1024,
            duration: Duration::from_micros(1_234_567),
            coding: "br",
            cache: Some(CacheState::Hit),
            site: b"main",
        },
    }
}

fn none(client: &AddressText) -> Entry<'_> {
    Entry {
        request: LoggedRequest {
            user: b"",
            host: b"",
            method: b"",
            path: b"",
            query: None,
            protocol: Protocol::Http11,
            trace: None,
            referer: b"",
            user_agent: b"",
            ..full(client).request
        },
        response: LoggedResponse {
            status: 400,
            sent: 0,
            duration: Duration::ZERO,
            coding: "",
            cache: None,
            site: b"",
        },
    }
}

fn line(format: Format, entry: &Entry<'_>) -> String {
    let (mut draft, mut out) = (Draft::default(), Vec::new());
    let second = RenderedSecond::new(entry.request.started);
    draft.keep(&entry.request);
    let kept = draft.request().unwrap();
    format.write(&kept, &entry.response, &second, &mut out);
    String::from_utf8(out).unwrap()
}

fn client() -> AddressText {
    AddressText::new("2001:db8::1".parse().unwrap())
}

#[test]
fn lines_of_text() {
    let client = client();
    let check = |format, entry: &Entry<'_>, expected: &str| {
        assert_eq!(line(format, entry), format!("{expected}\n"));
    };
    let full = full(&client);
    let common = "2001:db8::1 - jane [22/Nov/2026:13:55:39 +0000] \
                  \"GET /app.js?v=1 HTTP/2.0\" 200 1024";
    check(Format::Common, &full, common);
    let combined = format!("{common} \"https://example.org/\" \"curl/8.14.1\"");
    check(Format::Combined, &full, &combined);
    let id = "00000000000000000000000000000abc";
    let extended = format!("{combined} example.org 1.234567 br hit {id}");
    check(Format::Extended, &full, &extended);
    let none = none(&client);
    let common = "2001:db8::1 - - [22/Nov/2026:13:55:39 +0000] \"-\" 400 0";
    check(Format::Common, &none, common);
    check(Format::Combined, &none, &format!("{common} \"-\" \"-\""));
    let extended = format!("{common} \"-\" \"-\" - 0.000000 - - {id}");
    check(Format::Extended, &none, &extended);
    // An empty query is not none, and a hostile target stays two words and a version.
    let hostile = Entry {
        request: LoggedRequest {
            method: b"GE T",
            path: b"/ HTTP/1.1\" 200 1\r\n192.0.2.1 - -",
            query: Some(b""),
            user: b"- [01/Jan/2000:00:00:00 +0000]",
            ..full.request
        },
        response: full.response,
    };
    let expected = "2001:db8::1 - -\\x20\\x5B01\\x2FJan\\x2F2000\\x3A00\\x3A00\\x3A00\\x20+0000\\x5D \
                    [22/Nov/2026:13:55:39 +0000] \
                    \"GE\\x20T /\\x20HTTP/1.1\\x22\\x20200\\x201\\x0D\\x0A192.0.2.1\\x20-\\x20-? HTTP/2.0\" \
                    200 1024";
    check(Format::Common, &hostile, expected);
}

#[test]
fn objects_of_json() {
    let client = client();
    let read = |entry: &Entry<'_>| -> Value {
        let line = line(Format::Json, entry);
        assert!(line.ends_with("}\n") && line.is_ascii());
        serde_json::from_str(&line).unwrap()
    };
    let expected = serde_json::json!({
        "timestamp": "2026-11-22T13:55:39.123Z",
        "client": { "address": "2001:db8::1" },
        "user": { "name": "jane" },
        "server": { "address": "example.org" },
        "http": {
            "request": {
                "id": "00000000000000000000000000000abc",
                "method": "GET",
                "header": { "referer": "https://example.org/" },
            },
            "response": {
                "status_code": 200,
                "body": { "size": 1024 },
                "header": { "content-encoding": "br" },
            },
            "server": { "request": { "duration": 1.234567 } },
        },
        "url": { "path": "/app.js", "query": "v=1" },
        "network": { "protocol": { "version": "2" } },
        "user_agent": { "original": "curl/8.14.1" },
        "salver": { "cache": "hit", "site": "main" },
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "parent_id": "00f067aa0ba902b7",
    });
    assert_eq!(read(&full(&client)), expected);
    let expected = serde_json::json!({
        "timestamp": "2026-11-22T13:55:39.123Z",
        "client": { "address": "2001:db8::1" },
        "http": {
            "request": { "id": "00000000000000000000000000000abc" },
            "response": { "status_code": 400, "body": { "size": 0 } },
            "server": { "request": { "duration": 0.0 } },
        },
        "network": { "protocol": { "version": "1.1" } },
    });
    assert_eq!(read(&none(&client)), expected);
    let apart = Entry {
        request: LoggedRequest {
            query: Some(b""),
            ..full(&client).request
        },
        response: LoggedResponse {
            cache: None,
            ..full(&client).response
        },
    };
    assert_eq!(
        read(&apart)["salver"],
        serde_json::json!({ "site": "main" })
    );
    assert_eq!(
        read(&apart)["url"],
        serde_json::json!({ "path": "/app.js", "query": "" })
    );
    let apart = Entry {
        request: full(&client).request,
        response: LoggedResponse {
            site: b"",
            ..full(&client).response
        },
    };
    assert_eq!(
        read(&apart)["salver"],
        serde_json::json!({ "cache": "hit" })
    );
}

/// The paths of all members that are no objects.
fn paths(object: &Value) -> Vec<String> {
    let Some(members) = object.as_object() else {
        return vec![String::new()];
    };
    let paths = members.iter().flat_map(|(name, value)| {
        let inner = paths(value).into_iter();
        inner.map(move |inner| format!("{name}.{inner}"))
    });
    paths.collect()
}

#[test]
fn every_member_is_in_the_readme() {
    let client = client();
    let line = line(Format::Json, &full(&client));
    let paths = paths(&serde_json::from_str(&line).unwrap());
    let rows = include_str!("../../README.md").lines();
    let mut rows: Vec<&str> = rows
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut paths: Vec<&str> = paths
        .iter()
        .map(|path| path.trim_end_matches('.'))
        .collect();
    rows.sort_unstable();
    paths.sort_unstable();
    assert_eq!(rows, paths);
}

#[test]
fn the_longest_line_has_room() {
    let client = AddressText::new("1111:2222:3333:4444:5555:6666:7777:8888".parse().unwrap());
    let long = vec![0xff; 10_000];
    let text = "\u{1f600}".repeat(10_000);
    let entry = Entry {
        request: LoggedRequest {
            user: &long,
            host: &long,
            method: &long,
            path: &long,
            query: Some(&long),
            started: Duration::MAX,
            referer: &long,
            user_agent: &long,
            ..full(&client).request
        },
        response: LoggedResponse {
            status: u16::MAX,
            sent: u64::MAX,
            duration: Duration::MAX,
            coding: &text,
            site: &long,
            ..full(&client).response
        },
    };
    for format in [
        Format::Common,
        Format::Combined,
        Format::Extended,
        Format::Json,
    ] {
        let length = line(format, &entry).len();
        assert!(
            length > 4096 && length <= LINE_AT_MOST,
            "{format:?}: {length}"
        );
    }
}

/// Fields of what a stranger sends that are likely to break something.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let odd = "[\" \\\\\r\n\t\\[\\]-]{0,12}".prop_map(String::into_bytes);
    let line =
        Just(b"\" 200 1\n192.0.2.9 - - [01/Jan/2000:00:00:00 +0000] \"GET / HTTP/1.1".to_vec());
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    let letters = any::<String>().prop_map(String::into_bytes);
    prop_oneof![odd, line, bytes, letters]
}

/// The parts of a line of Combined as a simple program reads them: words up to the date, and what stands in
/// quotes.
fn parts(line: &str) -> Option<Vec<&str>> {
    let line = line.strip_suffix('\n')?;
    let (client, rest) = line.split_once(" - ")?;
    let (user, rest) = rest.split_once(" [22/Nov/2026:13:55:39 +0000] \"")?;
    let (request, rest) = rest.split_once("\" ")?;
    let (status, rest) = rest.split_once(' ')?;
    let (sent, rest) = rest.split_once(" \"")?;
    let (referer, rest) = rest.split_once("\" \"")?;
    let agent = rest.strip_suffix('"')?;
    Some(vec![client, user, request, status, sent, referer, agent])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_line_is_forged(
        texts in prop::collection::vec(hostile(), 8),
        query in prop::option::of(hostile()),
    ) {
        let client = client();
        let entry = Entry { request: LoggedRequest { user: &texts[0], host: &texts[1], method: &texts[2], path: &texts[3], query: query.as_deref(), referer: &texts[4], user_agent: &texts[5], ..full(&client).request }, response: LoggedResponse { site: &texts[6], ..full(&client).response } };
        for format in [Format::Common, Format::Combined, Format::Extended, Format::Json] {
            let line = line(format, &entry);
            prop_assert!(line.len() <= LINE_AT_MOST && line.is_ascii());
            let controls = line.bytes().filter(u8::is_ascii_control);
            prop_assert_eq!(controls.count(), 1, "{:?}", line);
        }
        let combined = line(Format::Combined, &entry);
        let parts = parts(&combined);
        prop_assert!(parts.is_some(), "{:?}", combined);
        let parts = parts.unwrap();
        prop_assert!(parts.iter().all(|part| !part.contains('"')), "{:?}", combined);
        prop_assert_eq!((parts[0], parts[3], parts[4]), ("2001:db8::1", "200", "1024"));
        prop_assert!(!parts[1].contains(' '));
        let words = parts[2].split(' ').count();
        prop_assert_eq!(words, if entry.request.method.is_empty() { 1 } else { 3 });
        let words = line(Format::Extended, &entry).split(' ').count();
        prop_assert_eq!(words, combined.split(' ').count() + 5);
        let object: Value = serde_json::from_str(&line(Format::Json, &entry)).unwrap();
        let agent = object["user_agent"]["original"].as_str().unwrap_or_default();
        prop_assert_eq!(agent, String::from_utf8_lossy(entry.request.user_agent));
    }
}
