//! The transport of a load: the version of HTTP, whose certificates are trusted, and requests under
//! way at once on a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::error::BenchError;
use crate::protocol::target::Target;
use crate::protocol::tls;
pub use crate::protocol::tls::Trust;
pub use crate::result::model::Http;

/// How a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The version of HTTP.
    pub http: Http,
    /// Which certificates are good, where the URL says https.
    pub trust: Trust,
    /// Requests under way at once on each connection, at least 1; 1 with HTTP/1.1.
    pub streams: usize,
}

impl Default for Transport {
    /// HTTP/1.1, the system's trust, one request at a time on a connection.
    fn default() -> Self {
        Transport {
            http: Http::One,
            trust: Trust::System,
            streams: 1,
        }
    }
}

/// More requests at once than this have no use on one connection.
const MOST_STREAMS: usize = 10_000;

impl Transport {
    /// The dialer of connections to a server.
    ///
    /// # Errors
    /// Misused: what cannot be meant. Failed: certificates cannot be read.
    pub(crate) fn dialer(&self, target: &Target) -> Result<Dialer, BenchError> {
        let misused = |what: String| Err(BenchError::Misused(what));
        if self.streams == 0 || self.streams > MOST_STREAMS {
            return misused(format!(
                "{} requests at once on a connection are not 1 to {MOST_STREAMS}",
                self.streams
            ));
        }
        if self.http == Http::One && self.streams > 1 {
            return misused(
                "HTTP/1.1 has one request at a time on a connection: ask for more connections, or \
                 for HTTP/2 or HTTP/3"
                    .to_owned(),
            );
        }
        if self.http == Http::Three && !target.is_secure {
            return misused(format!(
                "HTTP/3 is always encrypted: ask https://{}",
                target.authority
            ));
        }
        let secure = match target.is_secure {
            false => None,
            true => {
                let name = ServerName::try_from(target.host.clone()).map_err(|_| {
                    BenchError::Misused(format!("{:?} is no name of a server", target.host))
                })?;
                let config = tls::config(&self.trust, self.http)?;
                Some((Arc::new(config), name))
            }
        };
        Ok(Dialer {
            address: target.address,
            http: self.http,
            is_any_certificate_good: self.trust == Trust::Any,
            secure,
            streams: self.streams,
        })
    }
}

/// The settings that connections to one server are opened with.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(crate) address: SocketAddr,
    pub(crate) http: Http,
    pub(crate) is_any_certificate_good: bool,
    /// With TLS: its settings, and whom the certificate has to name.
    pub(crate) secure: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    pub(crate) streams: usize,
}

impl Dialer {
    /// A TLS session that begins.
    pub(crate) fn tls(&self) -> io::Result<Option<rustls::ClientConnection>> {
        let Some((config, name)) = &self.secure else {
            return Ok(None);
        };
        let session = rustls::ClientConnection::new(Arc::clone(config), name.clone());
        session.map(Some).map_err(io::Error::other)
    }
}
