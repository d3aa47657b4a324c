//! How much is sent to addresses that have not been proved: three times what came from there (RFC 9000 section
//! 8), whoever forged it.
//!
//! quinn-proto 0.11.19 goes beyond: it looks whether anything is left before each datagram and then adds a whole
//! one, while shaking hands too, and it counts neither the datagrams by which it looks for a larger one (RFC
//! 8899) nor answers to whoever tries another path. The test
//! `quinn_alone_sends_more_than_three_times_what_it_got` fails when it no longer does.
//!
//! While hands are shaken the bound is strict. Somebody who uses a connection from a new address (RFC 9000
//! section 9.3) may send little more than acknowledgements, and has to get the datagram that asks whether the
//! address is right: so one datagram goes beyond the bound, and so few of them per second that nobody is harmed
//! by them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::path_state::PathState;
use super::connection_ids::LENGTH;

/// RFC 9000 section 8.
const FACTOR: u64 = 3;

/// Datagrams beyond the bound: so many at once, and so many a second.
const EXCESS: u32 = 256;
const EXCESS_PER_SECOND: u32 = 64;

/// What QUIC sends of itself to other paths is padded to this; what is shorter answers something longer (RFC
/// 9000 section 10.3).
const PADDED: usize = 1200;

/// Addresses of one generation: there are two.
const HANDSHAKES: usize = 2048;
const PATHS: usize = 512;

/// How long new addresses of connections are counted, at least.
const WATCHED: Duration = Duration::from_secs(10);

/// What is known of addresses, up to a number: who was not heard of while as many others were is forgotten.
#[derive(Debug)]
struct Recent<T> {
    young: HashMap<SocketAddr, T>,
    old: HashMap<SocketAddr, T>,
    most: usize,
}

impl<T: Default> Recent<T> {
    fn new(most: usize) -> Self {
        Recent {
            young: HashMap::new(),
            old: HashMap::new(),
            most,
        }
    }

    fn get(&mut self, address: SocketAddr) -> Option<&mut T> {
        if let Some(old) = self.old.remove(&address) {
            self.young.insert(address, old);
        }
        self.young.get_mut(&address)
    }

    fn get_or_add(&mut self, address: SocketAddr) -> &mut T {
        let known = self.old.remove(&address);
        if self.young.len() >= self.most && !self.young.contains_key(&address) {
            self.forget();
        }
        let young = self.young.entry(address);
        young.or_insert_with(|| known.unwrap_or_default())
    }

    /// Forgets the older ones.
    fn forget(&mut self) {
        self.old = std::mem::take(&mut self.young);
    }

    fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }
}

/// Bytes that went to and came from an address.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    received: u64,
    sent: u64,
}

impl Counts {
    /// How many of `datagrams`, of `size` bytes each but for the last one of all, stay within the bound.
    fn fitting(&self, length: usize, size: usize) -> usize {
        let left = (self.received.saturating_mul(FACTOR)).saturating_sub(self.sent);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        if length <= left {
            length
        } else {
            left - left % size.max(1)
        }
    }

    fn add_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes_of(bytes));
    }
}

/// An address that shakes hands.
#[derive(Default, Debug)]
struct Handshake {
    counts: Counts,
    /// The connection id that was given to it, which nobody else knows.
    id: Option<[u8; LENGTH]>,
    /// It has used that id, so that it is where it says.
    is_proved: bool,
}

impl Handshake {
    /// How many bytes of datagrams may be sent, `length` together and of `size` each.
    fn allow(&mut self, length: usize, size: usize) -> usize {
        if self.is_proved {
            return length;
        }
        let allowed = self.counts.fitting(length, size);
        self.counts.add_sent(allowed);
        allowed
    }
}

/// An address that a connection has not confirmed.
#[derive(Default, Debug)]
struct Path {
    counts: Counts,
    /// One datagram went beyond the bound.
    has_exceeded: bool,
}

/// See the module; for the connections of one socket.
#[derive(Debug)]
pub(super) struct AmplificationLimit {
    handshakes: Recent<Handshake>,
    paths: Recent<Path>,
    paths_since: Instant,
    /// Datagrams that may yet go beyond the bound.
    excess: u32,
    excess_since: Instant,
}

impl AmplificationLimit {
    pub(super) fn new(now: Instant) -> Self {
        AmplificationLimit {
            handshakes: Recent::new(HANDSHAKES),
            paths: Recent::new(PATHS),
            paths_since: now,
            excess: EXCESS,
            excess_since: now,
        }
    }

    /// Datagrams of `size` bytes came, the first of which has a long header.
    pub(super) fn shakes_hands(&mut self, address: SocketAddr, received: &[u8], size: usize) {
        let handshake = self.handshakes.get_or_add(address);
        let counts = &mut handshake.counts;
        counts.received = counts.received.saturating_add(bytes_of(received.len()));
        if let Some(id) = handshake.id
            && !handshake.is_proved
        {
            let mut ids = received.chunks(size.max(1)).filter_map(long_header);
            handshake.is_proved = ids.any(|header| header.destination == id);
        }
    }

    /// How many bytes of datagrams with a long header, of `size` bytes each, may be sent.
    pub(super) fn handshake(&mut self, address: SocketAddr, sent: &[u8], size: usize) -> usize {
        // Whoever is not known has sent nothing that would be answered.
        let Some(handshake) = self.handshakes.get(address) else {
            return 0;
        };
        // RFC 8999 section 6: what has no version has the client's ids.
        let header = long_header(sent).filter(|header| header.version != 0);
        if let Some(id) = header.and_then(|header| header.source.as_array()) {
            handshake.id = Some(*id);
        }
        handshake.allow(sent.len(), size)
    }

    /// Datagrams came; what connections send to new addresses may be more thereby.
    pub(super) fn received(&mut self, now: Instant, address: SocketAddr, bytes: usize) {
        if let Some(path) = self.paths.get(address) {
            path.counts.received = path.counts.received.saturating_add(bytes_of(bytes));
        }
        if now.saturating_duration_since(self.paths_since) >= WATCHED {
            self.paths.forget();
            self.paths_since = now;
        }
    }

    /// Whether there are addresses for which that matters.
    pub(super) fn watches_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// How many bytes of datagrams with a short header, `length` together and of `size` each, may be sent to an
    /// address that is not known to be right.
    pub(super) fn path(
        &mut self,
        now: Instant,
        address: SocketAddr,
        (length, size): (usize, usize),
        state: PathState,
    ) -> usize {
        if let Some(handshake) = self.handshakes.get(address) {
            // The server may send on a connection before its hands are shaken.
            return handshake.allow(length, size);
        }
        if state == PathState::Unknown && length < PADDED {
            return length;
        }
        if self.paths.is_empty() {
            self.paths_since = now;
        }
        let path = self.paths.get_or_add(address);
        let fitting = path.counts.fitting(length, size);
        let beyond = (length - fitting).div_ceil(size.max(1));
        // Until it has validated the path QUIC itself sends no more than one beyond the bound.
        let beyond = match state {
            PathState::Unknown => beyond.min(usize::from(!path.has_exceeded)),
            PathState::InUse | PathState::Confirmed => beyond,
        };
        path.has_exceeded |= beyond > 0;
        let seconds = now.saturating_duration_since(self.excess_since).as_secs();
        if seconds > 0 {
            let more = u32::try_from(seconds).unwrap_or(u32::MAX);
            let more = more.saturating_mul(EXCESS_PER_SECOND);
            self.excess = self.excess.saturating_add(more).min(EXCESS);
            self.excess_since = now;
        }
        let beyond = u32::try_from(beyond).unwrap_or(u32::MAX).min(self.excess);
        self.excess -= beyond;
        let beyond = usize::try_from(beyond).unwrap_or(usize::MAX);
        let allowed = length.min(fitting.saturating_add(beyond.saturating_mul(size)));
        path.counts.add_sent(allowed);
        allowed
    }
}

fn bytes_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A long header (RFC 8999 section 5.1).
struct LongHeader<'a> {
    version: u32,
    destination: &'a [u8],
    source: &'a [u8],
}

fn long_header(datagram: &[u8]) -> Option<LongHeader<'_>> {
    let [first, a, b, c, d, length, rest @ ..] = datagram else {
        return None;
    };
    let (destination, rest) = rest.split_at_checked(usize::from(*length))?;
    let (length, rest) = rest.split_first()?;
    let (source, _) = rest.split_at_checked(usize::from(*length))?;
    (first & 0x80 != 0).then_some(LongHeader {
        version: u32::from_be_bytes([*a, *b, *c, *d]),
        destination,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], number))
    }

    fn long(version: u8, destination: &[u8; 8], source: &[u8; 8], length: usize) -> Vec<u8> {
        let mut datagram = vec![0xc0, 0, 0, 0, version, 8];
        datagram.extend(destination);
        datagram.push(8);
        datagram.extend(source);
        datagram.resize(length, 0);
        datagram
    }

    const CHOSEN: &[u8; 8] = b"chosen__";
    const GIVEN: &[u8; 8] = b"given___";
    const THEIRS: &[u8; 8] = b"theirs__";

    #[test]
    fn three_times_until_the_address_is_proved() {
        let mut limit = AmplificationLimit::new(Instant::now());
        let answer = |length| long(1, THEIRS, GIVEN, length);
        assert_eq!(limit.handshake(address(1), &answer(1), 1200), 0);
        limit.shakes_hands(address(1), &long(1, CHOSEN, THEIRS, 1200), 1200);
        assert_eq!(limit.handshake(address(1), &answer(1422), 1200), 1422);
        // Two datagrams at once, of which one fits.
        assert_eq!(limit.handshake(address(1), &answer(2400), 1200), 1200);
        assert_eq!(limit.handshake(address(1), &answer(979), 979), 0);
        let now = Instant::now();
        assert_eq!(limit.path(now, address(1), (979, 979), PathState::InUse), 0);
        assert_eq!(limit.path(now, address(1), (78, 78), PathState::InUse), 78);
        assert_eq!(limit.handshake(address(1), &answer(900), 900), 900);
        // Somebody else's id, or that which the client has chosen, proves nothing.
        for id in [CHOSEN, THEIRS] {
            limit.shakes_hands(address(1), &long(1, id, THEIRS, 50), 1200);
        }
        assert_eq!(limit.handshake(address(1), &answer(301), 301), 0);
        let both = [long(1, CHOSEN, THEIRS, 50), long(1, GIVEN, THEIRS, 50)].concat();
        limit.shakes_hands(address(1), &both, 50);
        assert_eq!(limit.handshake(address(1), &answer(64_000), 1200), 64_000);
        let many = (64_000, 1200);
        assert_eq!(limit.path(now, address(1), many, PathState::InUse), 64_000);
    }

    #[test]
    fn the_clients_own_id_comes_back_without_proving_anything() {
        let mut limit = AmplificationLimit::new(Instant::now());
        limit.shakes_hands(address(1), &long(9, CHOSEN, THEIRS, 1200), 1200);
        // Version negotiation.
        let answer = long(0, THEIRS, CHOSEN, 40);
        assert_eq!(limit.handshake(address(1), &answer, 40), 40);
        limit.shakes_hands(address(1), &long(1, CHOSEN, THEIRS, 1200), 1200);
        let answer = long(1, THEIRS, GIVEN, 8000);
        assert_eq!(limit.handshake(address(1), &answer, 1000), 7000);
    }

    #[test]
    fn one_datagram_more_to_a_new_address_and_few_in_all() {
        let now = Instant::now();
        let mut limit = AmplificationLimit::new(now);
        let one = (1200, 1200);
        let probe = (1326, 1326);
        assert_eq!(limit.path(now, address(1), one, PathState::InUse), 1200);
        assert!(limit.watches_paths());
        for _ in 0..3 {
            assert_eq!(limit.path(now, address(1), probe, PathState::Unknown), 0);
        }
        // As much as came allows more, and what is short answers something longer.
        limit.received(now, address(1), 1200);
        assert_eq!(limit.path(now, address(1), one, PathState::Unknown), 1200);
        assert_eq!(limit.path(now, address(1), probe, PathState::Unknown), 0);
        let reset = (40, 40);
        assert_eq!(limit.path(now, address(2), reset, PathState::Unknown), 40);
        // Whoever forges addresses uses up what there is.
        let mut flood = |seconds: u64| {
            let now = now + Duration::from_secs(seconds);
            let sent = (0..1000)
                .map(|number| limit.path(now, address(1000 + number), one, PathState::InUse));
            sent.sum::<usize>() / 1200
        };
        assert_eq!(flood(0), 255);
        assert_eq!(flood(1), 64);
        assert_eq!(flood(3), 128);
        assert_eq!(flood(100), 256);
        // Who has sent much gets its answers all the same.
        limit.received(now, address(1999), 4000);
        let many = (13_200, 1200);
        assert_eq!(
            limit.path(now, address(1999), many, PathState::InUse),
            12_000
        );
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let now = Instant::now();
        let mut limit = AmplificationLimit::new(now);
        for number in 0..u16::MAX {
            limit.path(now, address(number), (1200, 1200), PathState::InUse);
        }
        assert!(limit.paths.young.len() <= PATHS && limit.paths.old.len() <= PATHS);
        for seconds in [10, 20] {
            // As long as it may matter, and no longer.
            assert!(limit.watches_paths());
            let now = now + Duration::from_secs(seconds);
            limit.received(now, address(1), 1);
        }
        assert!(!limit.watches_paths());
        for number in 0..u16::MAX {
            limit.shakes_hands(address(number), &long(1, CHOSEN, THEIRS, 1200), 1200);
        }
        let Recent { young, old, .. } = &limit.handshakes;
        assert!(young.len() <= HANDSHAKES && old.len() <= HANDSHAKES);
    }
}
