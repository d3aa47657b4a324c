//! Tests of requests.

use super::*;

type Lines<'a> = &'a [(&'a str, &'a str)];

fn head(lines: Lines<'_>) -> Head {
    let mut head = Head::default();
    head.add(
        &Limits::default(),
        Line {
            name: b"left-over",
            value: b"",
            valid: true,
        },
    );
    head.clear();
    for (name, value) in lines {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        let valid = !value.contains(&0);
        head.add(&Limits::default(), Line { name, value, valid });
    }
    head
}

const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a.example"),
    (":path", "/a?b"),
];

fn with<'a>(more: Lines<'a>) -> Vec<(&'a str, &'a str)> {
    GET.iter().chain(more).copied().collect()
}

#[test]
fn a_request_and_its_fields() {
    let lines = with(&[
        ("accept-encoding", "br"),
        ("user-agent", "x"),
        ("accept-encoding", "gzip"),
        ("range", "bytes=0-1"),
        ("te", "trailers"),
        ("priority", "u=1"),
        ("priority", "i"),
        ("content-length", "7"),
    ]);
    let head = head(&lines);
    let request = head.request().unwrap();
    assert_eq!((request.method, &*request.path), (Method::Get, &b"/a"[..]));
    assert_eq!(request.query.as_deref(), Some(&b"b"[..]));
    assert_eq!(
        request.fields.accept_encoding.as_deref(),
        Some(&b"br, gzip"[..])
    );
    assert_eq!(request.fields.range.as_deref(), Some(&b"bytes=0-1"[..]));
    assert_eq!((request.refusal, head.content_length()), (None, Some(7)));
    let priority = head.priority();
    assert_eq!((priority.urgency, priority.incremental), (1, true));
    assert_eq!(request.clone().into_owned(), request);
}

#[test]
fn malformed() {
    for more in [
        &[(":method", "GET")][..],
        &[(":path", "/")],
        &[(":scheme", "https")],
        &[(":authority", "a.example")],
        &[(":status", "200")],
        &[(":protocol", "websocket")],
        &[("x", "y"), (":unknown", "")],
        &[("x", "\0")],
        &[("connection", "close")],
        &[("proxy-connection", "close")],
        &[("keep-alive", "1")],
        &[("transfer-encoding", "chunked")],
        &[("upgrade", "h2c")],
        &[("te", "gzip")],
        &[("te", "trailers, deflate")],
        &[("content-length", "")],
        &[("content-length", "+1")],
        &[("content-length", "1"), ("content-length", "1")],
    ] {
        assert_eq!(head(&with(more)).request(), Err(Malformed), "{more:?}");
    }
    for missing in [0, 1, 3] {
        let mut lines = GET.to_vec();
        lines.remove(missing);
        assert_eq!(head(&lines).request(), Err(Malformed), "{lines:?}");
    }
    for (place, value) in [
        (0, ""),
        (0, "G T"),
        (3, ""),
        (3, "a"),
        (3, "*"),
        (3, "?"),
        (3, "http://a/b"),
    ] {
        let mut lines = GET.to_vec();
        lines[place].1 = value;
        assert_eq!(head(&lines).request(), Err(Malformed), "{lines:?}");
    }
    let late = [("x", "y"), GET[0], GET[1], GET[2], GET[3]];
    assert_eq!(head(&late).request(), Err(Malformed));
    for lines in [
        &[(":method", "CONNECT")][..],
        &[
            (":method", "CONNECT"),
            (":authority", "a:1"),
            (":path", "/"),
        ],
        &[
            (":method", "CONNECT"),
            (":authority", "a:1"),
            (":scheme", "https"),
        ],
    ] {
        assert_eq!(head(lines).request(), Err(Malformed), "{lines:?}");
    }
}

#[test]
fn refused_with_a_status() {
    let long = format!("/{}", "a".repeat(8 << 10));
    let large = "a".repeat(16 << 10);
    let many = vec![("x", ""); 100];
    #[track_caller]
    fn check(lines: Lines<'_>, status: u16) {
        let head = head(lines);
        let refusal = head.request().unwrap().refusal;
        assert_eq!(refusal.map(|(status, _)| status), Some(status), "{lines:?}");
    }
    let change = |place: usize, value| {
        let mut lines = GET.to_vec();
        lines[place].1 = value;
        lines
    };
    check(&change(3, &long), 414);
    check(&change(1, "ftp"), 400);
    check(&change(1, ""), 400);
    for authority in ["a", "a:", "a:0x"] {
        check(&[(":method", "CONNECT"), (":authority", authority)], 400);
    }
    check(&with(&[("expect", "100-continue, x")]), 417);
    check(&with(&[("x", &large)]), 431);
    check(&with(&many), 431);
    check(&with(&[("expect", "x")]), 417);
    check(&with(&[("host", "b.example")]), 400);
    check(&with(&[("host", "a.example"), ("host", "a.example")]), 400);
    for name in ["", "a b", "u@a.example", "a,b"] {
        check(&change(2, name), 400);
    }
    for path in ["/a b", "/#a", "/a?b#c", "/\t", "/\x7f"] {
        check(&change(3, path), 400);
    }
    check(&[GET[0], GET[1], GET[3]], 400);
}

#[test]
fn what_is_allowed_beside_the_usual() {
    let host = [GET[0], GET[1], GET[3], ("host", "a.example:80")];
    assert_eq!(head(&host).request().unwrap().refusal, None);
    assert_eq!(
        head(&with(&[("host", "A.example")]))
            .request()
            .unwrap()
            .refusal,
        None
    );
    let star = [(":method", "OPTIONS"), GET[1], GET[2], (":path", "*")];
    assert_eq!(&*head(&star).request().unwrap().path, b"*");
    let connect = [(":method", "CONNECT"), (":authority", "a:1")];
    assert_eq!(head(&connect).request().unwrap().method, Method::Connect);
    let expect = head(&with(&[("expect", "100-Continue")]));
    assert!(expect.request().is_ok() && expect.expects_continue);
    let twice = head(&with(&[("expect", "100-continue, 100-continue")]));
    assert!(twice.request().is_ok() && twice.expects_continue);
    let huge = head(&with(&[("content-length", "99999999999999999999")]));
    assert!(huge.request().is_ok() && huge.content_length() == Some(u64::MAX));
    assert!(head(&[("x", "y")]).is_trailers());
    assert!(!head(&[(":path", "/")]).is_trailers() && !head(&[("x", "\0")]).is_trailers());
}
