//! What an idle connection with HTTP/2 over TLS costs the server in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::{Running, site, tls_flags};
use h2::client::SendRequest;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use salver_test::{Certificate, status_kib};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const CONNECTIONS: usize = 1_000;
/// Far beyond what one needs, and far below what a buffer for each would come to.
const MOST_BYTES: u64 = 64 * 1024;

/// A connection over which one request has been answered; it stays open until this is dropped.
async fn connect(addr: SocketAddr, connector: &TlsConnector) -> SendRequest<bytes::Bytes> {
    let tcp = TcpStream::connect(addr).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = connector.connect(name, tcp).await.unwrap();
    assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) = h2::client::handshake(tls).await.unwrap();
    tokio::spawn(connection);
    ask(sender, addr).await
}

async fn ask(sender: SendRequest<bytes::Bytes>, addr: SocketAddr) -> SendRequest<bytes::Bytes> {
    let mut sender = sender.ready().await.unwrap();
    let uri = format!("https://localhost:{}/a", addr.port());
    let request = http::Request::get(uri).body(()).unwrap();
    let (answer, _) = sender.send_request(request, true).unwrap();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    let content = body.data().await.unwrap().unwrap();
    body.flow_control().release_capacity(content.len()).unwrap();
    assert_eq!(content, "alpha");
    assert!(body.data().await.is_none());
    sender
}

#[tokio::test]
async fn a_thousand_idle_connections_over_http2_and_tls_need_little() {
    let root = site(&[("a", "alpha")]);
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&["localhost"]);
    let files = certificate.write(folder.path());
    let server = Running::start(root.path(), &tls_flags(&files));

    let mut trusted = RootCertStore::empty();
    trusted.add(certificate.der.clone()).unwrap();
    let mut config = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = TlsConnector::from(Arc::new(config));

    // What a first connection sets up once is no part of what each costs.
    drop(connect(server.addr, &connector).await);
    let before = status_kib(server.pid(), "VmRSS");
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        idle.push(connect(server.addr, &connector).await);
    }
    let grown = status_kib(server.pid(), "VmRSS") - before;
    let each = grown * 1024 / u64::try_from(CONNECTIONS).unwrap();
    println!("{CONNECTIONS} idle connections, HTTP/2 over TLS: {grown} KiB, {each} bytes each");
    assert!(each < MOST_BYTES, "{each} bytes");
    // They are all there still.
    for sender in idle {
        ask(sender, server.addr).await;
    }
}
