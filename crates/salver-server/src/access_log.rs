//! The access log and the metrics of a loop: each request has a record, which is counted when its answer has ended,
//! however it ended, and becomes a line in the same turn of the loop. Without a log and metrics there are no records.
//!
//! ```text
//! request ──► record: what was asked ──► its plan: status, coding ──► content on its way ──► dropped: count ──► line
//!                  └──────────── the client goes away: 499 ─────────────────────────────────────▲
//! ```

pub(crate) mod asked;
pub(crate) mod ended;
pub(crate) mod record;

use std::cell::{Cell, Ref, RefCell};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use salver_access_log::{AddressText, Producer, Protocol, RequestId, RequestIds};
use salver_admin::metrics::{LoopMetrics, SiteNames};
use salver_fields::RequestHead;

use crate::access_log::asked::{Asked, RequestLine, SaidByProxy};
use crate::access_log::ended::EndedRecords;
use crate::access_log::record::{Begun, LogRecord, Record, Sent};
use crate::memory_budget::{Account, Charge};
use crate::settings::Proxies;

/// The records that are kept for further requests, so that these allocate nothing.
const SPARE: usize = 64;

/// The bytes of memory that a record keeps for another request.
const KEPT: usize = 4 * 1024;

/// The time for which a reading of the clock of dates holds; further times are counted from it.
const CLOCK_HOLDS: Duration = Duration::from_secs(1);

/// The access log and the metrics of a loop; one of them at least.
pub(crate) struct LoopLog {
    /// The maker of lines, if there is a log.
    lines: Option<Lines>,
    /// The metrics, if requests are counted.
    metrics: Option<Arc<LoopMetrics>>,
    #[allow(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: RefCell<Vec<Box<Record>>>,
    /// Those of which lines are to be made.
    ended: EndedRecords,
    proxies: Proxies,
}

/// The maker of a loop's lines.
pub(crate) struct Lines {
    producer: RefCell<Producer>,
    /// True if lines, or which of them are written, depend on the identifiers of requests.
    tells_ids: bool,
    ids: RefCell<RequestIds>,
    /// A moment, and the time since 1970 at that moment.
    clock: Cell<(Instant, Duration)>,
    /// The same for the last request: those of one turn of the loop have begun together.
    latest: Cell<(Instant, Duration)>,
    site_names: Arc<SiteNames>,
    /// Those that this loop has asked for, each at its number.
    known_names: RefCell<Vec<Arc<str>>>,
}

impl LoopLog {
    /// The log of one loop; `None` if there is nothing to do.
    ///
    /// # Errors
    /// The system gives no random numbers, with which identifiers of requests begin.
    pub(crate) fn new(
        producer: Option<Producer>,
        site_names: &Arc<SiteNames>,
        metrics: Option<Arc<LoopMetrics>>,
        proxies: Proxies,
    ) -> io::Result<Option<Rc<Self>>> {
        let lines = producer.map(|producer| Lines::new(producer, Arc::clone(site_names)));
        let lines = lines.transpose()?;
        let log = LoopLog {
            lines,
            metrics,
            spare: RefCell::default(),
            ended: EndedRecords::default(),
            proxies,
        };
        let does_something = log.lines.is_some() || log.metrics.is_some();
        Ok(does_something.then(|| Rc::new(log)))
    }

    /// The metrics, if requests are counted.
    pub(crate) fn metrics(&self) -> Option<&LoopMetrics> {
        self.metrics.as_deref()
    }

    /// The metrics, for another log of this loop.
    pub(crate) fn shared_metrics(&self) -> Option<Arc<LoopMetrics>> {
        self.metrics.clone()
    }

    /// Keeps a record for another request.
    fn reuse(&self, record: Box<Record>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE && record.kept() <= KEPT {
            spare.push(record);
        }
    }
}

impl Lines {
    fn new(producer: Producer, site_names: Arc<SiteNames>) -> io::Result<Self> {
        let clock = read_clock(Instant::now());
        Ok(Lines {
            tells_ids: producer.tells_ids(),
            producer: RefCell::new(producer),
            ids: RefCell::new(RequestIds::new()?),
            clock: Cell::new(clock),
            latest: Cell::new(clock),
            site_names,
            known_names: RefCell::default(),
        })
    }

    /// The time since 1970 at a moment that is about now.
    fn unix_time(&self, now: Instant) -> Duration {
        let (latest, time) = self.latest.get();
        if now == latest {
            return time;
        }
        let (read_at, time) = self.clock.get();
        let since = now.saturating_duration_since(read_at);
        let read = match since < CLOCK_HOLDS {
            true => (now, time + since),
            false => {
                self.clock.set(read_clock(now));
                self.clock.get()
            }
        };
        self.latest.set(read);
        read.1
    }

    /// The name of the site with this number. It is borrowed: a count of references that all loops write would cost
    /// each line.
    fn site_name(&self, number: u16) -> Ref<'_, str> {
        let at = usize::from(number);
        if at >= self.known_names.borrow().len() {
            *self.known_names.borrow_mut() = self.site_names.all();
        }
        Ref::map(self.known_names.borrow(), |known| {
            known.get(at).map_or("", |name| &**name)
        })
    }

    /// The identifier of a request that came without one.
    fn next_id(&self) -> RequestId {
        match self.tells_ids {
            true => self.ids.borrow_mut().next_id(),
            false => RequestId::default(),
        }
    }
}

fn read_clock(now: Instant) -> (Instant, Duration) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // A clock before 1970 is wrong anyway.
    (now, since.unwrap_or_default())
}

/// The log of a loop as the records of one connection refer to it.
pub(crate) struct SharedLog {
    log: Rc<LoopLog>,
    /// The memory of these records, in bytes.
    held: Cell<usize>,
}

impl SharedLog {
    fn hold(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_add(bytes));
    }

    fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
    }
}

/// The access log of a connection.
pub(crate) struct ConnectionLog {
    shared: Rc<SharedLog>,
    /// Who opened the connection, or whom the PROXY protocol named.
    peer: IpAddr,
    client: AddressText,
    /// True if fields may name another client.
    is_proxy: bool,
    /// The bytes that the socket has taken.
    sent: Cell<u64>,
    /// The records of answers that are queued behind those bytes.
    queued: RefCell<Vec<LogRecord>>,
    /// The memory of the records that wait for the socket.
    charge: RefCell<Option<Charge>>,
}

impl ConnectionLog {
    /// The log of a connection with this address, on a loop with this one.
    pub(crate) fn new(log: Option<&Rc<LoopLog>>, address: IpAddr) -> Option<Box<Self>> {
        let log = log?;
        let has_lines = log.lines.is_some();
        let named = has_lines && log.proxies.trusted.contains(address);
        Some(Box::new(ConnectionLog {
            shared: Rc::new(SharedLog {
                log: Rc::clone(log),
                held: Cell::new(0),
            }),
            peer: address,
            client: AddressText::new(address),
            is_proxy: named,
            sent: Cell::new(0),
            queued: RefCell::default(),
            charge: RefCell::default(),
        }))
    }

    /// The record of a request of which no more than this is known yet.
    #[inline]
    pub(crate) fn begin(&self, begun: Begun) -> LogRecord {
        LogRecord::new(&self.shared, begun)
    }

    /// True if lines are made of the records: then they want to [read](Self::read) the request.
    #[inline]
    pub(crate) fn has_lines(&self) -> bool {
        self.shared.log.lines.is_some()
    }

    /// Drafts the line of a request. Of its field lines, `lines`, are read those that trusted proxies add.
    #[inline]
    pub(crate) fn read<'a, L: Iterator<Item = (&'a [u8], &'a [u8])>>(
        &self,
        record: &mut LogRecord,
        asked: &Asked<'_>,
        lines: impl FnOnce() -> L,
    ) {
        let said = match self.is_proxy {
            true => SaidByProxy::found(self.peer, &self.shared.log.proxies, lines()),
            false => SaidByProxy::default(),
        };
        record.read(asked, &self.client, &said);
    }

    /// The record of a request over HTTP/2 or HTTP/3, which was read at this moment.
    pub(crate) fn record_of(
        &self,
        protocol: Protocol,
        head: &RequestHead<'_>,
        at: Instant,
    ) -> LogRecord {
        let mut record = self.begin(Begun {
            protocol,
            method: head.method,
            at,
            content: head.content_length.unwrap_or(0),
        });
        if self.has_lines() {
            let mut lines = head.lines.iter();
            let method = lines.find(|(name, _)| *name == &b":method"[..]);
            let line = RequestLine {
                method: method.map_or(b"", |(_, method)| method),
                path: &head.path,
                query: head.query.as_deref(),
            };
            let asked = Asked::found(line, head.lines.iter());
            self.read(&mut record, &asked, || head.lines.iter());
        }
        record
    }

    /// The record of an input that begins with a head, complete and valid or not.
    pub(crate) fn unread_with_fields(&self, input: &[u8]) -> LogRecord {
        let lines = input.split(|byte| *byte == b'\n').skip(1);
        let fields = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((name, value.get(1..).unwrap_or_default().trim_ascii()))
        });
        let line = RequestLine::of(input);
        let mut record = self.begin(Begun::unread(Protocol::Http11, line.method));
        let asked = Asked::found(line, fields.clone());
        self.read(&mut record, &asked, || fields);
        record
    }

    /// The record of what was refused before it was a request, of whose beginning as much is told as can be read.
    pub(crate) fn unread(&self, protocol: Protocol, input: &[u8]) -> LogRecord {
        let line = RequestLine::of(input);
        let mut record = self.begin(Begun::unread(protocol, line.method));
        let asked = Asked {
            line,
            ..Asked::default()
        };
        record.read(&asked, &self.client, &SaidByProxy::default());
        record
    }

    /// Queues the record of an answer whose content follows in one piece behind `before` bytes that the socket has
    /// not taken.
    pub(crate) fn queue_whole(&self, mut record: LogRecord, before: usize) {
        record.follows(self.sent.get().saturating_add(bytes(before)));
        self.queued.borrow_mut().push(record);
    }

    /// Queues the record of an answer whose last content is at the end of the `unsent` bytes that the socket has not
    /// taken. What else is among them is not told apart.
    pub(crate) fn queue_ended(&self, mut record: LogRecord, unsent: usize) {
        let end = self.sent.get().saturating_add(bytes(unsent));
        record.ends_at(end, bytes(unsent));
        self.queued.borrow_mut().push(record);
    }

    /// Counts bytes that the socket has taken.
    pub(crate) fn count(&self, sent: usize) {
        self.sent.set(self.sent.get().saturating_add(bytes(sent)));
    }

    /// The memory of the records that are not logged yet, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.shared.held.get()
    }

    /// Charges the memory of the records, which wait for the socket.
    pub(crate) fn charge_to(&self, account: &Arc<Account>) {
        let charge = account.charge(self.held());
        self.charge.replace(Some(charge));
    }

    /// Logs the answers that are queued: the socket has taken all of them.
    pub(crate) fn finish(&self) {
        self.queued.borrow_mut().clear();
        self.charge.replace(None);
    }
}

impl Drop for ConnectionLog {
    fn drop(&mut self) {
        for record in self.queued.get_mut() {
            record.cut(Sent(self.sent.get()));
        }
    }
}

/// A length as the log counts it.
pub(crate) fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_access_log::{AccessLog, Destination, LogWriter, Settings};
    use salver_admin::metrics::{Metrics, Version};
    use salver_assets::Method;

    /// The log of a loop that has lines alone.
    pub(super) fn loop_log(log: &AccessLog) -> Rc<LoopLog> {
        let producer = Some(log.producer());
        let made = LoopLog::new(producer, &Arc::default(), None, Proxies::default());
        made.unwrap().unwrap()
    }

    #[test]
    fn records_are_counted_until_they_are_logged() {
        let writer = LogWriter::start(|_| {}).unwrap();
        let settings = Settings::new(Destination::File("/dev/null".into()));
        let log = writer.open(&settings).unwrap();
        let of_loop = loop_log(&log);
        let address = IpAddr::from([192, 0, 2, 1]);
        let connection = ConnectionLog::new(Some(&of_loop), address).unwrap();
        let line = RequestLine {
            method: b"GET",
            path: &[b'a'; 10_000],
            query: None,
        };
        let record = || {
            let mut record = connection.begin(Begun::unread(Protocol::Http11, b"GET"));
            let asked = Asked {
                line,
                ..Asked::default()
            };
            connection.read(&mut record, &asked, std::iter::empty);
            record
        };
        let first = record();
        let one = connection.held();
        // No more of a text is kept than a line has room for.
        assert!((2_000..4_000).contains(&one), "{one}");
        connection.queue_whole(first, 100);
        drop(record());
        assert_eq!(connection.held(), one);
        connection.count(100);
        connection.finish();
        assert_eq!(connection.held(), 0);
        drop((connection, of_loop));
        assert!(writer.stop(Duration::from_secs(60)));
        assert_eq!(log.statistics().lines, 2);
    }

    #[test]
    fn requests_are_counted_as_they_ended() {
        let metrics = Metrics::new(Arc::default());
        let of_loop = LoopLog::new(
            None,
            &Arc::default(),
            Some(metrics.add_loop()),
            Proxies::default(),
        );
        let of_loop = of_loop.unwrap().unwrap();
        let address = IpAddr::from([192, 0, 2, 1]);
        let connection = ConnectionLog::new(Some(&of_loop), address).unwrap();
        assert!(!connection.has_lines());
        let active = || {
            metrics
                .requests()
                .active
                .iter()
                .map(|(_, n)| n)
                .sum::<u64>()
        };
        let whole = connection.begin(Begun::unread(Protocol::Http2, b"HEAD"));
        let cut = connection.unread(Protocol::Http11, b"BREW / HTTP/1.1\r\n");
        assert_eq!((active(), metrics.requests().total()), (2, 0));
        connection.queue_whole(whole, 0);
        connection.finish();
        assert_eq!((active(), metrics.requests().total()), (1, 1));
        drop(cut);
        let series = metrics.requests().series;
        let series: Vec<_> = series
            .iter()
            .map(|s| (s.version, s.method, s.class))
            .collect();
        let expected = [
            (Version::Http11, Method::Other, "none"),
            (Version::Http2, Method::Head, "none"),
        ];
        assert_eq!(series, expected);
        assert_eq!((active(), connection.held()), (0, 0));
    }
}
