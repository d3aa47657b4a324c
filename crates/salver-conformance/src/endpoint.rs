//! Where the server under test listens, and in which protocol it is spoken to.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// The name that a certificate of the server under test must hold.
pub const SERVER_NAME: &str = "salver.test";

/// A protocol that the table is played over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 on a bare connection.
    Http1,
    /// HTTP/1.1 over TLS, chosen by ALPN.
    Http1Tls,
    /// HTTP/2 over TLS, chosen by ALPN.
    Http2,
    /// HTTP/2 on a bare connection, with prior knowledge (RFC 9113 section 3.3).
    Http2Cleartext,
    /// HTTP/3 over QUIC.
    Http3,
}

impl Protocol {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Http1,
        Self::Http1Tls,
        Self::Http2,
        Self::Http2Cleartext,
        Self::Http3,
    ];

    /// Whether the server needs a certificate for it.
    #[must_use]
    pub const fn is_encrypted(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2 | Self::Http3)
    }

    /// What ALPN calls it (RFC 7301).
    const fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 | Self::Http1Tls => b"http/1.1",
            Self::Http2 | Self::Http2Cleartext => b"h2",
            Self::Http3 => b"h3",
        }
    }

    /// The scheme of its URIs.
    pub(crate) const fn scheme(self) -> &'static str {
        if self.is_encrypted() { "https" } else { "http" }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "h1",
            Self::Http1Tls => "h1+TLS",
            Self::Http2 => "h2",
            Self::Http2Cleartext => "h2c",
            Self::Http3 => "h3",
        })
    }
}

/// One port of the server under test.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where the server listens.
    pub address: SocketAddr,
    /// What is spoken there.
    pub protocol: Protocol,
    /// How to speak TLS; `None` on a bare connection.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Endpoint {
    /// A port without TLS.
    ///
    /// # Errors
    /// The protocol is one that needs TLS.
    pub fn bare(address: SocketAddr, protocol: Protocol) -> io::Result<Self> {
        if protocol.is_encrypted() {
            return Err(io::Error::other(format!("{protocol} needs a certificate")));
        }
        Ok(Self {
            address,
            protocol,
            tls: None,
        })
    }

    /// A port with TLS, whose server shows the certificate in this PEM file, or one that it
    /// signed; nothing else is trusted. The certificate must hold [`SERVER_NAME`].
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn trusting(
        address: SocketAddr,
        protocol: Protocol,
        certificate: &Path,
    ) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(certificate).map_err(io::Error::other)? {
            roots
                .add(certificate.map_err(io::Error::other)?)
                .map_err(io::Error::other)?;
        }
        // The cheapest exchange: thousands of connections are opened, and it is not judged here.
        let provider = rustls::crypto::CryptoProvider {
            kx_groups: vec![aws_lc_rs::kx_group::X25519, aws_lc_rs::kx_group::SECP256R1],
            ..aws_lc_rs::default_provider()
        };
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.alpn().to_vec()];
        Ok(Self {
            address,
            protocol,
            tls: Some(Arc::new(config)),
        })
    }

    /// The name to ask the server for.
    pub(crate) fn server_name() -> Result<ServerName<'static>, String> {
        ServerName::try_from(SERVER_NAME).map_err(|error| error.to_string())
    }
}
