//! The access log: each request has a record, which becomes a line when its answer has ended, however it ended.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use http::header::{HeaderName, REFERER, USER_AGENT};
use http::request::Parts;
use http::{HeaderValue, Version};
use salver_access_log::{
    AccessLog, AddressText, Draft, LoggedRequest, LoggedResponse, Producer, Protocol, RequestId,
    RequestIds, TraceParent,
};
use salver_assets::{CacheState, ResponsePlan};
use salver_forwarded::client_address;

use crate::portable::sites::authority;
use crate::proxies::Proxies;

/// The status of a line whose client went away before there was an answer.
const CLIENT_GONE: u16 = 499;

/// The field in which proxies give a request an identifier.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The field that says what trace a request is part of.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The access log of a server; connections take their ends of it in turns.
#[derive(Debug)]
pub(crate) struct RequestLog {
    ends: Vec<Mutex<End>>,
    next: AtomicUsize,
    /// The names of the sites, in their order; a site alone needs none.
    site_names: Vec<String>,
    proxies: Proxies,
}

/// An end of the log. It is held for as long as it takes to make a line.
#[derive(Debug)]
struct End {
    producer: Producer,
    ids: RequestIds,
}

impl RequestLog {
    /// A log with so many ends.
    ///
    /// # Errors
    /// The system gives no random numbers, with which identifiers of requests begin.
    pub(crate) fn new(
        log: &AccessLog,
        ends: usize,
        site_names: Vec<String>,
        proxies: Proxies,
    ) -> io::Result<Self> {
        let end = |_| {
            Ok(Mutex::new(End {
                producer: log.producer(),
                ids: RequestIds::new()?,
            }))
        };
        Ok(RequestLog {
            ends: (0..ends.max(1)).map(end).collect::<io::Result<_>>()?,
            next: AtomicUsize::new(0),
            site_names,
            proxies,
        })
    }

    fn with<T>(&self, end: usize, work: impl FnOnce(&mut End) -> T) -> Option<T> {
        let end = self.ends.get(end)?;
        Some(work(
            &mut end.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

/// The log as one connection has it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLog {
    log: Arc<RequestLog>,
    end: usize,
    /// Who opened the connection.
    peer: IpAddr,
    client: Arc<AddressText>,
    /// True if fields may name another client.
    is_proxy: bool,
}

impl ConnectionLog {
    /// The log of a connection of this client.
    pub(crate) fn new(log: &Arc<RequestLog>, client: IpAddr) -> Self {
        let client = client.to_canonical();
        let number = log.next.fetch_add(1, Ordering::Relaxed);
        ConnectionLog {
            end: number.checked_rem(log.ends.len()).unwrap_or(0),
            log: Arc::clone(log),
            peer: client,
            client: Arc::new(AddressText::new(client)),
            is_proxy: log.proxies.trusted.contains(client),
        }
    }

    /// The record of a request that has come.
    pub(crate) fn begin(&self, head: &Parts) -> LogRecord {
        let mut draft = Draft::default();
        let field = |name: HeaderName| {
            head.headers
                .get(name)
                .map_or(&b""[..], HeaderValue::as_bytes)
        };
        let said = match self.is_proxy {
            true => SaidByProxy::found(self.peer, &self.log.proxies, head),
            false => SaidByProxy::default(),
        };
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let next_id = || self.log.with(self.end, |end| end.ids.next_id());
        draft.keep(&LoggedRequest {
            client: said.client.as_ref().unwrap_or(&self.client),
            user: b"",
            host: authority(head),
            method: head.method.as_str().as_bytes(),
            path: head.uri.path().as_bytes(),
            query: head.uri.query().map(str::as_bytes),
            protocol: protocol(head.version),
            started: since_1970.unwrap_or_default(),
            request_id: said.id.or_else(next_id).unwrap_or_default(),
            trace: TraceParent::parse(field(TRACEPARENT)),
            referer: field(REFERER),
            user_agent: field(USER_AGENT),
        });
        LogRecord {
            log: Arc::clone(&self.log),
            end: self.end,
            draft,
            begun: Instant::now(),
            status: CLIENT_GONE,
            site: None,
            coding: String::new(),
            cache: None,
            sent: 0,
        }
    }
}

/// What a trusted proxy says of a request.
#[derive(Default)]
struct SaidByProxy {
    client: Option<AddressText>,
    id: Option<RequestId>,
}

impl SaidByProxy {
    /// What the fields of a request from this proxy say.
    fn found(peer: IpAddr, proxies: &Proxies, head: &Parts) -> Self {
        let id = head.headers.get(REQUEST_ID);
        let client = proxies.field.map(|field| {
            let lines = head.headers.get_all(field.name()).iter();
            let lines: Vec<&[u8]> = lines.map(HeaderValue::as_bytes).collect();
            // RFC 9110 section 5.3.
            let value = lines.join(&b", "[..]);
            AddressText::new(client_address(peer, &proxies.trusted, field, &value))
        });
        SaidByProxy {
            client,
            id: id.and_then(|id| RequestId::parse(id.as_bytes())),
        }
    }
}

/// The record of a request. When it is dropped it becomes a line.
#[derive(Debug)]
pub(crate) struct LogRecord {
    log: Arc<RequestLog>,
    end: usize,
    draft: Draft,
    begun: Instant,
    status: u16,
    site: Option<usize>,
    coding: String,
    cache: Option<CacheState>,
    sent: u64,
}

impl LogRecord {
    /// Notes the answer, by the site with this number if one has answered.
    pub(crate) fn answer(&mut self, plan: &ResponsePlan, site: Option<usize>) {
        self.status = plan.status;
        self.site = site;
        self.cache = plan.cache_state;
        let coding = plan.content_coding().and_then(|it| str::from_utf8(it).ok());
        self.coding = coding.unwrap_or_default().to_owned();
    }

    /// Counts bytes of content that are given to the connection.
    pub(crate) fn add_sent(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.sent = self.sent.saturating_add(bytes);
    }
}

impl Drop for LogRecord {
    fn drop(&mut self) {
        let names = &self.log.site_names;
        let site = self.site.and_then(|site| names.get(site));
        let response = LoggedResponse {
            status: self.status,
            sent: self.sent,
            duration: self.begun.elapsed(),
            coding: &self.coding,
            cache: self.cache,
            site: site.map_or(&b""[..], |site| site.as_bytes()),
        };
        self.log
            .with(self.end, |end| end.producer.log(&self.draft, &response));
    }
}

fn protocol(version: Version) -> Protocol {
    match version {
        Version::HTTP_09 | Version::HTTP_10 => Protocol::Http10,
        Version::HTTP_2 => Protocol::Http2,
        Version::HTTP_3 => Protocol::Http3,
        _ => Protocol::Http11,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use salver_access_log::{Destination, LogWriter, Settings};
    use salver_forwarded::ForwardedField;
    use std::time::Duration;

    #[test]
    fn a_line_for_each_request_however_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let writer = LogWriter::start(|_| {}).unwrap();
        let proxies = Proxies {
            trusted: ["192.0.2.1".parse().unwrap()].into_iter().collect(),
            field: Some(ForwardedField::XForwardedFor),
        };
        let opened = writer.open(&Settings::new(Destination::File(path.clone())));
        let log = RequestLog::new(&opened.unwrap(), 3, Vec::new(), proxies).unwrap();
        let log = Arc::new(log);
        for number in 0..10 {
            let connection = ConnectionLog::new(&log, [192, 0, 2, number].into());
            let forwarded = ("X-Forwarded-For", "198.51.100.7");
            let request = Request::get(format!("/{number}?a"))
                .header("User-Agent", "x\"y")
                .header(forwarded.0, forwarded.1);
            let (head, ()) = request.body(()).unwrap().into_parts();
            let mut record = connection.begin(&head);
            if number > 0 {
                record.answer(&ResponsePlan::error(404, "Not Found", vec![]), Some(0));
                record.add_sent(14);
            }
        }
        assert!(writer.stop(Duration::from_secs(60)));
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.len(), 10);
        assert!(lines[0].starts_with("192.0.2.0 - - ["), "{text}");
        assert!(
            lines[0].ends_with("\"GET /0?a HTTP/1.1\" 499 0 \"-\" \"x\\x22y\""),
            "{text}"
        );
        // Of whom the trusted proxy names; the others are not asked.
        assert!(lines[9].starts_with("198.51.100.7 - - ["), "{text}");
        assert!(lines[9].contains("\"GET /1?a HTTP/1.1\" 404 14 "), "{text}");
    }
}
