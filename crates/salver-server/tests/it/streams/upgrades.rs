//! Upgrades: connections that go on in another protocol, over HTTP/1.1 and HTTP/2.

use std::io::Read;
use std::net::{Shutdown, SocketAddr};

use h2::ext::Protocol;
use http::HeaderValue;
use salver_server::{Upgrade, UpgradedStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::live::Version;
use super::*;
use crate::common::client::{Client, request};
use crate::common::pattern;

/// The fields that offer an upgrade.
pub(super) const OFFER: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: other, echo/1\r\n";

/// Accepts what is offered, and has `serve` serve it; says so if nothing is, once it has all content.
pub(super) fn accepting<F>(serve: impl Fn(UpgradedStream) -> F + Send + Sync + 'static) -> Builder
where
    F: Future<Output = ()> + Send + 'static,
{
    let accept = move |request: &Request<RequestBody>| {
        let upgrade = request.extensions().get::<Upgrade>();
        let echoes = |upgrade: &&Upgrade| upgrade.offers("ECHO/1") || upgrade.offers("echo");
        let upgrade = upgrade.filter(echoes)?;
        let protocol = HeaderValue::from_static("echo/1");
        let (response, stream) = upgrade.accept(protocol.clone()).unwrap();
        assert!(upgrade.accept(protocol).is_none(), "it is given once");
        tokio::spawn(serve(stream));
        Some(response)
    };
    Server::builder().streaming_handler(async move |request: Request<RequestBody>| {
        if let Some(response) = accept(&request) {
            return response;
        }
        let _ = all(&mut request.into_body()).await;
        Response::new(Body::from("not offered"))
    })
}

/// Sends back what comes, to its end.
async fn echo(stream: UpgradedStream) {
    let (mut read, mut write) = tokio::io::split(stream);
    let _ = tokio::io::copy(&mut read, &mut write).await;
    let _ = write.shutdown().await;
}

fn start(builder: Builder, settings: Settings) -> Running {
    Running::start(builder.settings(settings).listen(ANY_PORT).build().unwrap())
}

#[test]
fn bytes_go_in_both_directions_from_the_first_to_the_end_of_either_side() {
    let server = start(accepting(echo), settings());
    let mut client = Client::new(server.address);
    // What comes behind the head is of the other protocol, whatever it looks like.
    let early = request("GET", "/none", "");
    client.send(request("GET", "/", OFFER) + &early);
    let head = client.head();
    assert_eq!(head.status, 101);
    assert_eq!(head.field("connection"), Some("upgrade"));
    assert_eq!(head.field("upgrade"), Some("echo/1"));
    for field in ["content-length", "transfer-encoding", "content-type"] {
        assert_eq!(head.field(field), None);
    }
    let mut back = vec![0; early.len()];
    client.0.read_exact(&mut back).unwrap();
    assert_eq!(back, early.as_bytes());
    let long = pattern(3_000_000, 7);
    let sending = client.send_beside(long.clone());
    let mut back = vec![0; long.len()];
    client.0.read_exact(&mut back).unwrap();
    assert!(back == long);
    sending.join().unwrap().unwrap();
    client.0.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.rest(), (vec![], true));
}

#[test]
fn what_is_no_offer_is_answered_as_ever() {
    let server = start(accepting(echo), settings());
    let answer = |client: &mut Client, request: String| {
        client.send(request);
        let answer = client.answer();
        assert_eq!(
            (answer.status, &*answer.content),
            (200, &b"not offered"[..])
        );
    };
    let mut client = Client::new(server.address);
    for no_offer in [
        "Upgrade: echo/1\r\n",
        "Connection: upgrade\r\n",
        "Connection: upgrade\r\nUpgrade:\r\n",
        "Connection: upgrade\r\nUpgrade: echo/1\r\nUpgrade: echo/1\r\n",
        "Connection: upgrades\r\nUpgrade: echo/1\r\n",
        "Connection: upgrade\r\nUpgrade: websocket, h2c\r\n",
    ] {
        answer(&mut client, request("GET", "/", no_offer));
    }
    // Nobody could tell where its content ends.
    let with_content = request("POST", "/", &format!("{OFFER}Content-Length: 1\r\n"));
    answer(&mut client, with_content + "x");
    let mut old = Client::new(server.address);
    answer(&mut old, format!("GET / HTTP/1.0\r\n{OFFER}\r\n"));
}

/// A stream of HTTP/2 in another protocol.
pub(super) struct Connected {
    pub(super) sending: h2::SendStream<Bytes>,
    receiving: h2::RecvStream,
    _driver: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

impl Connected {
    /// Connects to `path` in this protocol; it is accepted.
    pub(super) async fn new(
        address: SocketAddr,
        path: &str,
        protocol: &str,
        more: &[(&str, &str)],
    ) -> Self {
        let (status, connected) = Connected::ask(address, path, protocol, more).await;
        assert_eq!(status, 200);
        connected
    }

    /// Asks for the same, and says with what status it is answered.
    pub(super) async fn ask(
        address: SocketAddr,
        path: &str,
        protocol: &str,
        more: &[(&str, &str)],
    ) -> (u16, Self) {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (requests, connection) = h2::client::handshake(stream).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut requests = requests.ready().await.unwrap();
        within(async {
            while !requests.is_extended_connect_protocol_enabled() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let mut connect = Request::builder()
            .method("CONNECT")
            .version(http::Version::HTTP_2)
            .uri(format!("http://a{path}"))
            .extension(Protocol::from(protocol));
        for (name, value) in more {
            connect = connect.header(*name, *value);
        }
        let connect = connect.body(()).unwrap();
        let (answer, sending) = requests.send_request(connect, false).unwrap();
        let answer = within(answer).await.unwrap();
        assert!(!answer.headers().contains_key("upgrade"));
        let status = answer.status().as_u16();
        let connected = Connected {
            sending,
            receiving: answer.into_body(),
            _driver: driver,
        };
        (status, connected)
    }

    pub(super) async fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut received = Vec::new();
        while received.len() < length {
            let piece = within(self.receiving.data()).await.unwrap().unwrap();
            let window = self.receiving.flow_control();
            window.release_capacity(piece.len()).unwrap();
            received.extend_from_slice(&piece);
        }
        assert_eq!(received.len(), length);
        received
    }
}

#[test]
fn extended_connect_does_the_same_on_a_stream() {
    // It is not bounded as content is.
    let bounded = Settings {
        max_body: 1000,
        ..settings()
    };
    let server = start(accepting(echo), bounded);
    run(async {
        let mut connected = Connected::new(server.address, "/", "echo", &[]).await;
        for number in 0..50 {
            let piece = pattern(1000, number);
            let sent = connected.sending.send_data(piece.clone().into(), false);
            sent.unwrap();
            assert_eq!(connected.exactly(1000).await, piece);
        }
        connected.sending.send_data(Bytes::new(), true).unwrap();
        while let Some(piece) = within(connected.receiving.data()).await {
            assert!(piece.unwrap().is_empty());
        }
    });
}

#[test]
fn files_alone_do_not_offer_extended_connect_and_refuse_it() {
    let site = crate::common::Site::with(&[("a.txt", b"a")]);
    let server = start(Server::builder().directory("/", site.root()), settings());
    run(async {
        let stream = tokio::net::TcpStream::connect(server.address).await;
        let (requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut requests = requests.ready().await.unwrap();
        let get = Request::get("http://a/a.txt").body(()).unwrap();
        let (answer, _) = requests.send_request(get, true).unwrap();
        assert_eq!(within(answer).await.unwrap().status(), 200);
        assert!(!requests.is_extended_connect_protocol_enabled());
        driver.abort();
    });
}

/// How many connections are served, and what of each was read before its client was gone.
async fn counted(
    mut stream: UpgradedStream,
    present: Present,
    told: UnboundedSender<std::io::Result<usize>>,
) {
    let mut buffer = [0; 1024];
    while let Ok(1..) = stream
        .write_all(b"x")
        .await
        .and(stream.read(&mut buffer).await)
    {}
    let _ = told.send(stream.read(&mut buffer).await);
    drop(present);
}

#[test]
fn one_that_is_silent_goes_on_and_one_whose_client_leaves_is_told() {
    let count = Arc::<AtomicUsize>::default();
    let (tell, mut told) = unbounded_channel();
    let present_now = Arc::clone(&count);
    let server = start(
        accepting(move |stream| counted(stream, Present::new(&count), tell.clone())),
        hasty(),
    );
    run(async {
        let mut upgraded = tokio::net::TcpStream::connect(server.address)
            .await
            .unwrap();
        let offer = request("GET", "/", OFFER);
        upgraded.write_all(offer.as_bytes()).await.unwrap();
        let mut connected = Connected::new(server.address, "/", "echo", &[]).await;
        assert_eq!(connected.exactly(1).await, b"x");
        present(&present_now, 2).await;
        // Content that does not come is refused later than they would be.
        let mut slow = Live::begin(Version::Http1(server.address), "POST", "/", &[]).await;
        slow.send("x").await;
        assert_eq!(slow.head().await.0, 408);
        assert_eq!(present_now.load(Ordering::SeqCst), 2);
        connected
            .sending
            .send_data(Bytes::from_static(b"y"), false)
            .unwrap();
        assert_eq!(connected.exactly(1).await, b"x");
        // A reset is an error, an end is an end.
        upgraded.set_zero_linger().unwrap();
        drop(upgraded);
        let error = within(told.recv()).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted);
        connected.sending.send_reset(h2::Reason::CANCEL);
        let error = within(told.recv()).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted);
        present(&present_now, 0).await;
    });
}

#[test]
fn who_takes_nothing_is_dropped_and_has_little_made_for_it() {
    let (count, made) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (present_now, written) = (Arc::clone(&count), Arc::clone(&made));
    let endless = move |mut stream: UpgradedStream| {
        let (present, made) = (Present::new(&count), Arc::clone(&made));
        async move {
            while stream.write_all(&[b'x'; 1024]).await.is_ok() {
                made.fetch_add(1024, Ordering::SeqCst);
            }
            drop(present);
        }
    };
    let hasty = Settings {
        send_timeout: Duration::from_secs(1),
        ..settings()
    };
    let server = start(accepting(endless), hasty);
    let mut client = Client::narrow(server.address);
    client.send(request("GET", "/", OFFER));
    assert_eq!(client.head().status, 101);
    run(async {
        let connected = Connected::new(server.address, "/", "echo", &[]).await;
        present(&present_now, 2).await;
        // Neither reads; what the kernel takes for them is not without end.
        present(&present_now, 0).await;
        drop(connected);
    });
    let written = written.load(Ordering::SeqCst);
    assert!(written < 16 << 20, "{written} bytes were made for nobody");
}

#[test]
fn who_sends_what_nobody_reads_is_stopped() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let opens = Arc::clone(&gate);
    let reluctant = move |mut stream: UpgradedStream| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            let mut count = 0;
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(more @ 1..) = stream.read(&mut buffer).await {
                count += more;
            }
            let _ = stream.write_all(format!("{count}").as_bytes()).await;
        }
    };
    let server = start(accepting(reluctant), settings());
    let mut client = Client::new(server.address);
    client.send(request("GET", "/", OFFER));
    assert_eq!(client.head().status, 101);
    let much = 64 << 20;
    let sending = client.send_beside(vec![b'x'; much]);
    for _ in 0..100 {
        let mut other = Client::new(server.address);
        other.send(request("GET", "/", ""));
        assert_eq!(other.answer().status, 200);
    }
    let held = server.monitor.load().connection_memory;
    assert!(held < 2 << 20, "{held}");
    assert!(
        !sending.is_finished(),
        "64 MB were received that nobody reads"
    );
    opens.add_permits(1);
    sending.join().unwrap().unwrap();
    client.0.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.rest(), (much.to_string().into_bytes(), true));
}

#[test]
fn what_is_dropped_ends_and_what_belongs_to_another_request_is_no_answer() {
    let server = start(accepting(async |stream| drop(stream)), settings());
    let mut client = Client::new(server.address);
    client.send(request("GET", "/", OFFER));
    assert_eq!(client.head().status, 101);
    assert_eq!(client.rest(), (vec![], true));

    let kept = Arc::new(std::sync::Mutex::new(None::<Upgrade>));
    let confused = move |request: Request<RequestBody>| {
        let offered = request.extensions().get::<Upgrade>().cloned();
        let mut kept = kept.lock().unwrap();
        let response = match (kept.take(), offered) {
            (None, Some(offered)) => {
                *kept = Some(offered);
                Response::new(Body::from("later"))
            }
            (Some(earlier), _) => {
                let protocol = HeaderValue::from_static("echo/1");
                let (mut response, _stream) = earlier.accept(protocol).unwrap();
                if request.uri().path() == "/refused" {
                    *response.status_mut() = http::StatusCode::OK;
                }
                response
            }
            (None, None) => {
                let switching = Response::builder().status(101);
                switching.body(Body::default()).unwrap()
            }
        };
        std::future::ready(response)
    };
    let builder = Server::builder().streaming_handler(confused);
    let server = start(builder, settings());
    let mut client = Client::new(server.address);
    let mut status = |path: &str, offer: &str| {
        client.send(request("GET", path, offer));
        client.answer().status
    };
    assert_eq!(status("/", OFFER), 200);
    assert_eq!(status("/", ""), 500, "it offers nothing");
    assert_eq!(status("/", ""), 500, "101 alone is no acceptance");
    assert_eq!(status("/", OFFER), 200);
    assert_eq!(status("/refused", OFFER), 500);
    run(async {
        let mut live = Live::begin(Version::Http1(server.address), "GET", "/", &[]).await;
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 500);
        let mut offer = Client::new(server.address);
        offer.send(request("GET", "/", OFFER));
        assert_eq!(offer.answer().status, 200);
        let mut live = Live::begin(Version::Http2(server.address), "GET", "/", &[]).await;
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 500);
    });
}
