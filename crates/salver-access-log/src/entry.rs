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

/// The part of a line that a request has, made by [`Producer::draft`](crate::Producer::draft) when it comes: its texts
/// are read while they are at hand, and need not be kept. It may be used for one request after the other.
#[derive(Debug, Default)]
pub struct Draft {
    pub(crate) text: Vec<u8>,
    /// Where what the response has goes in between.
    pub(crate) mark: usize,
    pub(crate) request_id: RequestId,
}

impl Draft {
    /// Empties the draft. Of an empty one no line is made.
    pub fn clear(&mut self) {
        self.text.clear();
        self.mark = 0;
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// True if nothing was drafted.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The bytes of memory that it keeps.
    pub fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// The text before and behind the response's.
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        self.text.split_at_checked(self.mark).unwrap_or_default()
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
