//! Certificates made for a test, a server that uses them, and a client that trusts them.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use salver_server::tls::{CertificateFiles, Certificates, Handshakes};
use salver_server::{Settings, TlsSettings};
use salver_test::Certificate;

use super::client::Client;
use super::{PATIENCE, settings};

/// A connection over TLS.
pub(crate) type Secure = StreamOwned<ClientConnection, TcpStream>;

/// A certificate and its key, in files.
pub(crate) struct Issued {
    directory: tempfile::TempDir,
    pub(crate) certificate: CertificateDer<'static>,
}

impl Issued {
    pub(crate) fn new(names: &[&str]) -> Self {
        let made = Certificate::of(names);
        let directory = tempfile::tempdir().unwrap();
        made.write(directory.path());
        Issued {
            certificate: made.der,
            directory,
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn files(&self) -> CertificateFiles {
        CertificateFiles {
            certificate: self.directory().join("cert.pem"),
            key: self.directory().join("key.pem"),
        }
    }
}

/// One worker that serves over TLS on any free port, and nothing else.
pub(crate) fn secure(pairs: &[&Issued]) -> Settings {
    let files = pairs.iter().map(|pair| pair.files()).collect();
    let certificates = Certificates::read(files).unwrap();
    Settings {
        addresses: vec![],
        tls: Some(TlsSettings {
            handshakes: Handshakes::new(certificates).unwrap(),
            addresses: settings().addresses,
            redirects: vec![],
            hsts: None,
        }),
        ..settings()
    }
}

/// A client that trusts `pairs`, speaks `versions` and offers `protocols`.
pub(crate) fn trusting(
    pairs: &[&Issued],
    versions: &[&'static rustls::SupportedProtocolVersion],
    protocols: &[&str],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for pair in pairs {
        roots.add(pair.certificate.clone()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    Arc::new(config)
}

/// Connects and makes the handshake.
pub(crate) fn connect(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    name: &str,
) -> io::Result<Client<Secure>> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    over(stream, config, name)
}

/// Makes the handshake.
pub(crate) fn over(
    mut stream: TcpStream,
    config: &Arc<ClientConfig>,
    name: &str,
) -> io::Result<Client<Secure>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let name = name.to_owned().try_into().unwrap();
    let mut session = ClientConnection::new(Arc::clone(config), name).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    Ok(Client(BufReader::new(StreamOwned::new(session, stream))))
}

impl Client<Secure> {
    pub(crate) fn session(&self) -> &ClientConnection {
        &self.0.get_ref().conn
    }

    /// The certificate that the server showed.
    pub(crate) fn shown(&self) -> &CertificateDer<'static> {
        &self.session().peer_certificates().unwrap()[0]
    }
}
