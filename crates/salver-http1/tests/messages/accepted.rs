//! Requests that are answered.

use crate::driver::events;
use salver_http1::Limits;

/// Bytes, and the events that they are.
pub(crate) const ACCEPTED: &[(&[u8], &[&str])] = &[
    // The least.
    (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", &["Head /"]),
    (b"OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n", &["Options /x"]),
    (b"GET / HTTP/1.0\r\n\r\n", &["Get / 1.0 close"]),
    (b"get / HTTP/1.1\r\nHost: a\r\n\r\n", &["Other /"]),
    (b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", &["Other /"]),
    (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", &["Trace /"]),
    // Versions.
    (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"GET / HTTP/1.9\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", &["Get / 1.0 close"]),
    // Targets.
    (
        b"GET /a/b?c=d&e HTTP/1.1\r\nHost: a\r\n\r\n",
        &["Get /a/b?c=d&e"],
    ),
    (b"GET /? HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /?"]),
    (
        b"GET //evil/x HTTP/1.1\r\nHost: a\r\n\r\n",
        &["Get //evil/x"],
    ),
    (b"GET /./../x HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /./../x"]),
    (b"GET /%2e%00 HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /%2e%00"]),
    (
        b"GET /\xff\xc0\xaf HTTP/1.1\r\nHost: a\r\n\r\n",
        &["Get /\\xff\\xc0\\xaf"],
    ),
    (
        b"GET http://b:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        &["Get /x?y"],
    ),
    (b"GET HTTPS://B HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"GET http://b?y HTTP/1.0\r\n\r\n", &["Get /?y 1.0 close"]),
    (
        b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        &["Options asterisk"],
    ),
    (
        b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
        &["Connect authority"],
    ),
    // Hosts.
    (b"GET / HTTP/1.1\r\nHost:a\r\n\r\n", &["Get /"]),
    (
        b"GET / HTTP/1.1\r\nHOST: \t [::1]:8080 \t \r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nX-Host: a, b\r\nhost: a\r\n\r\n",
        &["Get /"],
    ),
    // Persistence.
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        &["Get / close"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n",
        &["Get / close"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\n\r\n",
        &["Get / close"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        &["Get / 1.0"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        &["Get /"],
    ),
    // Line ends.
    (b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"\n\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", &["Get /"]),
    (b"GET / HTTP/1.1\nHost: a\n\n", &["Get /"]),
    (b"GET / HTTP/1.1\r\nHost: a\n\r\n", &["Get /"]),
    (b"GET / HTTP/1.1\nHost: a\r\n\n", &["Get /"]),
    // Fields.
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB: \r\nC:\t\r\nD: \xff\t\x80\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09: x\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nACCEPT-ENCODING: gzip\r\naccept-encoding: br;q=0\r\n\r\n",
        &["Get / accept-encoding=[gzip, br;q=0]"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\nIf-None-Match: W/\"x\"\r\n\
          If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nIf-Unmodified-Since: x\r\n\
          If-Range: \"y\"\r\nRange: bytes=0-1, -2\r\n\r\n",
        &["Get / if-match=[*] if-none-match=[W/\\\"x\\\"] \
           if-modified-since=[Sun, 06 Nov 1994 08:49:37 GMT] if-unmodified-since=[x] \
           if-range=[\\\"y\\\"] range=[bytes=0-1, -2]"],
    ),
    // Sized bodies.
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        &["Get /"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\t5 \r\n\r\n12345",
        &["Get / sized 5", "end"],
    ),
    (
        b"HEAD / HTTP/1.1\r\nHost: a\r\ncontent-length: 005\r\n\r\n12345",
        &["Head / sized 5", "end"],
    ),
    (
        b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n\r\n",
        &["Post / 1.0 close sized 2", "end"],
    ),
    (
        b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 26\r\n\r\nGET /smuggled HTTP/1.0\r\n\r\n",
        &["Put / sized 26", "end"],
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n.",
        &["Post / sized 1 continue", "end"],
    ),
    (
        b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
        &["Get /"],
    ),
    (
        b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nConnection: keep-alive\r\n\
          Content-Length: 1\r\n\r\n.",
        &["Post / 1.0 sized 1", "end"],
    ),
    // Chunked bodies.
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &["Post / chunked", "end"],
    ),
    (
        b"POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING:\tChunked \r\n\r\n\
          5;x=\"y;\"\r\n\r\n\r\n.\r\nA\r\n0123456789\r\n0\r\nContent-Length: 3\r\n\r\n",
        &["Post / chunked", "end"],
    ),
    (
        b"DELETE /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n\
          Transfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n0\r\n\r\n",
        &["Delete /x close chunked continue", "end"],
    ),
];

#[test]
fn are_answered() {
    for (input, expected) in ACCEPTED {
        let actual = events(&Limits::default(), &[input]);
        assert_eq!(actual, *expected, "{}", input.escape_ascii());
    }
}
