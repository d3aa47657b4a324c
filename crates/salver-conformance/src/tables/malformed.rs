//! Requests that only HTTP/2 and HTTP/3 can get wrong (RFC 9113 section 8, RFC 9114 section 4).

use crate::carried::Carried;
use crate::endpoint::{Protocol, SERVER_NAME};
use crate::expect::Expectation;
use crate::fixture::Fixture;

/// What must become of such a request.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// It is malformed: the stream is reset for it, or it is answered with 400
    /// (RFC 9113 section 8.1.1, RFC 9114 section 4.1.2).
    Refused,
    /// It is odd and right.
    Answered(Expectation),
    /// The standard leaves it to the server.
    Either(Expectation),
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Malformed {
    pub(crate) name: String,
    pub(crate) section: &'static str,
    pub(crate) request: Carried,
    pub(crate) verdict: Verdict,
}

/// Every row, in the words of one protocol.
pub(crate) fn rows(fixture: &Fixture, protocol: Protocol) -> Vec<Malformed> {
    let mut rows = Rows {
        scheme: protocol.scheme(),
        whole: Expectation::whole(fixture, "ten.txt"),
        rows: Vec::new(),
    };
    rows.pseudo_fields();
    rows.names_and_values();
    rows.connection_specific();
    rows.lengths();
    rows.targets(protocol);
    rows.connect();
    rows.one_answer();
    rows.odd_but_right();
    rows.rows
}

struct Rows {
    scheme: &'static str,
    whole: Expectation,
    rows: Vec<Malformed>,
}

impl Rows {
    fn row(&mut self, section: &'static str, name: &str, request: Carried, verdict: Verdict) {
        self.rows.push(Malformed {
            name: name.to_owned(),
            section,
            request,
            verdict,
        });
    }

    fn refused(&mut self, section: &'static str, name: &str, request: Carried) {
        self.row(section, name, request, Verdict::Refused);
    }

    /// GET of a file with these pseudo-fields; those that are `None` are left out.
    fn pseudo(&self, names: &[&str]) -> Carried {
        let mut request = Carried::default();
        for name in names {
            let value = match *name {
                ":method" => "GET",
                ":scheme" => self.scheme,
                ":authority" => SERVER_NAME,
                ":path" => "/ten.txt",
                _ => "x",
            };
            request = request.with(name, value);
        }
        request
    }

    fn plain(&self) -> Carried {
        self.pseudo(&[":method", ":scheme", ":authority", ":path"])
    }

    fn of_path(&self, method: &str, path: &str) -> Carried {
        Carried::default()
            .with(":method", method)
            .with(":scheme", self.scheme)
            .with(":authority", SERVER_NAME)
            .with(":path", path)
    }

    fn pseudo_fields(&mut self) {
        let section = "RFC 9113 8.3, RFC 9114 4.3";
        for names in [
            &[":scheme", ":authority", ":path"][..],
            &[":method", ":authority", ":path"],
            &[":method", ":scheme", ":authority"],
            &[":authority"],
            &["x-nothing"],
            &[":method", ":method", ":scheme", ":authority", ":path"],
            &[":method", ":scheme", ":scheme", ":authority", ":path"],
            &[":method", ":scheme", ":authority", ":authority", ":path"],
            &[":method", ":scheme", ":authority", ":path", ":path"],
            &[":method", ":scheme", ":authority", ":path", ":status"],
            &[":method", ":scheme", ":authority", ":path", ":protocol"],
            &[":method", ":scheme", ":authority", ":path", ":unknown"],
            &[":method", ":scheme", ":authority", ":path", ":"],
            &[":method", ":scheme", ":authority", ":path", ":Method"],
            &[":method", ":scheme", ":authority", "x-before", ":path"],
            &["x-before", ":method", ":scheme", ":authority", ":path"],
        ] {
            let request = self.pseudo(names);
            self.refused(
                section,
                &format!("pseudo-fields: {}", names.join(", ")),
                request,
            );
        }
        for method in ["", "G T", "GET\0", "G\u{c9}T", "GET "] {
            let name = format!("the method '{}'", method.escape_debug());
            let request = self.of_path(method, "/ten.txt");
            self.refused(section, &name, request);
        }
    }

    fn names_and_values(&mut self) {
        let section = "RFC 9113 8.2, RFC 9114 4.2";
        for name in [
            &b"X-Upper"[..],
            b"RANGE",
            b"accepT",
            b"",
            b"a b",
            b"a\0",
            b"a\r\nb",
            b"a:b",
            b"\xc3\xa9",
            b"a(b)",
            b"a\x7f",
            b" a",
        ] {
            let shown = format!("the field name '{}'", name.escape_ascii());
            let request = self.plain().with(name, "1");
            self.refused(section, &shown, request);
        }
        // As over HTTP/1.1: RFC 9110 section 5.5 has no controls but HTAB.
        for value in [
            &b"a\0b"[..],
            b"a\nb",
            b"a\rb",
            b"a\r\nb: c",
            b"\0",
            b"a\x01b",
            b"a\x1f",
            b"\x7f",
        ] {
            let shown = format!("the field value '{}'", value.escape_ascii());
            let request = self.plain().with("x-value", value);
            self.refused(section, &shown, request);
        }
        // RFC 9113 section 8.2.1, and the grammar that RFC 9114 section 10.3 wants to be kept.
        for value in [" a", "a ", "\ta", "a\t", " "] {
            let shown = format!("white space around '{}'", value.escape_debug());
            let request = self.plain().with("x-value", value);
            self.refused(section, &shown, request);
        }
    }

    fn connection_specific(&mut self) {
        let section = "RFC 9113 8.2.2, RFC 9114 4.2";
        for (name, value) in [
            ("connection", "close"),
            ("connection", "keep-alive"),
            ("connection", "x-field"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "chunked"),
            ("transfer-encoding", "identity"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers, deflate"),
            ("te", ""),
        ] {
            let request = self.plain().with(name, value);
            self.refused(section, &format!("{name}: {value}"), request);
        }
    }

    fn lengths(&mut self) {
        let section = "RFC 9113 8.1.1, RFC 9114 4.1.2";
        for (length, content) in [
            ("6", "hello"),
            ("4", "hello"),
            ("0", "hello"),
            ("1", ""),
            ("x", "hello"),
            ("-5", "hello"),
            ("+5", "hello"),
            ("5, 6", "hello"),
            ("", "hello"),
            ("18446744073709551621", "hello"),
            ("18446744073709551621", ""),
        ] {
            let mut request = self.plain().with("content-length", length);
            request.content = content.as_bytes().to_vec();
            let name = format!("content-length: {length} and {} bytes", content.len());
            // As in HTTP/1.1: the widest is a number, only too large.
            let verdict = if length.len() > 18 {
                Verdict::Answered(Expectation::status(413))
            } else {
                Verdict::Refused
            };
            self.row(section, &name, request, verdict);
        }
        let mut request = self.plain();
        for length in ["5", "6"] {
            request = request.with("content-length", length);
        }
        request.content = b"hello".to_vec();
        self.refused(section, "two content-lengths that differ", request);
    }

    fn targets(&mut self, protocol: Protocol) {
        let section = "RFC 9113 8.3.1, RFC 9114 4.3.1";
        for path in [
            "",
            "ten.txt",
            "?query",
            "#fragment",
            "*",
            "http://salver.test/ten.txt",
            "\\ten.txt",
            " /ten.txt",
            "/ten.txt ",
            "/ten.txt\0",
            "/ten.txt#fragment",
        ] {
            let name = format!(":path '{}'", path.escape_debug());
            let request = self.of_path("GET", path);
            self.refused(section, &name, request);
        }
        for authority in [
            "user@salver.test",
            "user:password@salver.test",
            "a b",
            "a/b",
        ] {
            let request = self
                .pseudo(&[":method", ":scheme"])
                .with(":authority", authority)
                .with(":path", "/ten.txt");
            self.refused(section, &format!(":authority '{authority}'"), request);
        }
        let request = self.plain().with("host", "other.example");
        self.refused(section, ":authority and another host", request);
        let request = self.plain().with("host", SERVER_NAME).with("host", "b");
        self.refused(section, "host twice", request);
        // A scheme with a mandatory authority needs one of them: only RFC 9114 says so.
        let verdict = if protocol == Protocol::Http3 {
            Verdict::Refused
        } else {
            Verdict::Either(self.whole.clone())
        };
        let request = self.pseudo(&[":method", ":scheme", ":path"]);
        self.row(
            section,
            "neither :authority nor host",
            request,
            verdict.clone(),
        );
        let request = self
            .pseudo(&[":method", ":scheme"])
            .with(":authority", "")
            .with(":path", "/ten.txt");
        self.row(section, "an empty :authority", request, verdict);
    }

    fn connect(&mut self) {
        let section = "RFC 9113 8.5, RFC 9114 4.4";
        let connect = || Carried::default().with(":method", "CONNECT");
        let request = connect();
        self.refused(section, "CONNECT to nowhere", request);
        let request = connect().with(":authority", "h:80").with(":path", "/");
        self.refused(section, "CONNECT with a path", request);
        let request = connect()
            .with(":scheme", self.scheme)
            .with(":authority", "h:80");
        self.refused(section, "CONNECT with a scheme", request);
    }

    /// Requests for which both protocols have one answer, by a status and not by a reset: where
    /// there is a target, the client is told what is wrong with it, as over HTTP/1.1.
    fn one_answer(&mut self) {
        let section = "RFC 9110 4.2, 9.3.6, 10.1.1";
        let bad = || Verdict::Answered(Expectation::status(400));
        for scheme in ["ftp", "", "httpx"] {
            let request = Carried::default()
                .with(":method", "GET")
                .with(":scheme", scheme)
                .with(":authority", SERVER_NAME)
                .with(":path", "/ten.txt");
            self.row(section, &format!(":scheme '{scheme}'"), request, bad());
        }
        for authority in ["h", "h:"] {
            let request = Carried::default()
                .with(":method", "CONNECT")
                .with(":authority", authority);
            let name = format!("CONNECT to '{authority}', without a port");
            self.row(section, &name, request, bad());
        }
        for (expect, verdict) in [
            ("100-continue, 100-continue", self.whole.clone()),
            ("100-Continue", self.whole.clone()),
            ("100-continue, tea", Expectation::status(417)),
            ("tea", Expectation::status(417)),
        ] {
            let request = self.plain().with("expect", expect);
            let name = format!("expect: {expect}");
            self.row(section, &name, request, Verdict::Answered(verdict));
        }
        // Pseudo-fields are no lines, as the request line of HTTP/1.1 is none.
        let lines = |request: Carried, count| (0..count).fold(request, |all, _| all.with("a", "b"));
        let large = || Expectation::status(431);
        for (count, verdict) in [(100, self.whole.clone()), (101, large())] {
            let request = lines(self.plain(), count);
            let name = format!("{count} field lines");
            self.row("RFC 6585 5", &name, request, Verdict::Answered(verdict));
        }
        let mut request = self.plain();
        request.content = b"hello".to_vec();
        request.trailers = lines(Carried::default(), 101).fields;
        let verdict = Verdict::Answered(large());
        self.row("RFC 6585 5", "101 lines of trailers", request, verdict);
    }

    fn odd_but_right(&mut self) {
        let section = "RFC 9113 8, RFC 9114 4";
        let by_host = self
            .pseudo(&[":method", ":scheme", ":path"])
            .with("host", SERVER_NAME);
        let another_order = self.pseudo(&[":path", ":authority", ":scheme", ":method"]);
        let mut with_trailers = self.plain();
        with_trailers.content = b"hello".to_vec();
        with_trailers.trailers = vec![(b"x-check".to_vec(), b"1".to_vec())];
        let mut unsized_content = self.plain();
        unsized_content.content = b"hello".to_vec();
        for (name, request) in [
            ("te: trailers", self.plain().with("te", "trailers")),
            ("te: Trailers", self.plain().with("te", "Trailers")),
            ("host instead of :authority", by_host),
            (
                "host beside :authority",
                self.plain().with("host", SERVER_NAME),
            ),
            ("pseudo-fields in another order", another_order),
            (
                "cookies apart",
                self.plain().with("cookie", "a=b").with("cookie", "c=d"),
            ),
            ("a priority", self.plain().with("priority", "u=1, i")),
            (
                "a priority that is none",
                self.plain().with("priority", "="),
            ),
            ("an empty value", self.plain().with("x-empty", "")),
            ("trailers", with_trailers),
            ("content without a length", unsized_content),
        ] {
            let verdict = Verdict::Answered(self.whole.clone());
            self.row(section, name, request, verdict);
        }
        // RFC 9113 section 8.1: a pseudo-field in trailers makes the request malformed.
        let mut request = self.plain();
        request.content = b"hello".to_vec();
        request.trailers = vec![(b":path".to_vec(), b"/".to_vec())];
        self.refused(
            "RFC 9113 8.1, RFC 9114 4.3",
            "a pseudo-field in trailers",
            request,
        );
    }
}
