//! TLS of the client: whom it believes.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::stream::Stream;
use crate::failure::Failure;

/// The certificates of authorities that are believed.
#[derive(Clone, Debug)]
pub(super) struct Trust(Arc<RootCertStore>);

impl Trust {
    /// Those of a file, else those of the system.
    ///
    /// # Errors
    /// The file holds none.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        let Some(path) = file else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(Trust(Arc::new(roots)));
        };
        let failed = |why: String| Failure::Failed(format!("--ca {path:?} cannot be used: {why}"));
        let read =
            CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?;
        for certificate in read {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            let added = roots.add(certificate);
            added.map_err(|error| failed(error.to_string()))?;
        }
        match roots.is_empty() {
            true => Err(failed(
                "it holds no certificate: give a PEM file".to_owned(),
            )),
            false => Ok(Trust(Arc::new(roots))),
        }
    }

    /// The stream with TLS, once the server has shown that it is this host.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn secure(&self, mut stream: TcpStream, host: &str) -> io::Result<Box<dyn Stream>> {
        if self.0.is_empty() {
            return Err(io::Error::other(
                "this system trusts no certificate: install ca-certificates, or give --ca",
            ));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let mut config = config
            .with_root_certificates(Arc::clone(&self.0))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(config), name);
        let mut connection = connection.map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok(Box::new(StreamOwned::new(connection, stream)))
    }
}
