//! The record of one request, which is counted, and becomes a line of the access log, when it is dropped.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use salver_access_log::{AddressText, CacheState, Entry, Protocol, RequestId, TraceParent};
use salver_admin::metrics::{Ended, Version};
use salver_assets::{Content, Method, Piece, ResponsePlan};
use salver_forwarded::client_address;

use super::{Lines, SPARE, SharedLog, bytes};
use crate::settings::Proxies;

/// The status of a request whose client went away before there was an answer; other servers log it as well.
const CLIENT_GONE: u16 = 499;

/// The bytes that are kept of each text: one more than a line has room for, so that it shows that some is missing.
const AT_MOST: [usize; TEXTS] = [33, 2049, 2049, 256, 1025, 513];

/// The bytes of an input in which a request line is looked for.
const LINE_AT_MOST: usize = 8 * 1024;

/// The bytes of memory that a record keeps for another request.
const KEPT: usize = 4 * 1024;

/// The number of texts of a record.
const TEXTS: usize = 6;

/// The texts of a record, in their order.
#[derive(Clone, Copy)]
enum Text {
    Method,
    Path,
    Query,
    Host,
    Referer,
    UserAgent,
}

/// The bytes of a connection that its socket has taken.
pub(crate) struct Sent(pub(super) u64);

/// The request line of a request, or what stands for it in later versions.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) path: &'a [u8],
    pub(crate) query: Option<&'a [u8]>,
}

impl<'a> RequestLine<'a> {
    /// What can be read of an input that begins with a request line, valid or not.
    pub(super) fn of(input: &'a [u8]) -> Self {
        let input = input
            .get(..LINE_AT_MOST)
            .unwrap_or(input)
            .trim_ascii_start();
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let line = input.split(is_end).next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next());
        let target = target.unwrap_or_default();
        match target.iter().position(|byte| *byte == b'?') {
            None => RequestLine {
                method,
                path: target,
                query: None,
            },
            Some(mark) => RequestLine {
                method,
                path: target.get(..mark).unwrap_or_default(),
                query: target.get(mark + 1..),
            },
        }
    }
}

/// A request that begins, as far as it is counted.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) protocol: Protocol,
    pub(crate) method: Method,
    /// The moment at which it was read, as the loop knows it: what waits for others in a turn has begun.
    pub(crate) at: Instant,
    /// The length of its content, if that is announced, in bytes.
    pub(crate) content: u64,
}

impl Begun {
    /// A request of which nothing is known but what begins its input.
    pub(super) fn unread(protocol: Protocol, method: &[u8]) -> Self {
        Begun {
            protocol,
            method: Method::from_token(method),
            at: Instant::now(),
            content: 0,
        }
    }
}

/// What is known of a request and its answer.
pub(super) struct Record {
    begun: Begun,
    status: u16,
    /// The number of the site's name.
    site: u16,
    /// The length of the answer's content, in bytes.
    length: u64,
    /// The bytes of content that were sent.
    sent: u64,
    /// The place of the last bytes of content in what the connection sends: where they begin and end.
    place: (u64, u64),
    /// What a line tells besides, if there is a log.
    line: Option<Line>,
}

/// What a line of the log tells of a request and its answer.
pub(super) struct Line {
    client: AddressText,
    id: RequestId,
    /// The moment at which it began, since 1970.
    started: Duration,
    /// The texts one after the other.
    text: Vec<u8>,
    /// The end of each.
    ends: [usize; TEXTS],
    has_query: bool,
    coding: &'static str,
    cache: Option<CacheState>,
    trace: Option<TraceParent>,
}

impl Record {
    /// The memory that it holds because of what was asked, in bytes.
    fn memory(&self) -> usize {
        size_of::<Record>() + self.line.as_ref().map_or(0, |line| line.text.len())
    }

    /// The memory that it keeps for another request, in bytes.
    fn kept(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.text.capacity())
    }
}

impl Line {
    /// The line of a request that began at this moment, with the memory of `text`.
    fn new(lines: &Lines, client: AddressText, began: Instant, mut text: Vec<u8>) -> Self {
        text.clear();
        Line {
            client,
            id: lines.next_id(),
            started: lines.unix_time(began),
            text,
            ends: [0; TEXTS],
            has_query: false,
            coding: "",
            cache: None,
            trace: None,
        }
    }

    fn text(&self, which: Text) -> &[u8] {
        let at = which as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(at).copied().unwrap_or_default();
        let start = start.copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    fn push(&mut self, which: Text, text: &[u8]) {
        // Most requests have no query and no Referer.
        if !text.is_empty() {
            let most = AT_MOST.get(which as usize).copied().unwrap_or_default();
            self.text
                .extend_from_slice(text.get(..most).unwrap_or(text));
        }
        if let Some(end) = self.ends.get_mut(which as usize) {
            *end = self.text.len();
        }
    }
}

/// The record of a request. When it is dropped the request is counted, and its line is logged.
pub(crate) struct LogRecord {
    log: Rc<SharedLog>,
    /// There until it is dropped.
    record: Option<Box<Record>>,
}

impl LogRecord {
    /// A blank record of a request that has just come.
    #[inline]
    pub(super) fn new(log: &Rc<SharedLog>, client: AddressText, begun: Begun) -> Self {
        let of_loop = &*log.log;
        if let Some(metrics) = &of_loop.metrics {
            metrics.begin(begun.method);
        }
        let lines = of_loop.lines.as_ref();
        let spare = of_loop.spare.borrow_mut().pop();
        let record = match spare {
            Some(mut spare) => {
                spare.begun = begun;
                spare.status = 0;
                spare.site = 0;
                spare.length = 0;
                spare.sent = 0;
                spare.place = (0, 0);
                if let (Some(line), Some(lines)) = (&mut spare.line, lines) {
                    let text = std::mem::take(&mut line.text);
                    *line = Line::new(lines, client, begun.at, text);
                }
                spare
            }
            None => Box::new(Record {
                begun,
                status: 0,
                site: 0,
                length: 0,
                sent: 0,
                place: (0, 0),
                line: lines.map(|lines| Line::new(lines, client, begun.at, Vec::new())),
            }),
        };
        log.hold(size_of::<Record>());
        LogRecord {
            log: Rc::clone(log),
            record: Some(record),
        }
    }

    /// Keeps what a line tells of the request. The fields of trusted proxies name its client and its identifier.
    pub(super) fn read<'a>(
        &mut self,
        line: &RequestLine<'_>,
        lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        proxy: Option<(IpAddr, &Proxies)>,
    ) {
        let Some(record) = self.record.as_mut().and_then(|record| record.line.as_mut()) else {
            return;
        };
        let (mut authority, mut host, mut referer, mut agent) = (None, None, None, None);
        let (mut traces, mut trace) = (0, None);
        let mut named: Option<Cow<'_, [u8]>> = None;
        for (name, value) in lines {
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            match name.len() {
                4 if is(b"host") => host = host.or(Some(value)),
                7 if is(b"referer") => referer = referer.or(Some(value)),
                10 if is(b":authority") => authority = Some(value),
                10 if is(b"user-agent") => agent = agent.or(Some(value)),
                11 if is(b"traceparent") => {
                    traces += 1;
                    // Two are none.
                    trace = TraceParent::parse(value).filter(|_| traces == 1);
                }
                12 if proxy.is_some() && is(b"x-request-id") => {
                    record.id = RequestId::parse(value).unwrap_or(record.id);
                }
                _ => {
                    if let Some((_, proxies)) = proxy
                        && let Some(field) = proxies.field
                        && is(field.name().as_bytes())
                    {
                        named = Some(match named {
                            None => Cow::Borrowed(value),
                            // RFC 9110 section 5.3.
                            Some(before) => Cow::Owned([&*before, b", ", value].concat()),
                        });
                    }
                }
            }
        }
        if let (Some((peer, proxies)), Some(value)) = (proxy, named)
            && let Some(field) = proxies.field
        {
            record.client = AddressText::new(client_address(peer, &proxies.trusted, field, &value));
        }
        record.trace = trace;
        record.has_query = line.query.is_some();
        for (which, text) in [
            (Text::Method, Some(line.method)),
            (Text::Path, Some(line.path)),
            (Text::Query, line.query),
            (Text::Host, authority.or(host)),
            (Text::Referer, referer),
            (Text::UserAgent, agent),
        ] {
            record.push(which, text.unwrap_or_default());
        }
        self.log.hold(record.text.len());
    }

    /// The memory of the record, in bytes.
    #[cfg(feature = "http3")]
    pub(crate) fn memory(&self) -> usize {
        self.record.as_ref().map_or(0, |record| record.memory())
    }

    /// Notes the answer, of which nothing is sent yet.
    pub(crate) fn answer(&mut self, plan: &ResponsePlan) {
        let Some(record) = &mut self.record else {
            return;
        };
        record.status = plan.status;
        record.site = plan.driver_site;
        record.length = length(&plan.content);
        if let Some(line) = &mut record.line {
            line.cache = plan.cache_state;
            line.coding = coding(plan);
        }
    }

    /// Notes that so many bytes of the content have not been sent.
    pub(crate) fn set_unsent(&mut self, unsent: u64) {
        if let Some(record) = &mut self.record {
            record.sent = record.length.saturating_sub(unsent);
        }
    }

    /// Adds bytes of content that were sent.
    #[cfg(feature = "http3")]
    pub(crate) fn add_sent(&mut self, sent: u64) {
        if let Some(record) = &mut self.record {
            record.sent = record.length.min(record.sent.saturating_add(sent));
        }
    }

    /// Notes that all of the content is sent, from this place on in what the connection sends.
    pub(super) fn follows(&mut self, start: u64) {
        if let Some(record) = &mut self.record {
            record.sent = record.length;
            record.place = (start, start.saturating_add(record.length));
        }
    }

    /// Notes where the last bytes of the content end in what the connection sends; the `unsent` bytes before that
    /// have not been sent.
    pub(super) fn ends_at(&mut self, end: u64, unsent: u64) {
        if let Some(record) = &mut self.record {
            record.place = (end.saturating_sub(unsent.min(record.sent)), end);
        }
    }

    /// Takes off the bytes that were not sent when the connection ended.
    pub(super) fn cut(&mut self, Sent(sent): Sent) {
        if let Some(record) = &mut self.record {
            let (start, end) = record.place;
            let cut = end.saturating_sub(sent.max(start));
            record.sent = record.sent.saturating_sub(cut);
        }
    }

    fn count(&self, record: &Record, duration: Duration) {
        let begun = &record.begun;
        if let Some(metrics) = &self.log.log.metrics {
            metrics.end(&Ended {
                site: usize::from(record.site),
                version: match begun.protocol {
                    Protocol::Http10 => Version::Http10,
                    Protocol::Http11 => Version::Http11,
                    Protocol::Http2 => Version::Http2,
                    Protocol::Http3 => Version::Http3,
                },
                method: begun.method,
                status: record.status,
                duration,
                request_bytes: begun.content,
                response_bytes: record.sent,
            });
        }
    }

    fn log(&self, record: &Record, duration: Duration) {
        let (Some(lines), Some(line)) = (&self.log.log.lines, &record.line) else {
            return;
        };
        let status = match record.status {
            0 => CLIENT_GONE,
            status => status,
        };
        let site = lines.site_name(record.site);
        lines.producer.borrow_mut().log(&Entry {
            client: &line.client,
            user: b"",
            host: line.text(Text::Host),
            method: line.text(Text::Method),
            path: line.text(Text::Path),
            query: line.has_query.then(|| line.text(Text::Query)),
            protocol: record.begun.protocol,
            status,
            sent: record.sent,
            started: line.started,
            duration,
            coding: line.coding,
            cache: line.cache,
            request_id: line.id,
            trace: line.trace,
            referer: line.text(Text::Referer),
            user_agent: line.text(Text::UserAgent),
            site: site.as_bytes(),
        });
    }
}

impl Drop for LogRecord {
    fn drop(&mut self) {
        let Some(record) = self.record.take() else {
            return;
        };
        let duration = Instant::now().saturating_duration_since(record.begun.at);
        self.count(&record, duration);
        self.log(&record, duration);
        self.log.release(record.memory());
        let mut spare = self.log.log.spare.borrow_mut();
        if spare.len() < SPARE && record.kept() <= KEPT {
            spare.push(record);
        }
    }
}

/// The content coding of an answer; empty for identity.
fn coding(plan: &ResponsePlan) -> &'static str {
    const KNOWN: [&str; 6] = ["br", "zstd", "gzip", "deflate", "dcb", "dcz"];
    let known = |value: &[u8]| KNOWN.into_iter().find(|known| known.as_bytes() == value);
    plan.content_coding().and_then(known).unwrap_or_default()
}

fn length(content: &Content) -> u64 {
    let of_piece = |piece: &Piece| match piece {
        Piece::Memory(content) => bytes(content.len()),
        Piece::File(file) => file.range.end - file.range.start,
    };
    match content {
        Content::Empty => 0,
        Content::Memory(content) => bytes(content.len()),
        Content::File(file) => file.range.end - file.range.start,
        Content::Parts(pieces) => pieces.iter().map(of_piece).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_that_were_refused() {
        fn check(input: &[u8], method: &str, path: &str, query: Option<&str>) {
            let line = RequestLine::of(input);
            assert_eq!(line.method, method.as_bytes());
            assert_eq!(line.path, path.as_bytes());
            assert_eq!(line.query, query.map(str::as_bytes));
        }
        check(b"", "", "", None);
        check(b"\r\nGET /a?b HTTP/1.1\r\nX: y", "GET", "/a", Some("b"));
        check(b"GET /a\r\nX", "GET", "/a", None);
        check(b"\x16\x03\x01\n", "\x16\x03\x01", "", None);
        let long = [b"GET /", &*vec![b'a'; 10_000]].concat();
        assert_eq!(RequestLine::of(&long).path.len(), LINE_AT_MOST - 4);
    }
}
