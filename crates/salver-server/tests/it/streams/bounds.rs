//! Bounds of answers that are streamed: their memory, and the turns that they take.

use super::live::Version;
use super::*;

#[test]
fn what_waits_for_a_slow_client_counts_as_memory() {
    const LENGTH: usize = 32 << 20;
    let (plain, secure, mut answers) = Answers::new(&[], settings());
    let monitors = [plain.monitor.clone(), secure.running.monitor.clone()];
    let held = || -> u64 {
        let held = monitors
            .iter()
            .map(|monitor| monitor.load().connection_memory);
        held.sum()
    };
    each(&plain, &secure, async |version| {
        let before = held();
        let (mut live, give) = asked(version, &mut answers).await;
        give.send(data(vec![b'x'; LENGTH])).unwrap();
        live.head().await;
        // The kernel, or QUIC's window, has some megabytes of it.
        within(async {
            while held() < before + (LENGTH as u64) / 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        live.at_least(LENGTH - 1).await;
        drop(give);
        live.rest().await;
        within(async {
            while held() > before + (1 << 20) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}

/// Content that is there and empty, again and again.
struct Empty;

impl http_body::Body for Empty {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::new()))))
    }
}

#[test]
fn frames_without_content_keep_nobody_from_their_turn() {
    let builder = || {
        Server::builder().streaming_handler(async |request: Request<RequestBody>| {
            match request.uri().path() {
                "/empty" => Response::new(Body::new(Empty)),
                _ => Response::new(Body::from("other")),
            }
        })
    };
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let mut empty = Live::begin(version, "GET", "/empty", &[]).await;
        empty.end(&[]).await;
        for _ in 0..10 {
            let mut other = Live::begin(version, "GET", "/other", &[]).await;
            other.end(&[]).await;
            assert_eq!(other.head().await.0, 200);
            assert_eq!(other.rest().await, (b"other".to_vec(), true));
        }
        empty.leave();
    });
}

#[test]
fn an_answer_of_which_the_client_has_all_keeps_its_connection_from_nothing() {
    use crate::common::client::{Client, request};
    let (plain, _, mut answers) = Answers::new(&[("content-length", "3")], settings());
    let mut client = Client::new(plain.address);
    let mut kept = Vec::new();
    for _ in 0..3 {
        client.send(request("GET", "/", ""));
        run(async {
            let give = answers.next().await;
            give.send(data("abc")).unwrap();
            // It never says that this was all.
            kept.push(give);
        });
        assert_eq!(client.answer().content, b"abc");
    }
    run(present(&answers.present, 0));
}

#[test]
fn an_end_needs_no_window() {
    let (plain, _, mut answers) = Answers::new(&[], settings());
    run(async {
        let stream = tokio::net::TcpStream::connect(plain.address).await;
        let mut client = h2::client::Builder::new();
        client.initial_window_size(3);
        let connecting = client.handshake::<_, Bytes>(stream.unwrap());
        let (requests, connection) = within(connecting).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut requests = requests.ready().await.unwrap();
        let mut ask = |more: &'static str| {
            let get = Request::get("http://a/")
                .header("x", more)
                .body(())
                .unwrap();
            requests.send_request(get, true).unwrap().0
        };
        // All of the window is used, and the client gives no other.
        let answer = ask("1");
        let give = answers.next().await;
        give.send(data("abc")).unwrap();
        let mut content = within(answer).await.unwrap().into_body();
        assert_eq!(within(content.data()).await.unwrap().unwrap(), "abc");
        give.send(trailers(&[("x-sum", "7")])).unwrap();
        let trailers = within(content.trailers()).await.unwrap().unwrap();
        assert_eq!(trailers["x-sum"], "7");
        let answer = ask("2");
        let give = answers.next().await;
        give.send(data("abc")).unwrap();
        let mut content = within(answer).await.unwrap().into_body();
        assert_eq!(within(content.data()).await.unwrap().unwrap(), "abc");
        drop(give);
        while let Some(end) = within(content.data()).await {
            assert!(end.unwrap().is_empty());
        }
        // What is content needs it.
        let answer = ask("3");
        let give = answers.next().await;
        give.send(data("abcd")).unwrap();
        drop(give);
        let mut content = within(answer).await.unwrap().into_body();
        assert_eq!(within(content.data()).await.unwrap().unwrap(), "abc");
        content.flow_control().release_capacity(3).unwrap();
        assert_eq!(within(content.data()).await.unwrap().unwrap(), "d");
        driver.abort();
    });
}

#[test]
fn what_was_replaced_meanwhile_is_not_kept_by_an_answer_that_goes_on() {
    use salver_assets::{Config, Engine, MemorySource, Mount, Source};
    let engine = |source: Arc<MemorySource>| {
        let mounts = vec![Mount::tree("/", source as Arc<dyn Source>)];
        let config = Config {
            mounts,
            ..Config::default()
        };
        Engine::new(config).unwrap()
    };
    let (plain, _, mut answers) = Answers::new(&[], settings());
    let reload = |source: Arc<MemorySource>| {
        let settings = Settings {
            addresses: vec![plain.address],
            ..settings()
        };
        let reloaded = plain.handle.reload(engine(source), settings).unwrap();
        assert_eq!(reloaded.addresses, [plain.address]);
    };
    run(async {
        for version in [Version::Http1(plain.address), Version::Http2(plain.address)] {
            let of_before = Arc::new(MemorySource::new());
            let kept = Arc::downgrade(&of_before);
            reload(of_before);
            let (mut live, give) = asked(version, &mut answers).await;
            give.send(data("abc")).unwrap();
            live.head().await;
            assert_eq!(live.exactly(3).await, b"abc");
            reload(Arc::new(MemorySource::new()));
            give.send(data("def")).unwrap();
            assert_eq!(live.exactly(3).await, b"def");
            within(async {
                while kept.strong_count() > 0 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            drop(give);
            assert_eq!(live.rest().await, (vec![], true));
        }
    });
}
