//! A UDP socket with the amplification limit: datagrams beyond it are lost, as they may be on any network, and QUIC
//! sends them again when it has heard from the address.

use std::hash::BuildHasher;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use foldhash::quality::RandomState;
use quinn::AsyncUdpSocket;
use quinn::udp::{RecvMeta, Transmit};

use super::amplification::AmplificationLimit;
use super::path_state::{PathState, take_path_state};
use super::socket_layer::SocketLayer;

/// The number of addresses that are remembered as confirmed, by acknowledgements.
const CONFIRMED: usize = 4096;

/// The layer of the amplification limit. Almost all datagrams are of confirmed paths, and cost a hash of their
/// address.
pub(super) struct LimitLayer {
    limit: Mutex<AmplificationLimit>,
    /// True while the limit has unconfirmed paths, for which received bytes count.
    watches_paths: AtomicBool,
    /// The hashes of confirmed addresses, each at the place that it names; one may have taken another one's.
    confirmed: Box<[AtomicU64]>,
    hashes: RandomState,
}

impl LimitLayer {
    pub(super) fn new() -> Self {
        LimitLayer {
            limit: Mutex::new(AmplificationLimit::new(Instant::now())),
            watches_paths: AtomicBool::new(false),
            confirmed: (0..CONFIRMED).map(|_| AtomicU64::new(0)).collect(),
            hashes: RandomState::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, AmplificationLimit> {
        // No change of the limit can be half done.
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, received: &[u8], meta: &RecvMeta) {
        if received.first().is_some_and(|first| first & 0x80 != 0) {
            self.lock()
                .handshake_received(meta.addr, received, meta.stride);
        }
        if self.watches_paths.load(Ordering::Relaxed) {
            let mut limit = self.lock();
            limit.path_received(Instant::now(), meta.addr, received.len());
            let watches = limit.watches_paths();
            self.watches_paths.store(watches, Ordering::Relaxed);
        }
    }

    /// The bytes of a transmission that may be sent.
    fn allowed(&self, transmit: &Transmit<'_>) -> usize {
        let (address, contents) = (transmit.destination, transmit.contents);
        let state = take_path_state(contents.len());
        let size = transmit.segment_size.unwrap_or(contents.len());
        if contents.first().is_some_and(|first| first & 0x80 != 0) {
            return self.lock().allow_handshake(address, contents, size);
        }
        if self.is_confirmed(address, state) {
            return contents.len();
        }
        let mut limit = self.lock();
        let allowed = limit.allow_path(Instant::now(), address, (contents.len(), size), state);
        let watches = limit.watches_paths();
        self.watches_paths.store(watches, Ordering::Relaxed);
        allowed
    }

    /// True if the address is confirmed, by the state of this transmission or of an earlier one.
    fn is_confirmed(&self, address: SocketAddr, state: PathState) -> bool {
        // 0 is the hash of no address.
        let hash = self.hashes.hash_one(address) | 1;
        let place = usize::try_from(hash >> 32).unwrap_or_default() % CONFIRMED;
        let Some(place) = self.confirmed.get(place) else {
            return false;
        };
        let is_known = place.load(Ordering::Relaxed) == hash;
        if state == PathState::Confirmed && !is_known {
            place.store(hash, Ordering::Relaxed);
        }
        is_known || state == PathState::Confirmed
    }
}

impl SocketLayer for LimitLayer {
    fn try_send(&self, below: &dyn AsyncUdpSocket, transmit: &Transmit<'_>) -> io::Result<()> {
        let allowed = self.allowed(transmit);
        if allowed == transmit.contents.len() {
            return below.try_send(transmit);
        }
        match transmit.contents.get(..allowed) {
            None | Some([]) => Ok(()),
            Some(contents) => below.try_send(&Transmit {
                contents,
                segment_size: transmit.segment_size.filter(|size| *size < allowed),
                ..transmit.clone()
            }),
        }
    }

    fn poll_recv(
        &self,
        below: &dyn AsyncUdpSocket,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(below.poll_recv(context, buffers, metas))?;
        for (buffer, meta) in buffers.iter().zip(metas).take(count) {
            self.note(buffer.get(..meta.len).unwrap_or_default(), meta);
        }
        Poll::Ready(Ok(count))
    }
}
