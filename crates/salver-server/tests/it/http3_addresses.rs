//! HTTP/3: how much is sent to addresses that are not proved to be the client's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Site, pattern, settings, trusting};
use crate::quic::raw::{get, outcome, send};
use crate::quic::{HOST, Served, endpoint, run, within};
use quinn::congestion::NewRenoConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Endpoint, ServerConfig, TransportConfig};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use salver_server::Settings;
use salver_test::Certificate;
use tokio::net::UdpSocket;

const LARGE: usize = 8 * 1024 * 1024;

/// Longer than the pauses after which QUIC first sends again.
const WATCH: Duration = Duration::from_secs(3);

fn site() -> Site {
    Site::with(&[("a", b"alpha"), ("large", &pattern(LARGE, 1))])
}

async fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

/// All that comes for a while, in bytes and datagrams.
async fn silent(socket: &UdpSocket) -> (usize, usize) {
    let (mut bytes, mut datagrams, mut buffer) = (0, 0, [0; 2048]);
    let watching = async {
        loop {
            bytes += socket.recv(&mut buffer).await.unwrap();
            datagrams += 1;
        }
    };
    let _: Result<(), _> = tokio::time::timeout(WATCH, watching).await;
    (bytes, datagrams)
}

/// A client whose first flight is a single datagram. It trusts nobody, and is never answered.
fn client_of_one_datagram() -> quinn::ClientConfig {
    let provider = CryptoProvider {
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    };
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

/// What a client sends first.
async fn first_datagrams(config: quinn::ClientConfig) -> Vec<Vec<u8>> {
    let (middle, endpoint) = (socket().await, endpoint());
    let address = middle.local_addr().unwrap();
    let connecting = endpoint.connect_with(config, address, HOST).unwrap();
    let mut first = Vec::new();
    let reading = async {
        let mut buffer = [0; 2048];
        let length = middle.recv(&mut buffer).await.unwrap();
        first.push(buffer[..length].to_vec());
        // All of the first flight, and nothing that is sent again.
        while let Ok(length) = middle.try_recv(&mut buffer) {
            first.push(buffer[..length].to_vec());
        }
    };
    tokio::select! {
        () = reading => {}
        _ = connecting => panic!("nobody answers"),
    }
    first
}

/// Bytes that come of a first flight whose sender never answers, and how many it had.
async fn after_a_first_flight(server: SocketAddr) -> (usize, usize) {
    let first = first_datagrams(client_of_one_datagram()).await;
    let victim = socket().await;
    for datagram in &first {
        victim.send_to(datagram, server).await.unwrap();
    }
    let (bytes, _) = silent(&victim).await;
    (bytes, first.iter().map(Vec::len).sum())
}

#[test]
fn a_client_that_never_answers_gets_three_times_what_it_sent() {
    let site = site();
    for workers in [1, 2] {
        let settings = Settings {
            workers,
            ..settings()
        };
        let server = Served::with(&site, settings, trusting());
        run(async {
            let (got, sent) = after_a_first_flight(server.address).await;
            println!("{got} bytes for {sent} of a handshake");
            assert!(got > 0 && got <= 3 * sent, "{got} bytes for {sent}");
            // Others shake hands as they did.
            let quic = server.plain().await;
            let (_send, receive) = send(&quic, &get("/a", &[])).await;
            assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
        });
    }
}

#[test]
fn quinn_alone_sends_more_than_three_times_what_it_got() {
    let made = Certificate::of(&[HOST]);
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.der], made.key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    run(async {
        let config = ServerConfig::with_crypto(Arc::new(crypto));
        let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(async move {
            while let Some(incoming) = server.accept().await {
                tokio::spawn(incoming.into_future());
            }
        });
        let (got, sent) = after_a_first_flight(address).await;
        println!("{got} bytes for {sent} of a handshake with quinn alone");
        assert!(
            got > 3 * sent,
            "quinn keeps the bound by itself: http3/amplification.rs can go"
        );
    });
}

/// Between a client and a server, which may not see where the client's datagrams come from.
struct Middle {
    address: SocketAddr,
    /// So many of the client's next datagrams go from addresses of their own.
    astray: Arc<AtomicUsize>,
    /// Those addresses, and how long what went from there was.
    strangers: tokio::sync::mpsc::UnboundedReceiver<(UdpSocket, usize)>,
}

impl Middle {
    async fn new(server: SocketAddr) -> Self {
        let (inside, outside) = (socket().await, socket().await);
        let address = inside.local_addr().unwrap();
        let astray = Arc::new(AtomicUsize::new(0));
        let (give, strangers) = tokio::sync::mpsc::unbounded_channel();
        let count = Arc::clone(&astray);
        tokio::spawn(async move {
            let (mut there, mut back) = ([0; 2048], [0; 2048]);
            let mut client = None;
            loop {
                tokio::select! {
                    got = inside.recv_from(&mut there) => {
                        let (length, from) = got.unwrap();
                        client = Some(from);
                        let left = count.load(Ordering::SeqCst);
                        if left > 0 {
                            count.store(left - 1, Ordering::SeqCst);
                            let stranger = socket().await;
                            stranger.send_to(&there[..length], server).await.unwrap();
                            give.send((stranger, length)).unwrap();
                        } else {
                            outside.send_to(&there[..length], server).await.unwrap();
                        }
                    }
                    got = outside.recv_from(&mut back) => {
                        let (length, _) = got.unwrap();
                        inside.send_to(&back[..length], client.unwrap()).await.unwrap();
                    }
                }
            }
        });
        Middle {
            address,
            astray,
            strangers,
        }
    }
}

/// One datagram that asks whether the address is right; what is under way may be with it.
const ALLOWANCE: usize = 1452;

#[test]
fn a_new_address_that_never_answers_gets_one_datagram() {
    let site = site();
    let server = Served::new(&site);
    for under_way in [false, true] {
        run(async {
            let mut middle = Middle::new(server.address).await;
            let endpoint = endpoint();
            let config = server.client(TransportConfig::default(), "h3");
            let connecting = endpoint.connect_with(config, middle.address, HOST);
            let quic = within(connecting.unwrap()).await.unwrap();
            let (_send, receive) = send(&quic, &get("/a", &[])).await;
            assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
            let large = if under_way {
                let (request, mut large) = send(&quic, &get("/large", &[])).await;
                let mut begun = vec![0; LARGE / 4];
                within(large.read_exact(&mut begun)).await.unwrap();
                Some((request, large))
            } else {
                None
            };
            middle.astray.store(1, Ordering::SeqCst);
            let (request, receive) = send(&quic, &get("/a", &[])).await;
            let (stranger, sent) = within(middle.strangers.recv()).await.unwrap();
            let (got, datagrams) = silent(&stranger).await;
            println!("{got} bytes in {datagrams} datagrams for {sent}, under way: {under_way}");
            assert!(got <= 3 * sent + ALLOWANCE, "{got} bytes for {sent}");
            // The connection goes on where it was.
            assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
            if let Some((_request, mut large)) = large {
                let rest = within(large.read_to_end(LARGE)).await.unwrap();
                assert!(rest.len() > LARGE / 2);
            }
            drop(request);
        });
    }
}

/// A client that goes on sending at its pace, whether it hears of its packets or not.
fn unhindered_by_loss() -> TransportConfig {
    let mut congestion = NewRenoConfig::default();
    congestion
        .initial_window(1024 * 1024)
        .loss_reduction_factor(1.0);
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(congestion))
        .persistent_congestion_threshold(u32::MAX);
    transport
}

#[test]
fn many_new_addresses_get_little_together() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let mut middle = Middle::new(server.address).await;
        let endpoint = endpoint();
        let config = server.client(unhindered_by_loss(), "h3");
        let connecting = endpoint.connect_with(config, middle.address, HOST);
        let quic = within(connecting.unwrap()).await.unwrap();
        let (_send, receive) = send(&quic, &get("/a", &[])).await;
        assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
        // Each packet of the client from another address. None is acknowledged: all that is said goes astray.
        let count = 800;
        middle.astray.store(count, Ordering::SeqCst);
        let began = std::time::Instant::now();
        let mut strangers = Vec::new();
        let (mut request, _answer) = within(quic.open_bi()).await.unwrap();
        while strangers.len() < count {
            within(request.write_all(b"\x21\0")).await.unwrap();
            let asked = tokio::time::timeout(Duration::from_millis(5), middle.strangers.recv());
            if let Ok(stranger) = asked.await {
                strangers.push(stranger.unwrap());
            }
        }
        let seconds = usize::try_from(began.elapsed().as_secs() + WATCH.as_secs()).unwrap() + 1;
        tokio::time::sleep(WATCH).await;
        let (mut got, mut sent, mut buffer) = (0, 0, [0; 2048]);
        for (stranger, length) in &strangers {
            sent += length;
            while let Ok(length) = stranger.try_recv(&mut buffer) {
                got += length;
            }
        }
        println!("{got} bytes for {sent} from {count} addresses in {seconds} s");
        assert!(got <= 3 * sent + (256 + 64 * seconds) * ALLOWANCE);
    });
}

#[test]
fn only_the_version_that_there_is_is_offered() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let client = socket().await;
        // RFC 9000 section 15: a version that is there to be negotiated away.
        let mut datagram = b"\xc0\x1a\x2a\x3a\x4a\x08chosen__\x08theirs__".to_vec();
        datagram.resize(1200, 0);
        client.send_to(&datagram, server.address).await.unwrap();
        let mut buffer = [0; 2048];
        let length = within(client.recv(&mut buffer)).await.unwrap();
        let answer = &buffer[1..length];
        let versions = answer
            .strip_prefix(b"\0\0\0\0\x08theirs__\x08chosen__")
            .unwrap();
        let versions = versions.as_chunks::<4>().0.iter();
        let versions = versions.map(|version| u32::from_be_bytes(*version));
        // But for those that only keep clients from relying on the list.
        let known: Vec<u32> = versions
            .filter(|version| version & 0x0f0f_0f0f != 0x0a0a_0a0a)
            .collect();
        assert_eq!(known, [1]);
    });
}
