//! Requests that are refused, whole as far as their mistake.

use crate::driver::events;
use salver_http1::Limits;

/// Bytes, and the status of the refusal.
pub(crate) const REFUSED: &[(&[u8], u16)] = &[
    // The request line.
    (b"GET /\r\n", 400),
    (b"GET\r\n\r\n", 400),
    (b"GET \r\n\r\n", 400),
    (b"GET HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    (b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"   \r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\rHost: a\r\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
    (b"GET x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET ?x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET http://a:x/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/11\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/01.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
    (b"GET / FTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    (b"GET / HTTP/0.9\r\n\r\n", 505),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03\r\n\r\n", 400),
    (
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA /\r\n\r\n",
        501,
    ),
    (b"\n\n\n\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // The field section.
    (b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n \r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", 400),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n12345",
        400,
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX\tY: z\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX(: y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\n[X]: y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xbc: y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\n\x00: y\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\x00\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\x01z\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\x7f\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nX: \ry\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n", 400),
    // Host.
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.2\r\n\r\n", 400),
    (b"GET http://a/ HTTP/1.1\r\n\r\n", 400),
    (b"GET http://a/ HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    (b"OPTIONS * HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: \r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: http://a/\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a/\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a#b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n", 400),
    (b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    (b"GET / HTTP/1.0\r\nHost: a b\r\n\r\n", 400),
    // Framing.
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,6\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length:\r\n\r\n12345",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
        413,
    ),
    (
        b"POST / HTTP/1.0\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        413,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n",
        413,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n",
        413,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
          0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n\
          0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nContent-Length: 0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        501,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        501,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        501,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        501,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\
          \r\n0\r\n\r\n",
        501,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\
          Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    (
        b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: x\r\n\r\n",
        400,
    ),
    // Expect.
    (b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\n\r\n",
        417,
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 5\r\n\r\n12345",
        417,
    ),
    // What is judged first where several things are wrong.
    (b"GET * HTTP/2.0\r\nHost : a\r\n\r\n", 505),
    (b"GET * HTTP/1.1\r\nHost : a\r\nExpect: x\r\n\r\n", 400),
    (
        b"GET / HTTP/1.1\r\nTransfer-Encoding: x\r\nExpect: x\r\n\r\n",
        400,
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nExpect: x\r\n\r\n",
        501,
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\nExpect: x\r\n\r\n",
        413,
    ),
];

/// Chunked bodies that are refused after their head was accepted.
pub(crate) const REFUSED_BODIES: &[(&[u8], u16)] = &[
    (b"\r\n0\r\n\r\n", 400),
    (b"x\r\n", 400),
    (b" 0\r\n\r\n", 400),
    (b"0 \r\n\r\n", 400),
    (b"0\n\n", 400),
    (b"0x1\r\n.\r\n0\r\n\r\n", 400),
    (b"1;\r\n.\r\n0\r\n\r\n", 400),
    (b"1;a\n.\r\n0\r\n\r\n", 400),
    (b"1\r\n..\r\n0\r\n\r\n", 400),
    (b"1\r\n.0\r\n\r\n", 400),
    (b"10000000000000000\r\n", 400),
    (b"ffffffffffffffff\r\n", 413),
    (b"100001\r\n", 413),
    (b"1\r\n.\r\n100000\r\n", 413),
    (b"0\r\n X: y\r\n\r\n", 400),
    (b"0\r\nX : y\r\n\r\n", 400),
    (b"0\r\nX: y\n\r\n", 400),
    (b"0\r\n\rx", 400),
];

pub(crate) const CHUNKED_HEAD: &[u8] =
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn are_refused() {
    for (input, status) in REFUSED {
        let actual = events(&Limits::default(), &[input]);
        assert_eq!(actual, [status.to_string()], "{}", input.escape_ascii());
    }
}

#[test]
fn bodies_are_refused() {
    for (body, status) in REFUSED_BODIES {
        let actual = events(&Limits::default(), &[CHUNKED_HEAD, body]);
        assert_eq!(
            actual,
            ["Post / chunked", &status.to_string()],
            "{}",
            body.escape_ascii()
        );
    }
}

#[test]
fn limits_are_kept() {
    let limits = Limits::default();
    for (length, expected) in [(limits.max_target, "Get /"), (limits.max_target + 1, "414")] {
        let target = format!("/{}", "x".repeat(length - 1));
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        let actual = events(&limits, &[request.as_bytes()]);
        assert!(
            actual.len() == 1 && actual[0].starts_with(expected),
            "{length}"
        );
    }
    let fill = |length: usize| {
        let head = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
        head.replace("X: ", &format!("X: {}", "x".repeat(length - head.len())))
    };
    assert_eq!(
        events(&limits, &[fill(limits.max_head).as_bytes()]),
        ["Get /"]
    );
    assert_eq!(
        events(&limits, &[fill(limits.max_head + 1).as_bytes()]),
        ["431"]
    );
}
