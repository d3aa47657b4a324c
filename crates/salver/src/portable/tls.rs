//! TLS of the server: its settings, and the handshake of a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use salver_config::Configuration;
pub(crate) use salver_tls::NOT_TLS;
use salver_tls::{CertificateWatch, Handshakes, PEEKED, TcpHandshakes, is_http, watch};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::server::TlsStream;

use crate::failure::Failure;
use crate::portable::timed_stream::TimedStream;
use crate::tls_settings;

/// The settings of TLS, and what people are told of them.
#[derive(Debug)]
pub(crate) struct Tls {
    handshakes: Handshakes,
    over_tcp: TcpHandshakes,
    /// Where requests without TLS are redirected.
    pub(crate) redirects: Vec<SocketAddr>,
    /// The time for which browsers shall use nothing else, of answers to what is no request for a site.
    pub(crate) hsts: Option<Duration>,
    /// The certificates, one line each.
    pub(crate) certificates: Vec<String>,
    /// What a person should know of them.
    pub(crate) warnings: Vec<String>,
}

/// The stream of a connection whose first bytes were looked at.
pub(crate) enum Accepted {
    /// The handshake was made.
    Secure(Box<TlsStream<TimedStream<TcpStream>>>),
    /// The client speaks HTTP without TLS.
    Plain(TcpStream),
}

/// Reads the settings of TLS, to offer these versions of HTTP by ALPN; `None` without TLS.
///
/// # Errors
/// A certificate that cannot be used, or settings that cannot be meant.
pub(crate) fn read(
    configuration: &Configuration,
    protocols: &[&[u8]],
) -> Result<Option<Tls>, Failure> {
    let Some(tls) = tls_settings::tls(configuration)? else {
        return Ok(None);
    };
    let over_tcp = tls.handshakes.over_tcp(protocols);
    let over_tcp =
        over_tcp.map_err(|error| Failure::Failed(format!("TLS cannot be set up: {error}")))?;
    Ok(Some(Tls {
        over_tcp,
        redirects: tls.redirects,
        hsts: tls.hsts,
        certificates: tls.handshakes.certificates().summary(),
        warnings: tls.warnings,
        handshakes: tls.handshakes,
    }))
}

impl Tls {
    /// Has renewed certificates used, until it is dropped.
    ///
    /// # Errors
    /// No thread could be had.
    pub(crate) fn watch(&self) -> io::Result<Option<CertificateWatch>> {
        watch(&self.handshakes)
    }

    /// True if a client is shown the same certificate for both hosts.
    pub(crate) fn shows_same(&self, server_name: &str, authority: &[u8]) -> bool {
        self.handshakes.shows_same(server_name, authority)
    }

    /// Makes the handshake, on a stream that `limit` gives time limits. A failed one is the client's affair: it is
    /// told by an alert (RFC 8446 section 6.2).
    ///
    /// # Errors
    /// Why there is no stream.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        limit: impl FnOnce(TcpStream) -> TimedStream<TcpStream>,
    ) -> io::Result<Accepted> {
        let mut first = [0; PEEKED];
        let count = stream.peek(&mut first).await?;
        if is_http(first.get(..count).unwrap_or_default()) {
            return Ok(Accepted::Plain(stream));
        }
        let start = LazyConfigAcceptor::new(Acceptor::default(), limit(stream)).await?;
        let config = self.over_tcp.of(&start.client_hello());
        let stream = start.into_stream(config).await?;
        Ok(Accepted::Secure(Box::new(stream)))
    }
}

/// The host that the client has named in its handshake, empty if none.
pub(crate) fn server_name(stream: &TlsStream<TimedStream<TcpStream>>) -> &str {
    stream.get_ref().1.server_name().unwrap_or_default()
}
