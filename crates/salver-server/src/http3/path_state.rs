//! Whether the datagram that QUIC sends next goes to an address that is known to be the client's.
//!
//! QUIC does not say so to its socket. But it tells the congestion controller of a path of each datagram
//! before it hands it to the socket, and of acknowledgements only once the path is validated (RFC 9000 section
//! 8.2): what came before were those of another path. A new path has a new controller.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use quinn_proto::RttEstimator;

thread_local! {
    /// What was said last on this thread, which the socket takes.
    static SENT: Cell<Option<Sent>> = const { Cell::new(None) };
}

/// What a path is about to send.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bytes: u64,
    state: PathState,
}

/// What is known of the path of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathState {
    /// What was sent there was acknowledged.
    Confirmed,
    /// The connection uses it, and may or may not have validated it; until then QUIC sends one datagram at most
    /// beyond three times what came from there.
    InUse,
    /// QUIC says nothing: it only looks for another path, or for a larger datagram.
    Unknown,
}

/// The path of the datagrams that QUIC is about to send, of so many bytes together; known once.
pub(super) fn take_path_state(bytes: usize) -> PathState {
    match SENT.take() {
        Some(sent) if u64::try_from(bytes) == Ok(sent.bytes) => sent.state,
        _ => PathState::Unknown,
    }
}

/// Makes what QUIC uses by default, watched.
#[derive(Debug, Default)]
pub(super) struct WatchedCubic(Arc<CubicConfig>);

impl ControllerFactory for WatchedCubic {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Watched {
            inner: Arc::clone(&self.0).build(now, current_mtu),
            is_confirmed: false,
        })
    }
}

/// The congestion controller of one path.
struct Watched {
    inner: Box<dyn Controller>,
    is_confirmed: bool,
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let state = if self.is_confirmed {
            PathState::Confirmed
        } else {
            PathState::InUse
        };
        SENT.set(Some(Sent { bytes, state }));
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.is_confirmed = true;
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    /// For another path: a client's NAT has given it another port.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Watched {
            inner: self.inner.clone_box(),
            is_confirmed: false,
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
