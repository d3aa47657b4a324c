//! The access log of a loop: each request has a record, which becomes a line when its answer has ended, however it
//! ended. Without a log there are no records.
//!
//! ```text
//! request ──► record: what was asked ──► its plan: status, coding ──► content on its way ──► dropped: the line
//!                  └──────────── the client goes away: 499 ─────────────────────────────────────▲
//! ```

pub(crate) mod record;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use salver_access_log::{AddressText, Producer, Protocol, RequestId, RequestIds};

use salver_fields::RequestHead;

use crate::access_log::record::{LogRecord, Record, RequestLine, Sent};
use crate::memory_budget::{Account, Charge};
use crate::settings::Proxies;

/// The records that are kept for further requests, so that these allocate nothing.
const SPARE: usize = 64;

/// The time for which a reading of the clock of dates holds; further times are counted from it.
const CLOCK_HOLDS: Duration = Duration::from_secs(1);

/// The access log of a loop.
pub(crate) struct LoopLog {
    producer: RefCell<Producer>,
    ids: RefCell<RequestIds>,
    #[allow(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: RefCell<Vec<Box<Record>>>,
    /// A moment, and the time since 1970 at that moment.
    clock: Cell<(Instant, Duration)>,
    proxies: Proxies,
}

impl LoopLog {
    /// The log of one loop.
    ///
    /// # Errors
    /// The system gives no random numbers, with which identifiers of requests begin.
    pub(crate) fn new(producer: Producer, proxies: Proxies) -> io::Result<Rc<Self>> {
        Ok(Rc::new(LoopLog {
            producer: RefCell::new(producer),
            ids: RefCell::new(RequestIds::new()?),
            spare: RefCell::default(),
            clock: Cell::new(read_clock(Instant::now())),
            proxies,
        }))
    }

    /// The time since 1970 at a moment that is about now.
    fn unix_time(&self, now: Instant) -> Duration {
        let (read_at, time) = self.clock.get();
        let since = now.saturating_duration_since(read_at);
        if since < CLOCK_HOLDS {
            return time + since;
        }
        let read = read_clock(now);
        self.clock.set(read);
        read.1
    }

    fn next_id(&self) -> RequestId {
        self.ids.borrow_mut().next_id()
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
        let proxies = &log.proxies;
        Some(Box::new(ConnectionLog {
            shared: Rc::new(SharedLog {
                log: Rc::clone(log),
                held: Cell::new(0),
            }),
            peer: address,
            client: AddressText::new(address),
            is_proxy: proxies.trusted.contains(address),
            sent: Cell::new(0),
            queued: RefCell::default(),
            charge: RefCell::default(),
        }))
    }

    /// The record of a request, with its field lines; names of pseudo-fields begin with a colon.
    pub(crate) fn record<'a>(
        &self,
        protocol: Protocol,
        line: &RequestLine<'_>,
        lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> LogRecord {
        let mut record = self.blank(protocol);
        record.read(
            line,
            lines,
            self.is_proxy
                .then_some((self.peer, &self.shared.log.proxies)),
        );
        record
    }

    /// The record of a request over HTTP/2 or HTTP/3.
    pub(crate) fn record_of(&self, protocol: Protocol, head: &RequestHead<'_>) -> LogRecord {
        let mut lines = head.lines.iter();
        let method = lines.find(|(name, _)| *name == &b":method"[..]);
        let line = RequestLine {
            method: method.map_or(b"", |(_, method)| method),
            path: &head.path,
            query: head.query.as_deref(),
        };
        self.record(protocol, &line, head.lines.iter())
    }

    /// The record of an input that begins with a head, complete and valid or not.
    pub(crate) fn unread_with_fields(&self, input: &[u8]) -> LogRecord {
        let lines = input.split(|byte| *byte == b'\n').skip(1);
        let fields = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((name, value.get(1..).unwrap_or_default().trim_ascii()))
        });
        self.record(Protocol::Http11, &RequestLine::of(input), fields)
    }

    /// The record of what was refused before it was a request, of whose beginning as much is told as can be read.
    pub(crate) fn unread(&self, protocol: Protocol, input: &[u8]) -> LogRecord {
        let mut record = self.blank(protocol);
        record.read(&RequestLine::of(input), std::iter::empty(), None);
        record
    }

    fn blank(&self, protocol: Protocol) -> LogRecord {
        LogRecord::new(&self.shared, self.client, protocol)
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
    use salver_access_log::{Destination, LogWriter, Settings};

    #[test]
    fn records_are_counted_until_they_are_logged() {
        let writer = LogWriter::start(|_| {}).unwrap();
        let settings = Settings::new(Destination::File("/dev/null".into()));
        let log = writer.open(&settings).unwrap();
        let of_loop = LoopLog::new(log.producer(), Proxies::default()).unwrap();
        let address = IpAddr::from([192, 0, 2, 1]);
        let connection = ConnectionLog::new(Some(&of_loop), address).unwrap();
        let line = RequestLine {
            method: b"GET",
            path: &[b'a'; 10_000],
            query: None,
        };
        let record = || connection.record(Protocol::Http11, &line, std::iter::empty());
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
}
