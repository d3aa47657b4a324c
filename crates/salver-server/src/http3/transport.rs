//! The configuration of QUIC: the limits and time limits of a connection.

use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicServerConfig};
use quinn::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::path_state::WatchedCubic;
use crate::seats::{QUIC_REQUESTS, QUIC_WINDOW};
use crate::settings::Settings;

/// The number of unidirectional streams: one for control, two for QPACK, and some of unknown types.
const OTHER_STREAMS: u32 = 8;

/// The bytes that a client may send on all streams before they are read where content is wanted, beside
/// [`QUIC_WINDOW`]: they are lent to a connection that has a handler.
pub(super) const CONTENT_WINDOW: u32 = 256 * 1024;

/// The bytes that a client may send on one stream before they are read: half as many, so that one whose content is not
/// taken leaves some to others.
pub(super) const STREAM_WINDOW: u32 = CONTENT_WINDOW / 2;

/// The bytes that a connection may hold for retransmission until its client acknowledges them: enough for 80 Mbit/s
/// at a round trip of 100 ms. They count as its memory until then.
const SEND_WINDOW: u64 = 1024 * 1024;

/// The number of clients whose first packets may wait for the loop.
const WAITING: usize = 1024;

/// The bytes of a client's first packets that may wait for the loop: a ClientHello is a few packets.
const FIRST_PACKETS: u64 = 16 * 1024;

/// QUIC version 1 (RFC 9000 section 15), the only one that there is HTTP/3 for here: quinn would speak drafts of
/// it, too.
const VERSIONS: [u32; 1] = [1];

/// The configuration of all endpoints.
pub(super) fn endpoint_config() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.supported_versions(VERSIONS.to_vec());
    config
}

/// The configuration that all workers share, so that a token which one of them gave out is good with
/// the others.
///
/// # Errors
/// [`NoInitialCipherSuite`] if the handshake could not begin: it needs TLS 1.3 with AES-128-GCM.
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
        .stream_receive_window(STREAM_WINDOW.into())
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
