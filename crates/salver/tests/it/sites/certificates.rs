//! Certificates by site, and requests over a connection that is for another.

use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use rustls::RootCertStore;
use salver_test::Certificate;
use tempfile::TempDir;

use super::folder;
use crate::common::curl::{Answer, curl};
use crate::common::{PATIENCE, Running, stop};

/// A server whose sites have certificates of their own: `a.test` and `*.shared.test` in one, `b.test` in another. The
/// sites `one.shared.test` and `c.test` have none.
struct Secure {
    server: Running,
    folder: TempDir,
    roots: RootCertStore,
}

const SITES: &str = "[[site]]\nroot = 'a'\nhosts = ['a.test']\ntls = { certificate = 'a.pem', key = 'a.key' }\n\
                     [[site]]\nroot = 'b'\nhosts = ['b.test', '*.b.test']\n\
                     tls = { certificate = 'b.pem', key = 'b.key', hsts = 600 }\n\
                     [[site]]\nroot = 'c'\nhosts = ['one.shared.test', 'c.test']\n";

fn serve() -> Secure {
    let folder = folder(SITES, &[]);
    let mut roots = RootCertStore::empty();
    let names: [(&str, &[&str]); 2] = [
        ("a", &["a.test", "*.shared.test", "c.test"]),
        ("b", &["b.test"]),
    ];
    let mut all = Vec::new();
    for (name, hosts) in names {
        let made = Certificate::of(hosts);
        let of = tempfile::tempdir().unwrap();
        let [certificate, key] = made.write(of.path());
        all.extend(std::fs::read(&certificate).unwrap());
        std::fs::copy(certificate, folder.path().join(format!("{name}.pem"))).unwrap();
        std::fs::copy(key, folder.path().join(format!("{name}.key"))).unwrap();
        roots.add(made.der).unwrap();
    }
    std::fs::write(folder.path().join("all.pem"), all).unwrap();
    Secure {
        server: Running::by_file(folder.path(), &[]),
        folder,
        roots,
    }
}

impl Secure {
    /// The answer to a request for `host` over a connection for `name`, whose certificate has to be right.
    fn ask(&self, version: &str, name: &str, host: &str) -> Answer {
        let SocketAddr::V4(address) = self.server.addr else {
            panic!("{}", self.server.addr)
        };
        let port = address.port();
        let authorities = self.folder.path().join("all.pem");
        curl(&[
            version,
            "--cacert",
            authorities.to_str().unwrap(),
            "--resolve",
            &format!("{name}:{port}:127.0.0.1"),
            "--header",
            &format!("Host: {host}"),
            &format!("https://{name}:{port}/"),
        ])
    }

    /// The same over HTTP/3: status and content.
    async fn ask_over_quic(&self, name: &str, host: &str) -> (u16, String) {
        let mut tls = rustls::ClientConfig::builder()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let config = QuicClientConfig::try_from(tls).unwrap();
        let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let config = quinn::ClientConfig::new(Arc::new(config));
        let connecting = endpoint.connect_with(config, self.server.addr, name);
        let quic = connecting.unwrap().await.unwrap();
        let (mut driver, mut requests) = h3::client::new(h3_quinn::Connection::new(quic))
            .await
            .unwrap();
        let driving = tokio::spawn(async move { driver.wait_idle().await });
        let request = http::Request::get(format!("https://{host}/")).body(());
        let mut stream = requests.send_request(request.unwrap()).await.unwrap();
        stream.finish().await.unwrap();
        let status = stream.recv_response().await.unwrap().status().as_u16();
        let mut content = Vec::new();
        while let Some(mut piece) = stream.recv_data().await.unwrap() {
            use bytes::Buf as _;
            content.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
        }
        driving.abort();
        (status, String::from_utf8(content).unwrap())
    }
}

/// Connections and requests, and what comes: the name of the connection, the host of the request.
const CASES: [(&str, &str, Result<&str, u16>); 10] = [
    ("a.test", "a.test", Ok("site a")),
    ("b.test", "b.test", Ok("site b")),
    ("b.test", "B.TEST.:443", Ok("site b")),
    ("one.shared.test", "one.shared.test", Ok("site c")),
    // The certificate of the connection is another site's.
    ("a.test", "b.test", Err(421)),
    ("b.test", "a.test", Err(421)),
    ("b.test", "c.test", Err(421)),
    // The certificate is for both hosts.
    ("a.test", "one.shared.test", Ok("site c")),
    ("one.shared.test", "a.test", Ok("site a")),
    // Both hosts are of one site.
    ("b.test", "x.b.test", Ok("site b")),
];

fn check(found: (u16, &str), expected: Result<&str, u16>, place: &str) {
    match expected {
        Ok(content) => assert_eq!(found, (200, content), "{place}"),
        Err(status) => assert_eq!(found.0, status, "{place}: {}", found.1),
    }
}

#[test]
fn a_connection_is_for_the_hosts_of_its_certificate() {
    let secure = serve();
    for version in ["--http1.1", "--http2"] {
        for (name, host, expected) in CASES {
            let answer = secure.ask(version, name, host);
            let place = format!("{version} {name} {host}");
            check((answer.status, &answer.content), expected, &place);
            let hsts = answer.field("strict-transport-security");
            let of_b = expected == Ok("site b");
            assert_eq!(hsts, if of_b { "max-age=600" } else { "" }, "{place}");
        }
    }
    stop(secure.server);
}

#[test]
fn so_it_is_over_http3() {
    let secure = serve();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        for (name, host, expected) in CASES {
            let asked = secure.ask_over_quic(name, host);
            let (status, content) = tokio::time::timeout(PATIENCE, asked).await.unwrap();
            let place = format!("HTTP/3 {name} {host}");
            check((status, &content), expected, &place);
        }
    });
    stop(secure.server);
}
