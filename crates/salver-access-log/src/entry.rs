//! The entry of a request that was answered, and how much of each text is written.

use std::time::Duration;

use salver_semantics::CacheState;

use crate::address::AddressText;
use crate::request_id::RequestId;
use crate::trace_context::TraceParent;

/// The most bytes that are written of a path, and of a query; escapes count.
pub(crate) const PATH_AT_MOST: usize = 2048;
/// The most bytes that are written of Referer.
pub(crate) const REFERER_AT_MOST: usize = 1024;
/// The most bytes that are written of User-Agent.
pub(crate) const AGENT_AT_MOST: usize = 512;
/// The most bytes that are written of a host, and of a site's name.
pub(crate) const HOST_AT_MOST: usize = 255;
/// The most bytes that are written of a user's name.
pub(crate) const USER_AT_MOST: usize = 128;
/// The most bytes that are written of a method, and of a content coding.
pub(crate) const METHOD_AT_MOST: usize = 32;

/// The longest line, its end included.
pub(crate) const LINE_AT_MOST: usize = 8 * 1024;

/// A request, by reference: nothing is kept but what a line has of it. Texts are as they came; an empty one is one
/// that there was not.
#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest<'a> {
    /// The client's address.
    pub client: &'a AddressText,
    /// The name of the user that was authenticated.
    pub user: &'a [u8],
    /// The host that was asked, with its port if one was named.
    pub host: &'a [u8],
    /// The method; empty if what came was no request. Then the request is written as `-`.
    pub method: &'a [u8],
    /// The path of the target, encoded as it came; `*`, or whatever else the target was.
    pub path: &'a [u8],
    /// What stood behind the question mark.
    pub query: Option<&'a [u8]>,
    /// The version of HTTP.
    pub protocol: Protocol,
    /// The time at which the request began to come, since 1970-01-01T00:00:00Z.
    pub started: Duration,
    /// The request's identifier.
    pub request_id: RequestId,
    /// The trace that the client said the request is part of.
    pub trace: Option<TraceParent>,
    /// The value of Referer.
    pub referer: &'a [u8],
    /// The value of User-Agent.
    pub user_agent: &'a [u8],
}

/// The response to a request, whole or as much of it as was sent.
#[derive(Clone, Copy, Debug)]
pub struct LoggedResponse<'a> {
    /// The status.
    pub status: u16,
    /// The bytes of content that were sent.
    pub sent: u64,
    /// The time from the request's beginning until the answer's last byte was given to the system, or the answer
    /// ended otherwise.
    pub duration: Duration,
    /// The content coding, such as `br`; empty for identity.
    pub coding: &'a str,
    /// How the answer was had; `None` if no cache was asked.
    pub cache: Option<CacheState>,
    /// The name of the site that answered.
    pub site: &'a [u8],
}

/// A copy of what a line tells of a request, made when it comes, so that its texts need not be kept until its answer has
/// ended. It may be used for one request after the other.
#[derive(Debug, Default)]
pub struct Draft {
    /// The texts of `KEPT`, one behind the other.
    text: Vec<u8>,
    /// Where each of them ends.
    ends: [u16; KEPT],
    /// The rest; `None` in an empty draft.
    rest: Option<Rest>,
}

/// The number of texts of a request: user, host, method, path, query, Referer and User-Agent.
const KEPT: usize = 7;

/// What a line tells of a request that is no text of the client's.
#[derive(Debug)]
struct Rest {
    client: AddressText,
    has_query: bool,
    protocol: Protocol,
    started: Duration,
    request_id: RequestId,
    trace: Option<TraceParent>,
}

impl Draft {
    /// Empties the draft. Of an empty one no line is made.
    pub fn clear(&mut self) {
        self.text.clear();
        self.rest = None;
    }

    /// The length in bytes of the texts.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// True if nothing was drafted.
    pub fn is_empty(&self) -> bool {
        self.rest.is_none()
    }

    /// The bytes of memory that it keeps for texts.
    pub fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// Keeps what a line tells of this request, and nothing of another. Of a text that is too long it has a byte more
    /// than a line has room for, so that it is seen to be cut.
    #[inline]
    pub fn keep(&mut self, request: &LoggedRequest<'_>) {
        self.text.clear();
        let texts = [
            (request.user, USER_AT_MOST),
            (request.host, HOST_AT_MOST),
            (request.method, METHOD_AT_MOST),
            (request.path, PATH_AT_MOST),
            (request.query.unwrap_or_default(), PATH_AT_MOST),
            (request.referer, REFERER_AT_MOST),
            (request.user_agent, AGENT_AT_MOST),
        ];
        for ((text, most), end) in texts.into_iter().zip(&mut self.ends) {
            if !text.is_empty() {
                let kept = text.get(..=most).unwrap_or(text);
                self.text.extend_from_slice(kept);
            }
            // All of them are shorter than a line.
            *end = u16::try_from(self.text.len()).unwrap_or(u16::MAX);
        }
        self.rest = Some(Rest {
            client: *request.client,
            has_query: request.query.is_some(),
            protocol: request.protocol,
            started: request.started,
            request_id: request.request_id,
            trace: request.trace,
        });
    }

    /// The request, as far as a line tells of it.
    #[inline]
    pub(crate) fn request(&self) -> Option<LoggedRequest<'_>> {
        let rest = self.rest.as_ref()?;
        let mut begin = 0;
        let [user, host, method, path, query, referer, user_agent] = self.ends.map(|end| {
            let end = usize::from(end);
            let text = self.text.get(begin..end);
            begin = end;
            text.unwrap_or_default()
        });
        Some(LoggedRequest {
            client: &rest.client,
            user,
            host,
            method,
            path,
            query: rest.has_query.then_some(query),
            protocol: rest.protocol,
            started: rest.started,
            request_id: rest.request_id,
            trace: rest.trace,
            referer,
            user_agent,
        })
    }
}

/// A version of HTTP, as a log names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Protocol {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

impl Protocol {
    /// The name in a request line: `HTTP/1.1`, `HTTP/2.0`.
    pub(crate) fn name(self) -> &'static [u8; 8] {
        match self {
            Protocol::Http10 => b"HTTP/1.0",
            Protocol::Http11 => b"HTTP/1.1",
            Protocol::Http2 => b"HTTP/2.0",
            Protocol::Http3 => b"HTTP/3.0",
        }
    }

    /// The version as OpenTelemetry has it: `1.1`, `2`.
    pub(crate) fn version(self) -> &'static [u8] {
        match self {
            Protocol::Http10 => b"1.0",
            Protocol::Http11 => b"1.1",
            Protocol::Http2 => b"2",
            Protocol::Http3 => b"3",
        }
    }
}
