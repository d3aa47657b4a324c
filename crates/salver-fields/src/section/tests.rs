use super::*;

type Line<'a> = (&'a str, &'a str);

const GET: [Line<'static>; 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a.example"),
    (":path", "/a?b"),
];

const CONNECT: [Line<'static>; 2] = [(":method", "CONNECT"), (":authority", "a:1")];

/// A section of these lines, which was used before.
fn section(lines: &[Line<'_>]) -> FieldSection {
    let mut section = FieldSection::default();
    let limits = RequestLimits::default();
    section.add(&limits, FieldLine::new(b"Left-Over", b""));
    section.clear();
    for (name, value) in lines {
        section.add(&limits, FieldLine::new(name.as_bytes(), value.as_bytes()));
    }
    section
}

/// GET with more lines behind.
fn with<'a>(more: &[Line<'a>]) -> Vec<Line<'a>> {
    [&GET[..], more].concat()
}

/// GET with another value of one pseudo-field, or without it.
fn changed<'a>(name: &'a str, value: Option<&'a str>) -> Vec<Line<'a>> {
    let change = |line: &Line<'a>| match value {
        Some(value) if line.0 == name => Some((name, value)),
        None if line.0 == name => None,
        _ => Some(*line),
    };
    GET.iter().filter_map(change).collect()
}

#[test]
fn a_request_and_its_fields() {
    let section = section(&with(&[
        ("accept-encoding", "br"),
        ("user-agent", "x"),
        ("accept-encoding", "gzip"),
        ("range", "bytes=0-1"),
        ("te", "Trailers"),
        ("host", "A.example"),
        ("priority", "u=1"),
        ("priority", "i"),
        ("content-length", "7"),
        ("expect", "100-Continue"),
    ]));
    let head = section.request().unwrap();
    assert_eq!((head.method, &*head.path), (Method::Get, &b"/a"[..]));
    assert_eq!(head.query.as_deref(), Some(&b"b"[..]));
    assert_eq!(
        head.fields.accept_encoding.as_deref(),
        Some(&b"br, gzip"[..])
    );
    assert_eq!(head.fields.range.as_deref(), Some(&b"bytes=0-1"[..]));
    assert_eq!(
        (head.priority.urgency, head.priority.incremental),
        (1, true)
    );
    assert_eq!(
        (head.content_length, head.expects_continue),
        (Some(7), true)
    );
    assert_eq!(head.lines.iter().count(), 0);
    assert_eq!(head.clone().into_owned(), head);
}

#[test]
fn all_lines_are_kept_for_a_program() {
    let lines = with(&[("x", "y"), ("accept-encoding", "br"), ("x", "")]);
    let mut section = FieldSection::default();
    section.keep_lines(true);
    section.clear();
    let limits = RequestLimits::default();
    for (name, value) in &lines {
        section.add(&limits, FieldLine::new(name.as_bytes(), value.as_bytes()));
    }
    let head = section.request().unwrap();
    let expected = lines
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    assert!(head.lines.iter().eq(expected));
    assert_eq!(head.fields.accept_encoding.as_deref(), Some(&b"br"[..]));
    assert_eq!(head.clone().into_owned(), head);
}

#[test]
fn targets() {
    #[track_caller]
    fn check(lines: &[Line<'_>], path: &str, query: Option<&str>) {
        let section = section(lines);
        let head = section.request().unwrap();
        let expected = (path.as_bytes(), query.map(str::as_bytes));
        assert_eq!((&*head.path, head.query.as_deref()), expected, "{lines:?}");
    }
    for (target, path, query) in [
        ("/", "/", None),
        ("//a/../%2e", "//a/../%2e", None),
        ("/a?b?c", "/a", Some("b?c")),
        ("/\u{e9}?", "/\u{e9}", Some("")),
    ] {
        check(&changed(":path", Some(target)), path, query);
    }
    let options = [(":method", "OPTIONS"), GET[1], GET[2], (":path", "*")];
    check(&options, "*", None);
    check(&CONNECT, "*", None);
    let by_host = [GET[0], GET[1], GET[3], ("host", "a.example:80")];
    check(&by_host, "/a", Some("b"));
}

#[test]
fn malformed_requests() {
    #[track_caller]
    fn check(lines: &[Line<'_>]) {
        let request = section(lines).request().map(drop);
        assert!(
            matches!(request, Err(Rejection::Malformed(_))),
            "{lines:?}: {request:?}"
        );
    }
    for more in [
        &[(":method", "GET")][..],
        &[(":path", "/")],
        &[(":scheme", "https")],
        &[(":authority", "a.example")],
        &[(":status", "200")],
        &[(":protocol", "websocket")],
        &[(":", "")],
        &[("x", "y"), (":unknown", "")],
        &[("A", "b")],
        &[("", "b")],
        &[("x", "\0")],
        &[("x", " y")],
        &[("connection", "close")],
        &[("te", "gzip")],
        &[("content-length", "")],
        &[("content-length", "+1")],
        &[("content-length", "1"), ("content-length", "1")],
        // What is malformed is not made good by what a status says before.
        &[("expect", "tea"), ("connection", "close")],
    ] {
        check(&with(more));
    }
    for missing in [":method", ":scheme", ":path"] {
        check(&changed(missing, None));
    }
    for method in ["", "G T", "G\u{e9}T"] {
        check(&changed(":method", Some(method)));
    }
    for path in ["", "a", "*", "?", "#a", "http://a/b"] {
        check(&changed(":path", Some(path)));
    }
    check(&[("x", "y"), GET[0], GET[1], GET[2], GET[3]]);
    check(&CONNECT[..1]);
    check(&[CONNECT[0], CONNECT[1], (":path", "/")]);
    check(&[CONNECT[0], CONNECT[1], (":scheme", "https")]);
    check(&[(":method", "OPTIONS"), GET[1], GET[2], (":path", "*?")]);
}

#[test]
fn refused_with_a_status() {
    #[track_caller]
    fn check(lines: &[Line<'_>], expected: u16) {
        match section(lines).request() {
            Err(Rejection::Refused(Refusal { status, .. })) => assert_eq!(status, expected),
            other => panic!("{lines:?}: {other:?}"),
        }
    }
    let long = format!("/{}", "a".repeat(8 << 10));
    check(&changed(":path", Some(&long)), 414);
    for scheme in ["ftp", "", "httpx"] {
        check(&changed(":scheme", Some(scheme)), 400);
    }
    for path in ["/a b", "/#a", "/a?b#c", "/a\tb"] {
        check(&changed(":path", Some(path)), 400);
    }
    check(&changed(":authority", None), 400);
    for name in ["", "a b", "u@a.example", "a,b"] {
        check(&changed(":authority", Some(name)), 400);
    }
    for authority in ["a", "a:", "a:0x"] {
        check(&[CONNECT[0], (":authority", authority)], 400);
    }
    check(&with(&[("host", "b.example")]), 400);
    check(&with(&[("host", "a.example"), ("host", "a.example")]), 400);
    check(&with(&[("expect", "x")]), 417);
    check(&with(&[("expect", "100-continue, x")]), 417);
    check(&with(&[("content-length", "1048577")]), 413);
    check(&with(&[("content-length", "99999999999999999999")]), 413);
}

#[test]
fn sections_that_are_too_large() {
    #[track_caller]
    fn check(lines: &[Line<'_>], expected: Option<u16>) {
        let status = match section(lines).request() {
            Ok(_) => None,
            Err(Rejection::Refused(refusal)) => Some(refusal.status),
            Err(Rejection::Malformed(reason)) => panic!("{reason}"),
        };
        assert_eq!(status, expected);
    }
    let large = "a".repeat(16 << 10);
    check(&with(&[("x", &large)]), Some(431));
    // Whatever would follow: it is not looked at.
    check(&with(&[("x", &large), ("connection", "close")]), Some(431));
    check(&[(":path", &large)], Some(431));
    // Pseudo-fields do not count among the lines.
    check(&with(&[("x", ""); 100]), None);
    check(&with(&[("x", ""); 101]), Some(431));
    // By default 16 KiB: four lines that have 50 bytes, and this one.
    let left = (16 << 10) - (50 + 4 * 32) - 33;
    check(&with(&[("x", &"a".repeat(left))]), None);
    check(&with(&[("x", &"a".repeat(left + 1))]), Some(431));
}

#[test]
fn the_method_is_known_whatever_is_wrong() {
    for lines in [
        &[(":method", "HEAD")][..],
        &[("A", "b"), (":method", "HEAD")],
        &[(":path", "a"), (":method", "HEAD"), ("te", "gzip")],
    ] {
        let section = section(lines);
        assert_eq!(section.method(), Some(Method::Head), "{lines:?}");
        assert!(section.request().is_err());
    }
    assert_eq!(section(&[("x", "y")]).method(), None);
}

#[test]
fn trailers() {
    assert_eq!(section(&[("x", "y")]).check_trailers(), Ok(()));
    for lines in [
        &[(":path", "/")][..],
        &[(":method", "GET")],
        &[("x", "\0")],
        &[("x", "y"), (":scheme", "http")],
        &[("connection", "close")],
    ] {
        let checked = section(lines).check_trailers();
        assert!(matches!(checked, Err(Rejection::Malformed(_))), "{lines:?}");
    }
    let large = "a".repeat(16 << 10);
    let checked = section(&[("x", &large)]).check_trailers();
    assert!(matches!(checked, Err(Rejection::Refused(refusal)) if refusal.status == 431));
}

#[test]
fn an_extended_connect_is_one_where_it_has_been_offered() {
    let read = |takes_protocol: bool, lines: &[Line<'_>]| {
        let mut section = FieldSection::default();
        section.take_protocol(takes_protocol);
        section.clear();
        let limits = RequestLimits::default();
        for (name, value) in lines {
            section.add(&limits, FieldLine::new(name.as_bytes(), value.as_bytes()));
        }
        let head = section.request();
        let found = head.map(|head| {
            (
                head.method,
                head.path.into_owned(),
                head.authority.into_owned(),
            )
        });
        (found, section.check_trailers().is_ok())
    };
    let protocol = [(":protocol", "websocket")];
    let whole = [&changed(":method", Some("CONNECT"))[..], &protocol].concat();
    let expected = (Method::Connect, b"/a".to_vec(), b"a.example".to_vec());
    assert_eq!(read(true, &whole), (Ok(expected), false));
    let malformed = |takes_protocol: bool, lines: &[Line<'_>]| {
        let (found, _) = read(takes_protocol, lines);
        assert!(
            matches!(found, Err(Rejection::Malformed(_))),
            "{lines:?}: {found:?}"
        );
    };
    malformed(false, &whole);
    malformed(true, &[&whole[..], &protocol].concat());
    malformed(true, &with(&protocol));
    malformed(true, &[&CONNECT[..], &protocol].concat());
    malformed(true, &changed(":method", Some("CONNECT")));
    malformed(
        true,
        &[
            &changed(":method", Some("CONNECT"))[..],
            &[(":protocol", "a b")],
        ]
        .concat(),
    );
    for missing in [":scheme", ":path"] {
        let without: Vec<_> = whole
            .iter()
            .filter(|(name, _)| *name != missing)
            .copied()
            .collect();
        malformed(true, &without);
    }
    let (without_port, _) = read(true, &CONNECT);
    assert!(without_port.is_ok());
    assert!(!read(true, &protocol).1, "a pseudo-field is no trailer");
}
