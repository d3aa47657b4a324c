//! The record of one request, which is counted when it is dropped, and becomes a line of the access log.

use std::rc::Rc;
use std::time::{Duration, Instant};

use salver_access_log::{
    AddressText, CacheState, Draft, LoggedRequest, LoggedResponse, Protocol, TraceParent,
};
use salver_admin::metrics::{Ended, Version};
use salver_assets::{Content, Method, Piece, ResponsePlan};

use super::{Lines, SharedLog, bytes};
use crate::access_log::asked::{Asked, SaidByProxy};

/// The status of a request whose client went away before there was an answer; other servers log it as well.
const CLIENT_GONE: u16 = 499;

/// The bytes of a connection that its socket has taken.
pub(crate) struct Sent(pub(super) u64);

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
    /// The time that the answer took, when it has ended.
    duration: Duration,
    /// What a line tells besides, if there is a log.
    line: Option<Line>,
}

/// A line of the log before the answer has ended.
#[derive(Default)]
pub(super) struct Line {
    draft: Draft,
    coding: &'static str,
    cache: Option<CacheState>,
}

impl Record {
    /// The memory that it holds because of what was asked, in bytes.
    fn memory(&self) -> usize {
        size_of::<Record>() + self.line.as_ref().map_or(0, |line| line.draft.len())
    }

    /// The memory that it keeps for another request, in bytes.
    pub(super) fn kept(&self) -> usize {
        self.line.as_ref().map_or(0, |line| line.draft.capacity())
    }
}

/// The record of a request. When it is dropped the request is counted, and its line is made before the loop waits.
pub(crate) struct LogRecord {
    log: Rc<SharedLog>,
    /// There until it is dropped.
    record: Option<Box<Record>>,
}

impl LogRecord {
    /// A blank record of a request that has just come.
    #[inline]
    pub(super) fn new(log: &Rc<SharedLog>, begun: Begun) -> Self {
        let of_loop = &*log.log;
        if let Some(metrics) = &of_loop.metrics {
            metrics.begin(begun.method);
        }
        let spare = of_loop.spare.borrow_mut().pop();
        let record = match spare {
            Some(mut spare) => {
                spare.begun = begun;
                spare.status = 0;
                spare.site = 0;
                spare.length = 0;
                spare.sent = 0;
                spare.place = (0, 0);
                spare.duration = Duration::ZERO;
                if let Some(line) = &mut spare.line {
                    line.draft.clear();
                    line.coding = "";
                    line.cache = None;
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
                duration: Duration::ZERO,
                line: of_loop.lines.as_ref().map(|_| Line::default()),
            }),
        };
        log.hold(size_of::<Record>());
        LogRecord {
            log: Rc::clone(log),
            record: Some(record),
        }
    }

    /// Drafts the line of the request, of a client with this address. Without that there will be none.
    #[inline]
    pub(super) fn read(&mut self, asked: &Asked<'_>, client: &AddressText, said: &SaidByProxy) {
        let Some(record) = &mut self.record else {
            return;
        };
        let (Some(lines), Some(line)) = (&self.log.log.lines, &mut record.line) else {
            return;
        };
        let begun = &record.begun;
        let request = LoggedRequest {
            client: said.client.as_ref().unwrap_or(client),
            user: b"",
            host: asked.host.unwrap_or_default(),
            method: asked.line.method,
            path: asked.line.path,
            query: asked.line.query,
            protocol: begun.protocol,
            started: lines.unix_time(begun.at),
            request_id: said.id.unwrap_or_else(|| lines.next_id()),
            trace: asked.noted.traceparent.and_then(TraceParent::parse),
            referer: asked.noted.referer.unwrap_or_default(),
            user_agent: asked.noted.user_agent.unwrap_or_default(),
        };
        line.draft.keep(&request);
        self.log.hold(line.draft.len());
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

    /// The same for one whose content is streamed: what is sent of it is [added](Self::add_sent).
    pub(crate) fn answer_streamed(&mut self, plan: &ResponsePlan) {
        self.answer(plan);
        if let Some(record) = &mut self.record {
            record.length = u64::MAX;
        }
    }

    /// Notes that so many bytes of the content have not been sent.
    pub(crate) fn set_unsent(&mut self, unsent: u64) {
        if let Some(record) = &mut self.record {
            record.sent = record.length.saturating_sub(unsent);
        }
    }

    /// Adds bytes of content that were sent.
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

    fn count(&self, record: &Record) {
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
                duration: record.duration,
                request_bytes: begun.content,
                response_bytes: record.sent,
            });
        }
    }
}

impl Drop for LogRecord {
    fn drop(&mut self) {
        let Some(mut record) = self.record.take() else {
            return;
        };
        record.duration = Instant::now().saturating_duration_since(record.begun.at);
        self.count(&record);
        self.log.release(record.memory());
        match record.line {
            Some(_) => self.log.log.end(record),
            None => self.log.log.reuse(record),
        }
    }
}

impl Lines {
    /// Logs a request whose answer has ended.
    pub(super) fn log(&self, record: &Record) {
        let Some(line) = &record.line else { return };
        let status = match record.status {
            0 => CLIENT_GONE,
            status => status,
        };
        let site = self.site_name(record.site);
        let response = LoggedResponse {
            status,
            sent: record.sent,
            duration: record.duration,
            coding: line.coding,
            cache: line.cache,
            site: site.as_bytes(),
        };
        self.producer.borrow_mut().log(&line.draft, &response);
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
