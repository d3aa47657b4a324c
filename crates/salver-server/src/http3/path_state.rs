//! The state of the path of the datagrams that QUIC sends next: confirmed as the client's or not.
//!
//! QUIC does not tell its socket. But it tells the congestion controller of a path of each datagram before it hands
//! it to the socket, and of acknowledgements only once the path is validated (RFC 9000 section 8.2): those before are
//! of another path. A new path has a new controller.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use quinn_proto::RttEstimator;

thread_local! {
    /// The last transmission that a controller of this thread was told of, which the socket takes.
    static LAST_SENT: Cell<Option<SentDatagrams>> = const { Cell::new(None) };
}

/// A transmission that a controller was told of.
#[derive(Clone, Copy, Debug)]
struct SentDatagrams {
    bytes: u64,
    state: PathState,
}

/// The state of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathState {
    /// The path is validated: datagrams sent there were acknowledged.
    Confirmed,
    /// The connection uses it, and may or may not have validated it; until then QUIC sends one datagram at most
    /// beyond three times what came from there.
    InUse,
    /// No controller was told: QUIC only probes another path, or a larger datagram.
    Unknown,
}

/// The state of the path of the datagrams that QUIC is about to send, of so many bytes together. It can be taken
/// once.
pub(super) fn take_path_state(bytes: usize) -> PathState {
    match LAST_SENT.take() {
        Some(sent) if u64::try_from(bytes) == Ok(sent.bytes) => sent.state,
        _ => PathState::Unknown,
    }
}

/// The factory of the default congestion controllers, watched.
#[derive(Debug, Default)]
pub(super) struct WatchedCubic(Arc<CubicConfig>);

impl ControllerFactory for WatchedCubic {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(WatchedController {
            inner: Arc::clone(&self.0).build(now, current_mtu),
            is_confirmed: false,
        })
    }
}

/// The congestion controller of one path, watched.
struct WatchedController {
    inner: Box<dyn Controller>,
    is_confirmed: bool,
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let state = if self.is_confirmed {
            PathState::Confirmed
        } else {
            PathState::InUse
        };
        LAST_SENT.set(Some(SentDatagrams { bytes, state }));
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

    /// A controller for another path: a client's NAT has given it another port.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(WatchedController {
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
