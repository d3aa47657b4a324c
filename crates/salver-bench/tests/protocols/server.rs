//! A server of HTTP/1.1 over TLS, HTTP/2 and HTTP/3 of which everything is known. It writes down
//! what it did.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h3::error::Code;
use http::{Request, Response};
use salver_test::Certificate;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// What the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// HTTP/1.1 over TLS.
    OneSecurely,
    /// HTTP/2 in the clear.
    Two,
    /// HTTP/2 over TLS.
    TwoSecurely,
    /// HTTP/3.
    Three,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// 200 with [`CONTENT`].
    Right,
    /// The same, so much later.
    Late(Duration),
    /// 500, complete.
    Failure,
    /// Other bytes of the same number.
    Wrong,
    /// 900 bytes where 1,000 were promised, and then the stream's end in order; with HTTP/1.1 the
    /// connection's.
    Short,
    /// 1,100 bytes where 1,000 were promised.
    Long,
    /// The stream is reset before the answer.
    Reset,
    /// The stream is reset within the answer.
    ResetWithin,
    /// The connection ends without an answer.
    Closed,
    /// Answered, and the server says that it leaves the connection.
    Leaves,
    /// Nothing at all.
    Silence,
}

/// One request, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// When it was complete here.
    pub(crate) arrived: Instant,
    /// The moment before the answer was given to the library.
    pub(crate) answered: Instant,
    pub(crate) reply: Reply,
    /// Bytes of content that the request had.
    pub(crate) content: usize,
}

/// What is sent.
pub(crate) const CONTENT: [u8; 1000] = [b'x'; 1000];

/// What a request gets, by its number.
type Replying = fn(usize) -> Reply;

/// A running server; it ends with this value.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    speaks: Speaks,
    shared: Arc<Shared>,
    ending: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    folder: tempfile::TempDir,
}

struct Shared {
    reply: Replying,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    arrived: usize,
    served: Vec<Served>,
}

impl Server {
    /// A server whose certificate names localhost and 127.0.0.1.
    pub(crate) fn start(speaks: Speaks, reply: Replying) -> Server {
        Server::named(speaks, reply, &["localhost", "127.0.0.1"])
    }

    /// A server whose certificate has these names.
    pub(crate) fn named(speaks: Speaks, reply: Replying, names: &[&str]) -> Server {
        let certificate = Certificate::of(names);
        let folder = tempfile::tempdir().unwrap();
        certificate.write(folder.path());
        let shared = Arc::new(Shared {
            reply,
            state: Mutex::default(),
        });
        let (told, address) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel();
        let within = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async move {
                let config = config(speaks, certificate);
                let serving = async {
                    match speaks {
                        Speaks::Three => over_udp(config, &within, &told).await,
                        _ => over_tcp(speaks, config, &within, &told).await,
                    }
                };
                tokio::select! {
                    () = serving => {}
                    _ = ended => {}
                }
            });
        });
        Server {
            address: address.recv().unwrap(),
            speaks,
            shared,
            ending: Some((end, thread)),
            folder,
        }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = match self.speaks {
            Speaks::Two => "http",
            _ => "https",
        };
        format!("{scheme}://{}/", self.address)
    }

    /// Its certificate, as a PEM file that is there as long as the server.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Ends it, and gives what it did, in the order in which the requests came.
    pub(crate) fn end(mut self) -> Vec<Served> {
        self.stop();
        let mut served = std::mem::take(&mut self.shared.state().served);
        served.sort_by_key(|one| one.arrived);
        served
    }

    fn stop(&mut self) {
        if let Some((end, thread)) = self.ending.take() {
            let _ = end.send(());
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn config(speaks: Speaks, certificate: Certificate) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der], certificate.key)
        .unwrap();
    config.alpn_protocols = vec![match speaks {
        Speaks::OneSecurely => b"http/1.1".to_vec(),
        Speaks::Two | Speaks::TwoSecurely => b"h2".to_vec(),
        Speaks::Three => b"h3".to_vec(),
    }];
    Arc::new(config)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Notes a request that arrived now, and says what becomes of it.
    fn admit(&self) -> (Instant, Reply) {
        let mut state = self.state();
        state.arrived += 1;
        let reply = (self.reply)(state.arrived);
        (Instant::now(), reply)
    }

    /// Waits as long as the reply takes, and notes that it leaves.
    async fn answer(&self, arrived: Instant, reply: Reply, content: usize) {
        if let Reply::Late(delay) = reply {
            tokio::time::sleep_until((arrived + delay).into()).await;
        }
        self.state().served.push(Served {
            arrived,
            answered: Instant::now(),
            reply,
            content,
        });
    }
}

async fn over_tcp(
    speaks: Speaks,
    config: Arc<rustls::ServerConfig>,
    shared: &Arc<Shared>,
    told: &std::sync::mpsc::Sender<SocketAddr>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    told.send(listener.local_addr().unwrap()).unwrap();
    let acceptor = TlsAcceptor::from(config);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (shared, acceptor) = (Arc::clone(shared), acceptor.clone());
        tokio::spawn(async move {
            if speaks == Speaks::Two {
                return two(stream, shared).await;
            }
            // Who does not trust the certificate leaves.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            match speaks {
                Speaks::OneSecurely => one(stream, &shared).await,
                _ => two(stream, shared).await,
            }
        });
    }
}

/// A connection of HTTP/1.1. Errors are a client that left.
async fn one(mut stream: impl AsyncRead + AsyncWrite + Unpin, shared: &Shared) {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(length) => received.extend_from_slice(&buffer[..length]),
            }
            continue;
        };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.map_or("0", |rest| rest.lines().next().unwrap());
        let content: usize = length.parse().unwrap();
        while received.len() < end + 4 + content {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(length) => received.extend_from_slice(&buffer[..length]),
            }
        }
        received.drain(..end + 4 + content);
        let (arrived, reply) = shared.admit();
        shared.answer(arrived, reply, content).await;
        let (status, length, persists) = match reply {
            Reply::Right | Reply::Late(_) | Reply::Wrong => ("200 OK", CONTENT.len(), true),
            Reply::Failure => ("500 No", CONTENT.len(), true),
            Reply::Short | Reply::ResetWithin => ("200 OK", 900, false),
            Reply::Long => ("200 OK", 1100, false),
            Reply::Leaves => ("200 OK\r\nConnection: close", CONTENT.len(), false),
            Reply::Reset | Reply::Closed => return,
            Reply::Silence => return std::future::pending().await,
        };
        let mut bytes = format!("HTTP/1.1 {status}\r\nContent-Length: 1000\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + length, byte(reply));
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        if !persists {
            // In order, as TLS has it.
            let _ = stream.shutdown().await;
            return;
        }
    }
}

fn byte(reply: Reply) -> u8 {
    match reply {
        Reply::Wrong => b'y',
        _ => b'x',
    }
}

fn response(reply: Reply) -> Response<()> {
    let status = if reply == Reply::Failure { 500 } else { 200 };
    let response = Response::builder().status(status);
    response.header("content-length", "1000").body(()).unwrap()
}

/// The content of a reply.
fn content(reply: Reply) -> Bytes {
    let length = match reply {
        Reply::Short | Reply::ResetWithin => 900,
        Reply::Long => 1100,
        _ => CONTENT.len(),
    };
    vec![byte(reply); length].into()
}

/// A connection of HTTP/2.
async fn two(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Arc<Shared>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    // An error is a client that left.
    while let Some(Ok((request, respond))) = connection.accept().await {
        let (arrived, reply) = shared.admit();
        if reply == Reply::Closed {
            shared.answer(arrived, reply, 0).await;
            return;
        }
        if reply == Reply::Leaves {
            connection.graceful_shutdown();
        }
        let body = request.into_body();
        let shared = Arc::clone(&shared);
        tokio::spawn(reply_by_two(shared, body, respond, arrived, reply));
    }
}

/// The time between what is sent of an answer and the reset of its stream: whoever has not read it by then, as a busy
/// machine gave it no core, may be told of the reset alone.
const UNTIL_RESET: Duration = Duration::from_millis(200);

async fn reply_by_two(
    shared: Arc<Shared>,
    mut body: h2::RecvStream,
    mut respond: h2::server::SendResponse<Bytes>,
    arrived: Instant,
    reply: Reply,
) {
    let mut taken = 0;
    while let Some(Ok(piece)) = body.data().await {
        taken += piece.len();
        let _ = body.flow_control().release_capacity(piece.len());
    }
    shared.answer(arrived, reply, taken).await;
    match reply {
        Reply::Silence => std::future::pending().await,
        Reply::Reset => respond.send_reset(h2::Reason::INTERNAL_ERROR),
        _ => {
            let Ok(mut body) = respond.send_response(response(reply), false) else {
                return;
            };
            let is_cut = reply == Reply::ResetWithin;
            let _ = body.send_data(content(reply), !is_cut);
            if is_cut {
                tokio::time::sleep(UNTIL_RESET).await;
                body.send_reset(h2::Reason::INTERNAL_ERROR);
            }
        }
    }
}

async fn over_udp(
    config: Arc<rustls::ServerConfig>,
    shared: &Arc<Shared>,
    told: &std::sync::mpsc::Sender<SocketAddr>,
) {
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(config).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    told.send(endpoint.local_addr().unwrap()).unwrap();
    while let Some(incoming) = endpoint.accept().await {
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                three(connection, shared).await;
            }
        });
    }
}

type Stream = h3::server::RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// A connection of HTTP/3.
async fn three(connection: quinn::Connection, shared: Arc<Shared>) {
    let quic = h3_quinn::Connection::new(connection.clone());
    let Ok(mut server) = h3::server::Connection::<_, Bytes>::new(quic).await else {
        return;
    };
    while let Ok(Some(resolver)) = server.accept().await {
        let Ok((_, stream)): Result<(Request<()>, Stream), _> = resolver.resolve_request().await
        else {
            continue;
        };
        let (arrived, reply) = shared.admit();
        if reply == Reply::Closed {
            shared.answer(arrived, reply, 0).await;
            connection.close(0x102_u32.into(), b"");
            return;
        }
        if reply == Reply::Leaves {
            server.shutdown(0).await.unwrap();
        }
        tokio::spawn(reply_by_three(Arc::clone(&shared), stream, arrived, reply));
    }
}

async fn reply_by_three(shared: Arc<Shared>, mut stream: Stream, arrived: Instant, reply: Reply) {
    let mut taken = 0;
    while let Ok(Some(mut piece)) = stream.recv_data().await {
        let length = bytes::Buf::remaining(&piece);
        bytes::Buf::advance(&mut piece, length);
        taken += length;
    }
    shared.answer(arrived, reply, taken).await;
    match reply {
        Reply::Silence => std::future::pending().await,
        Reply::Reset => stream.stop_stream(Code::H3_INTERNAL_ERROR),
        _ => {
            if stream.send_response(response(reply)).await.is_err() {
                return;
            }
            let _ = stream.send_data(content(reply)).await;
            if reply == Reply::ResetWithin {
                tokio::time::sleep(UNTIL_RESET).await;
                stream.stop_stream(Code::H3_INTERNAL_ERROR);
                return;
            }
            let _ = stream.finish().await;
        }
    }
}
