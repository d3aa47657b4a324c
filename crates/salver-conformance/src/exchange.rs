//! One exchange: what is sent and what must be true of the answer.

use crate::expect::Expectation;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::report::Report;
use crate::setup::Setup;

/// A request without a version: any HTTP can carry it.
///
/// Field values may hold `${etag:PATH}`, `${etag:PATH|CODING}` and `${weak:PATH}`: the entity
/// tag that the server sends for that path (and content coding), learned before the row is
/// played. Entity tags are the server's own choice and cannot stand in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, case-sensitive.
    pub method: String,
    /// Path and query as they go on the wire.
    pub target: Vec<u8>,
    /// Fields besides those that the version itself needs (Host, Content-Length).
    pub fields: Vec<(String, Vec<u8>)>,
    /// The content; empty for none.
    pub content: Vec<u8>,
}

impl Request {
    /// A request with no fields and no content.
    pub fn new(method: &str, target: impl AsRef<[u8]>) -> Self {
        Self {
            method: method.to_owned(),
            target: target.as_ref().to_vec(),
            fields: Vec::new(),
            content: Vec::new(),
        }
    }

    /// The same with one more field line.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// The same with content.
    #[must_use]
    pub fn content(mut self, content: &[u8]) -> Self {
        self.content = content.to_vec();
        self
    }

    /// The request as an HTTP/1.1 message (RFC 9112 section 2.1).
    #[must_use]
    pub fn to_http1(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.target);
        out.extend_from_slice(b" HTTP/1.1\r\nHost: salver.test\r\n");
        for (name, value) in &self.fields {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        if !self.content.is_empty() {
            let length = format!("Content-Length: {}\r\n", self.content.len());
            out.extend_from_slice(length.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.content);
        out
    }
}

/// GET of a target.
pub(crate) fn get(target: impl AsRef<[u8]>) -> Request {
    Request::new("GET", target)
}

/// HEAD of a target.
pub(crate) fn head(target: impl AsRef<[u8]>) -> Request {
    Request::new("HEAD", target)
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request that every version can carry.
    Semantic(Request),
    /// Bytes of HTTP/1.1, right or wrong.
    Raw(Vec<u8>),
}

impl Message {
    /// Whether the answer has no content whatever its fields say (RFC 9110 section 9.3.2).
    #[must_use]
    pub fn is_head(&self) -> bool {
        match self {
            Self::Semantic(request) => request.method == "HEAD",
            Self::Raw(bytes) => bytes.starts_with(b"HEAD "),
        }
    }

    /// Whether a "100 Continue" may come before the answer (RFC 9110 section 10.1.1).
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        let needle = b"expect:";
        let bytes = self.to_http1().to_ascii_lowercase();
        bytes.windows(needle.len()).any(|window| window == needle)
    }

    /// The bytes on an HTTP/1.1 connection.
    #[must_use]
    pub fn to_http1(&self) -> Vec<u8> {
        match self {
            Self::Semantic(request) => request.to_http1(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What the row shows, in a few words.
    pub name: String,
    /// The section that demands it, for example `RFC 9110 14.2`, or the part of Salver's
    /// description where no RFC speaks.
    pub section: &'static str,
    /// What is sent.
    pub message: Message,
    /// What must be true of the answer.
    pub expect: Expectation,
    /// The servers that it holds for.
    pub setups: &'static [Setup],
    /// Where it can be played.
    pub need: Option<Need>,
    /// The answer is too large to be asked for hundreds of times.
    pub heavy: bool,
}

impl Exchange {
    /// A row for the default server and its uncached twin.
    pub(crate) fn semantic(
        section: &'static str,
        name: impl Into<String>,
        request: Request,
        expect: Expectation,
    ) -> Self {
        Self {
            name: name.into(),
            section,
            message: Message::Semantic(request),
            expect,
            setups: &[Setup::Default, Setup::NoCache],
            need: None,
            heavy: false,
        }
    }

    /// A row of HTTP/1.1 bytes for the default server.
    pub(crate) fn raw(
        section: &'static str,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
        expect: Expectation,
    ) -> Self {
        Self {
            name: name.into(),
            section,
            message: Message::Raw(bytes.into()),
            expect,
            setups: &[Setup::Default],
            need: None,
            heavy: false,
        }
    }

    /// The same for other servers.
    pub(crate) fn on(mut self, setups: &'static [Setup]) -> Self {
        self.setups = setups;
        self
    }

    /// The same, only where the machine offers it.
    pub(crate) fn needs(mut self, need: Need) -> Self {
        self.need = Some(need);
        self
    }

    /// The same, played only once.
    pub(crate) fn heavy(mut self) -> Self {
        self.heavy = true;
        self
    }
}

/// True if a row belongs to the setup and can be played here; counts it either way.
pub(crate) fn is_played(
    exchange: &Exchange,
    fixture: &Fixture,
    setup: Setup,
    report: &mut Report,
) -> bool {
    if !exchange.setups.contains(&setup) {
        return false;
    }
    if exchange.need.is_some_and(|need| !fixture.offers(need)) {
        report.skipped.push(exchange.name.clone());
        return false;
    }
    report.exchanges += 1;
    true
}
