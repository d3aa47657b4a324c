//! The settings of handshakes: versions, protocols, resumption.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::server::ClientHello;
use rustls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::{TLS12, TLS13};

use crate::certificates::Certificates;

/// The number of sessions of TLS 1.2 clients without tickets, which the server must remember itself; each takes less
/// than a KiB.
const SESSIONS: usize = 1024;

/// The longest record to a client of HTTP/1.1, in bytes of content and what encryption adds: each
/// answer is encrypted by itself, into memory that is taken for each record, and two blocks of 8 KiB
/// are more likely to be in the processor's cache than one of 16. Measured over the arena's files:
/// 14.6 us of CPU per request instead of 15.6 with one request at a time on a connection; with many
/// streams on it, where records are full, it is the other way round (8.6 instead of 8.3).
const SHORT: usize = 8 * 1024 + 21;

/// The settings of a listener's handshakes over TCP.
#[derive(Clone, Debug)]
pub struct TcpHandshakes {
    config: Arc<ServerConfig>,
    short: Arc<ServerConfig>,
}

impl TcpHandshakes {
    /// The settings for a client with this ClientHello.
    pub fn of(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let mut offered = hello.alpn().into_iter().flatten();
        if offered.any(|protocol| protocol == b"h2") {
            Arc::clone(&self.config)
        } else {
            Arc::clone(&self.short)
        }
    }
}

/// The state that all handshakes of a server share: certificates, and the keys of resumption. So a session that began
/// on one worker, or over TCP, is resumed on any other, or over QUIC.
#[derive(Clone, Debug)]
pub struct Handshakes {
    certificates: Certificates,
    tickets: Arc<dyn ProducesTickets>,
    sessions: Arc<dyn StoresServerSessions>,
}

impl Handshakes {
    /// Makes the keys of resumption: valid for 12 hours, and in memory only.
    ///
    /// # Errors
    /// [`io::Error`] if the system has no randomness.
    pub fn new(certificates: Certificates) -> io::Result<Self> {
        Ok(Handshakes {
            certificates,
            tickets: Ticketer::new().map_err(io::Error::other)?,
            sessions: ServerSessionMemoryCache::new(SESSIONS),
        })
    }

    /// Has sessions resumed that began with others: by their keys.
    pub fn continue_sessions(&mut self, before: &Handshakes) {
        self.tickets = Arc::clone(&before.tickets);
        self.sessions = Arc::clone(&before.sessions);
    }

    /// The certificates that handshakes choose from.
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The subjects of each certificate in use, and the moment of its end.
    pub fn expiries(&self) -> Vec<(String, SystemTime)> {
        self.certificates().expiries()
    }

    /// True if a connection that was made for `server_name` may carry requests for the host of `authority`, which is
    /// another site's.
    pub fn shows_same(&self, server_name: &str, authority: &[u8]) -> bool {
        self.certificates.shows_same(server_name, authority)
    }

    /// The settings for TCP: TLS 1.3 and 1.2, and these protocols for ALPN (RFC 7301), the best first.
    ///
    /// # Errors
    /// [`rustls::Error`] if its provider has no suite for these versions.
    pub fn over_tcp(&self, protocols: &[&[u8]]) -> Result<TcpHandshakes, rustls::Error> {
        let config = self.config(&[&TLS13, &TLS12], protocols)?;
        let mut short = ServerConfig::clone(&config);
        short.max_fragment_size = Some(SHORT);
        Ok(TcpHandshakes {
            config,
            short: Arc::new(short),
        })
    }

    /// The settings for QUIC: TLS 1.3 alone (RFC 9001 section 4.2), and HTTP/3.
    ///
    /// # Errors
    /// [`rustls::Error`] if its provider has no suite for this version.
    pub fn over_quic(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        self.config(&[&TLS13], &[b"h3"])
    }

    /// The settings of rustls. Without early data: a request in it could be replayed by any observer.
    fn config(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
        protocols: &[&[u8]],
    ) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)?
            .with_no_client_auth()
            .with_cert_resolver(self.certificates.resolver());
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        config.ticketer = Arc::clone(&self.tickets);
        config.session_storage = Arc::clone(&self.sessions);
        Ok(Arc::new(config))
    }
}
