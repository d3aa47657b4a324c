//! A server that speaks HTTP/3, and a client of other people's making that verifies it.
#![allow(dead_code)]

pub(crate) mod raw;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig};
use rustls::RootCertStore;
use salver_assets::{Config, Engine, MemorySource, Mount, Source};
use salver_server::tls::{CertificateFiles, Certificates, Handshakes};
use salver_server::{Builder, Server, Settings, TlsSettings};
use salver_test::Certificate;

use crate::common::{PATIENCE, Running, Site, bind, bind_to, settings, trusting};

/// The host that the server's certificate is for.
pub(crate) const HOST: &str = "salver.test";

/// A running server and what its clients must know.
pub(crate) struct Served {
    pub(crate) running: Running,
    /// Of HTTP/3, and of HTTP over TLS.
    pub(crate) address: SocketAddr,
    roots: RootCertStore,
    settings: Settings,
    _files: tempfile::TempDir,
}

impl Served {
    pub(crate) fn new(site: &Site) -> Self {
        Served::with(site, settings(), trusting())
    }

    pub(crate) fn with(site: &Site, settings: Settings, config: Config) -> Self {
        Served::bound(settings, |settings| bind(site.root(), settings, config))
    }

    /// The same over any source.
    pub(crate) fn over(source: Arc<dyn Source>, settings: Settings) -> Self {
        Served::bound(settings, |settings| bind_to(source, settings, trusting()))
    }

    fn bound(settings: Settings, bind: impl FnOnce(Settings) -> Server) -> Self {
        let (tls, roots, files) = tls();
        let settings = Settings {
            tls: Some(tls),
            ..settings
        };
        Served::start(bind(settings.clone()), settings, roots, files)
    }

    /// As a program builds it, with TLS.
    pub(crate) fn of(builder: Builder) -> Self {
        Served::at(builder, "127.0.0.1:0".parse().unwrap())
    }

    /// The same at an address.
    pub(crate) fn at(builder: Builder, address: SocketAddr) -> Self {
        let (mut tls, roots, files) = tls();
        tls.addresses = vec![address];
        let server = builder.tls(tls).build().unwrap();
        Served::start(server, settings(), roots, files)
    }

    fn start(
        server: Server,
        settings: Settings,
        roots: RootCertStore,
        files: tempfile::TempDir,
    ) -> Self {
        Served {
            address: server.tls_addresses()[0],
            running: Running::start(server),
            roots,
            settings,
            _files: files,
        }
    }

    /// What it was bound with.
    pub(crate) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// Why another server of this kind cannot be bound there.
    pub(crate) fn bind_error(&self, address: SocketAddr) -> String {
        let mut settings = self.settings.clone();
        settings.tls.as_mut().unwrap().addresses = vec![address];
        let source: Arc<dyn Source> = Arc::new(MemorySource::new());
        let mounts = vec![Mount::tree("/", source)];
        let engine = Engine::new(Config {
            mounts,
            ..Config::default()
        });
        let bound = Server::bind(engine.unwrap(), settings);
        bound.err().unwrap().to_string()
    }

    /// How a client of this server is configured.
    pub(crate) fn client(&self, transport: TransportConfig, protocol: &str) -> ClientConfig {
        let mut tls = rustls::ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        config.transport_config(Arc::new(transport));
        config
    }

    /// The head of an answer of HTTP/1.1 over TLS.
    pub(crate) fn head_over_tcp(&self) -> String {
        let tls = rustls::ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let tls = rustls::ClientConnection::new(Arc::new(tls), HOST.try_into().unwrap()).unwrap();
        let tcp = TcpStream::connect(self.address).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut stream = rustls::StreamOwned::new(tls, tcp);
        let request = format!("HEAD / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        stream.read_to_string(&mut head).unwrap();
        head
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self) -> Session {
        self.connect_with(TransportConfig::default()).await
    }

    pub(crate) async fn connect_with(&self, transport: TransportConfig) -> Session {
        self.try_connect(transport).await.unwrap()
    }

    pub(crate) async fn try_connect(
        &self,
        transport: TransportConfig,
    ) -> Result<Session, quinn::ConnectionError> {
        let endpoint = endpoint();
        let quic = self.quic(&endpoint, transport).await?;
        Ok(Session::new(endpoint, quic).await)
    }

    /// A connection without HTTP, from a port of its own, as any client makes one.
    pub(crate) async fn plain(&self) -> quinn::Connection {
        let made = self.quic(&endpoint(), TransportConfig::default()).await;
        made.unwrap()
    }

    /// A connection without HTTP.
    pub(crate) async fn quic(
        &self,
        endpoint: &Endpoint,
        transport: TransportConfig,
    ) -> Result<quinn::Connection, quinn::ConnectionError> {
        let config = self.client(transport, "h3");
        let connecting = endpoint.connect_with(config, self.address, HOST).unwrap();
        within(connecting).await
    }
}

/// What a server needs for TLS at any free port, who trusts it, and where its files lie.
fn tls() -> (TlsSettings, RootCertStore, tempfile::TempDir) {
    let made = Certificate::of(&[HOST]);
    let files = tempfile::tempdir().unwrap();
    let [certificate, key] = made.write(files.path());
    let mut roots = RootCertStore::empty();
    roots.add(made.der).unwrap();
    let certificates = Certificates::read(vec![CertificateFiles { certificate, key }]).unwrap();
    let tls = TlsSettings {
        handshakes: Handshakes::new(certificates).unwrap(),
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        redirects: vec![],
        hsts: None,
    };
    (tls, roots, files)
}

/// At any free port.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// No test waits longer for anything.
pub(crate) async fn within<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

/// Runs a test's clients.
pub(crate) fn run<F: Future>(clients: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(clients)
}

/// A connection.
pub(crate) struct Session {
    pub(crate) endpoint: Endpoint,
    pub(crate) quic: quinn::Connection,
    pub(crate) requests: SendRequest<OpenStreams, Bytes>,
    driver: tokio::task::JoinHandle<()>,
}

/// An answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: HeaderMap,
    pub(crate) content: Vec<u8>,
}

pub(crate) type Stream = h3::client::RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

impl Session {
    async fn new(endpoint: Endpoint, quic: quinn::Connection) -> Self {
        let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(quic.clone()))
            .await
            .unwrap();
        let driver = tokio::spawn(async move {
            std::future::poll_fn(|context| driver.poll_close(context)).await;
        });
        Session {
            endpoint,
            quic,
            requests,
            driver,
        }
    }

    /// Sends a request without content.
    pub(crate) async fn send(&mut self, method: &str, path: &str, more: &[(&str, &str)]) -> Stream {
        let mut stream = self.begin(method, path, more).await;
        stream.finish().await.unwrap();
        stream
    }

    /// Begins a request.
    pub(crate) async fn begin(
        &mut self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
    ) -> Stream {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{HOST}{path}"));
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        within(self.requests.send_request(request)).await.unwrap()
    }

    pub(crate) async fn request(
        &mut self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
    ) -> Answer {
        let stream = self.send(method, path, more).await;
        answer(stream).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, &[]).await
    }

    /// Waits for the end of the connection.
    pub(crate) async fn ends(self) -> quinn::ConnectionError {
        let error = within(self.quic.closed()).await;
        within(self.driver).await.unwrap();
        error
    }
}

/// The head of an answer.
pub(crate) async fn head(stream: &mut Stream) -> Response<()> {
    within(stream.recv_response()).await.unwrap()
}

/// What follows a head.
pub(crate) async fn content(stream: &mut Stream) -> Result<Vec<u8>, h3::error::StreamError> {
    let mut content = Vec::new();
    while let Some(mut piece) = within(stream.recv_data()).await? {
        content.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    Ok(content)
}

pub(crate) async fn answer(mut stream: Stream) -> Answer {
    let (parts, ()) = head(&mut stream).await.into_parts();
    Answer {
        status: parts.status.as_u16(),
        fields: parts.headers,
        content: content(&mut stream).await.unwrap(),
    }
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A client that grants little, so that most of an answer stays at the server until it is read.
pub(crate) fn narrow() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(10_000u32.into())
        .receive_window(2_000_000u32.into());
    transport
}
