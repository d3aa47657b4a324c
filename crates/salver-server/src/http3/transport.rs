//! How QUIC is to behave: what a connection may hold, and for how long.

use std::cell::Cell;
use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicServerConfig};
use quinn::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::path_state::WatchedCubic;
use crate::settings::Settings;

/// Requests that may be under way on one connection.
const REQUESTS: u32 = 128;

/// Streams of one direction: one for control, two for QPACK, and some of kinds that do not matter.
const OTHER_STREAMS: u32 = 8;

/// What a client may send on one stream before it was read, in bytes. A head is 16 KiB at most, and
/// content is not wanted.
const STREAM_WINDOW: u32 = 64 * 1024;

/// The same on all streams of a connection.
const WINDOW: u32 = 256 * 1024;

/// What a connection may hold that its client has not acknowledged, in bytes: enough for 80 Mbit/s
/// at a round trip of 100 ms.
const SEND_WINDOW: u64 = 1024 * 1024;

/// What is left when there are many connections.
const LITTLE: u64 = 128 * 1024;

/// While connections could hold no more than this together, each gets [`SEND_WINDOW`].
const PLENTY: u64 = 256 * 1024 * 1024;

/// First packets of clients that wait for the loop to look at them.
const WAITING: usize = 1024;

/// What may come of a client's first packets before the loop has looked at them, in bytes: a
/// hello is a few packets.
const FIRST_PACKETS: u64 = 16 * 1024;

/// QUIC version 1 (RFC 9000 section 15), the only one that there is HTTP/3 for here: quinn would speak drafts of
/// it, too.
const VERSIONS: [u32; 1] = [1];

/// What holds for all connections before they are made.
pub(super) fn endpoint_config() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.supported_versions(VERSIONS.to_vec());
    config
}

/// The configuration that all workers share, so that a token which one of them gave out is good with
/// the others.
///
/// # Errors
/// If the handshake could not even begin: it needs TLS 1.3 with AES-128-GCM.
pub(super) fn config(
    tls: Arc<rustls::ServerConfig>,
    settings: &Settings,
) -> Result<ServerConfig, NoInitialCipherSuite> {
    let mut transport = TransportConfig::default();
    // A timeout that does not fit is longer than any client's.
    let idle = IdleTimeout::try_from(settings.idle_timeout);
    transport
        .max_idle_timeout(Some(idle.unwrap_or(VarInt::MAX.into())))
        .max_concurrent_bidi_streams(REQUESTS.into())
        .max_concurrent_uni_streams(OTHER_STREAMS.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(WINDOW.into())
        .send_window(SEND_WINDOW)
        .congestion_controller_factory(Arc::new(WatchedCubic::default()))
        .datagram_receive_buffer_size(None);
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(WAITING)
        .incoming_buffer_size(FIRST_PACKETS)
        .incoming_buffer_size_total(FIRST_PACKETS * 64);
    Ok(config)
}

/// What one connection may hold that its client has not acknowledged: the less, the more connections its loop
/// has.
pub(super) struct SendWindow(Cell<u64>);

impl SendWindow {
    /// What QUIC was told when the connection began.
    pub(super) fn new() -> Self {
        SendWindow(Cell::new(SEND_WINDOW))
    }

    /// What QUIC is to be told, in bytes, if that is something else than it was told last.
    pub(super) fn fit(&self, connections: usize) -> Option<u64> {
        let window = send_window(connections);
        (self.0.replace(window) != window).then_some(window)
    }
}

/// One of a few values, in bytes, so that it seldom changes when the number of connections does.
fn send_window(connections: usize) -> u64 {
    let connections = u64::try_from(connections).unwrap_or(u64::MAX).max(1);
    let class = connections.checked_next_power_of_two().unwrap_or(u64::MAX);
    (PLENTY / class).clamp(LITTLE, SEND_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_connections_the_less_for_each() {
        let mib = 1024 * 1024;
        for (connections, expected) in [
            (0, mib),
            (1, mib),
            (256, mib),
            (257, mib / 2),
            (512, mib / 2),
            (513, mib / 4),
            (1500, mib / 8),
            (100_000, mib / 8),
        ] {
            assert_eq!(send_window(connections), expected, "{connections}");
        }
    }

    #[test]
    fn quic_is_told_when_it_changes() {
        let (mib, window) = (1024 * 1024, SendWindow::new());
        for (connections, expected) in [
            (1, None),
            (256, None),
            (257, Some(mib / 2)),
            (300, None),
            (513, Some(mib / 4)),
            (100, Some(mib)),
        ] {
            assert_eq!(window.fit(connections), expected, "{connections}");
        }
    }
}
