//! The amplification limit: to an address that is not validated at most three times the bytes are sent that came from
//! there (RFC 9000 section 8), forged or not.
//!
//! quinn-proto 0.11.19 goes beyond: while anything is left it adds a whole datagram, during handshakes too, and it
//! counts neither the probes for a larger datagram (RFC 8899) nor answers to probes of another path. The test
//! `quinn_alone_sends_more_than_three_times_what_it_got` fails when it no longer does.
//!
//! During a handshake the bound is strict. A client that uses a connection from a new address (RFC 9000 section 9.3)
//! may send little more than acknowledgements, and has to get the datagram that validates the path: so one datagram
//! goes beyond the bound, and so few of them per second that they harm no one.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::connection_ids::ID_LENGTH;
use super::path_state::PathState;

/// The factor of the limit (RFC 9000 section 8).
const FACTOR: u64 = 3;

/// The datagrams beyond the bound: so many at once, and so many a second.
const EXCESS: u32 = 256;
const EXCESS_PER_SECOND: u32 = 64;

/// The size to which QUIC pads the datagrams that it sends to other paths of its own accord; shorter ones answer
/// longer ones (RFC 9000 section 10.3).
const PADDED: usize = 1200;

/// The number of addresses of one generation: there are two.
const HANDSHAKES: usize = 2048;
const PATHS: usize = 512;

/// The time for which new addresses of connections are counted, at least.
const WATCHED: Duration = Duration::from_secs(10);

/// The most recent addresses: one that was not used while `most` others were is forgotten.
#[derive(Debug)]
struct RecentAddresses<T> {
    young: HashMap<SocketAddr, T>,
    old: HashMap<SocketAddr, T>,
    most: usize,
}

impl<T: Default> RecentAddresses<T> {
    fn new(most: usize) -> Self {
        RecentAddresses {
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

/// The bytes that were sent to and received from an address.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    received: u64,
    sent: u64,
}

impl Counts {
    /// The part of `length` bytes, in datagrams of `size` bytes, that stays within the bound.
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

/// An address with a handshake under way.
#[derive(Default, Debug)]
struct HandshakePeer {
    counts: Counts,
    /// The connection id that the server chose for it, which only it can know.
    id: Option<[u8; ID_LENGTH]>,
    /// True once it has used that id, which validates the address.
    is_proved: bool,
}

impl HandshakePeer {
    /// The bytes that may be sent of `length`, in datagrams of `size` bytes.
    fn allow(&mut self, length: usize, size: usize) -> usize {
        if self.is_proved {
            return length;
        }
        let allowed = self.counts.fitting(length, size);
        self.counts.add_sent(allowed);
        allowed
    }
}

/// An address of a connection that is not confirmed.
#[derive(Default, Debug)]
struct UnconfirmedPath {
    counts: Counts,
    /// True if a datagram went beyond the bound.
    has_exceeded: bool,
}

/// The amplification limit of one socket.
#[derive(Debug)]
pub(super) struct AmplificationLimit {
    handshakes: RecentAddresses<HandshakePeer>,
    paths: RecentAddresses<UnconfirmedPath>,
    paths_since: Instant,
    /// The number of datagrams that may yet go beyond the bound.
    excess: u32,
    excess_since: Instant,
}

impl AmplificationLimit {
    pub(super) fn new(now: Instant) -> Self {
        AmplificationLimit {
            handshakes: RecentAddresses::new(HANDSHAKES),
            paths: RecentAddresses::new(PATHS),
            paths_since: now,
            excess: EXCESS,
            excess_since: now,
        }
    }

    /// Counts received datagrams of `size` bytes, the first of which has a long header.
    pub(super) fn handshake_received(&mut self, address: SocketAddr, received: &[u8], size: usize) {
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

    /// The bytes that may be sent of datagrams with a long header, of `size` bytes each.
    pub(super) fn allow_handshake(
        &mut self,
        address: SocketAddr,
        sent: &[u8],
        size: usize,
    ) -> usize {
        // An unknown address has sent nothing that would be answered.
        let Some(handshake) = self.handshakes.get(address) else {
            return 0;
        };
        // RFC 8999 section 6: a packet without a version has the client's ids.
        let header = long_header(sent).filter(|header| header.version != 0);
        if let Some(id) = header.and_then(|header| header.source.as_array()) {
            handshake.id = Some(*id);
        }
        handshake.allow(sent.len(), size)
    }

    /// Counts received datagrams, by which connections may send more to new addresses.
    pub(super) fn path_received(&mut self, now: Instant, address: SocketAddr, bytes: usize) {
        if let Some(path) = self.paths.get(address) {
            path.counts.received = path.counts.received.saturating_add(bytes_of(bytes));
        }
        if now.saturating_duration_since(self.paths_since) >= WATCHED {
            self.paths.forget();
            self.paths_since = now;
        }
    }

    /// True if there are unconfirmed paths, for which [`path_received`](Self::path_received) counts.
    pub(super) fn watches_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The bytes that may be sent of `length`, in datagrams of `size` bytes with a short header, to an address that
    /// is not confirmed.
    pub(super) fn allow_path(
        &mut self,
        now: Instant,
        address: SocketAddr,
        (length, size): (usize, usize),
        state: PathState,
    ) -> usize {
        if let Some(handshake) = self.handshakes.get(address) {
            // The server may send on a connection before its handshake is complete.
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
        assert_eq!(limit.allow_handshake(address(1), &answer(1), 1200), 0);
        limit.handshake_received(address(1), &long(1, CHOSEN, THEIRS, 1200), 1200);
        assert_eq!(limit.allow_handshake(address(1), &answer(1422), 1200), 1422);
        // Two datagrams at once, of which one fits.
        assert_eq!(limit.allow_handshake(address(1), &answer(2400), 1200), 1200);
        assert_eq!(limit.allow_handshake(address(1), &answer(979), 979), 0);
        let now = Instant::now();
        assert_eq!(
            limit.allow_path(now, address(1), (979, 979), PathState::InUse),
            0
        );
        assert_eq!(
            limit.allow_path(now, address(1), (78, 78), PathState::InUse),
            78
        );
        assert_eq!(limit.allow_handshake(address(1), &answer(900), 900), 900);
        // An id of another server, or that which the client has chosen, proves nothing.
        for id in [CHOSEN, THEIRS] {
            limit.handshake_received(address(1), &long(1, id, THEIRS, 50), 1200);
        }
        assert_eq!(limit.allow_handshake(address(1), &answer(301), 301), 0);
        let both = [long(1, CHOSEN, THEIRS, 50), long(1, GIVEN, THEIRS, 50)].concat();
        limit.handshake_received(address(1), &both, 50);
        assert_eq!(
            limit.allow_handshake(address(1), &answer(64_000), 1200),
            64_000
        );
        let many = (64_000, 1200);
        assert_eq!(
            limit.allow_path(now, address(1), many, PathState::InUse),
            64_000
        );
    }

    #[test]
    fn the_clients_own_id_comes_back_without_proving_anything() {
        let mut limit = AmplificationLimit::new(Instant::now());
        limit.handshake_received(address(1), &long(9, CHOSEN, THEIRS, 1200), 1200);
        // Version negotiation.
        let answer = long(0, THEIRS, CHOSEN, 40);
        assert_eq!(limit.allow_handshake(address(1), &answer, 40), 40);
        limit.handshake_received(address(1), &long(1, CHOSEN, THEIRS, 1200), 1200);
        let answer = long(1, THEIRS, GIVEN, 8000);
        assert_eq!(limit.allow_handshake(address(1), &answer, 1000), 7000);
    }

    #[test]
    fn one_datagram_more_to_a_new_address_and_few_in_all() {
        let now = Instant::now();
        let mut limit = AmplificationLimit::new(now);
        let one = (1200, 1200);
        let probe = (1326, 1326);
        assert_eq!(
            limit.allow_path(now, address(1), one, PathState::InUse),
            1200
        );
        assert!(limit.watches_paths());
        for _ in 0..3 {
            assert_eq!(
                limit.allow_path(now, address(1), probe, PathState::Unknown),
                0
            );
        }
        // As much as came allows more, and what is short answers something longer.
        limit.path_received(now, address(1), 1200);
        assert_eq!(
            limit.allow_path(now, address(1), one, PathState::Unknown),
            1200
        );
        assert_eq!(
            limit.allow_path(now, address(1), probe, PathState::Unknown),
            0
        );
        let reset = (40, 40);
        assert_eq!(
            limit.allow_path(now, address(2), reset, PathState::Unknown),
            40
        );
        // Forged addresses use up the excess.
        let mut flood = |seconds: u64| {
            let now = now + Duration::from_secs(seconds);
            let sent = (0..1000)
                .map(|number| limit.allow_path(now, address(1000 + number), one, PathState::InUse));
            sent.sum::<usize>() / 1200
        };
        assert_eq!(flood(0), 255);
        assert_eq!(flood(1), 64);
        assert_eq!(flood(3), 128);
        assert_eq!(flood(100), 256);
        // An address that has sent much gets its answers all the same.
        limit.path_received(now, address(1999), 4000);
        let many = (13_200, 1200);
        assert_eq!(
            limit.allow_path(now, address(1999), many, PathState::InUse),
            12_000
        );
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let now = Instant::now();
        let mut limit = AmplificationLimit::new(now);
        for number in 0..u16::MAX {
            limit.allow_path(now, address(number), (1200, 1200), PathState::InUse);
        }
        assert!(limit.paths.young.len() <= PATHS && limit.paths.old.len() <= PATHS);
        for seconds in [10, 20] {
            // As long as it may matter, and no longer.
            assert!(limit.watches_paths());
            let now = now + Duration::from_secs(seconds);
            limit.path_received(now, address(1), 1);
        }
        assert!(!limit.watches_paths());
        for number in 0..u16::MAX {
            limit.handshake_received(address(number), &long(1, CHOSEN, THEIRS, 1200), 1200);
        }
        let RecentAddresses { young, old, .. } = &limit.handshakes;
        assert!(young.len() <= HANDSHAKES && old.len() <= HANDSHAKES);
    }
}
