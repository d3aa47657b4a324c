//! How QUIC is to behave: what a connection may hold, and for how long.

use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicServerConfig};
use quinn::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::path_state::WatchedCubic;
use crate::seats::{QUIC_REQUESTS, QUIC_WINDOW};
use crate::settings::Settings;

/// Streams of one direction: one for control, two for QPACK, and some of kinds that do not matter.
const OTHER_STREAMS: u32 = 8;

/// The bytes that a client may send before they are read where content is wanted: they are lent to a connection that
/// has a handler.
pub(super) const CONTENT_WINDOW: u32 = 256 * 1024;

/// What a connection may hold that its client has not acknowledged, in bytes: enough for 80 Mbit/s
/// at a round trip of 100 ms. What is read for it counts as its memory until then.
const SEND_WINDOW: u64 = 1024 * 1024;

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
        .max_concurrent_bidi_streams(QUIC_REQUESTS.into())
        .max_concurrent_uni_streams(OTHER_STREAMS.into())
        .stream_receive_window(CONTENT_WINDOW.into())
        .receive_window(QUIC_WINDOW.into())
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
