//! Requests whose content is streamed: no more is received than is taken, and what goes wrong has its status.

use super::live::Version;
use super::*;
use crate::common::pattern;

/// Sends back what comes, piece by piece, and trailers.
async fn echo(request: Request<RequestBody>) -> Response<Body> {
    Response::new(Body::new(request.into_body()))
}

#[test]
fn what_comes_can_be_answered_before_more_of_it_comes() {
    let (plain, secure) = servers(|| Server::builder().streaming_handler(echo), settings());
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[("te", "trailers")]).await;
        for number in 0..20 {
            let piece = format!("piece {number}");
            assert!(live.send(piece.clone()).await);
            if number == 0 {
                assert_eq!(live.head().await.0, 200);
            }
            assert_eq!(live.exactly(piece.len()).await, piece.as_bytes());
        }
        live.end(&[("x-sum", "1"), ("x-sum", "2")]).await;
        assert_eq!(live.rest().await, (vec![], true));
        let trailers = live.trailers().await;
        let sums: Vec<_> = trailers.get_all("x-sum").iter().collect();
        assert_eq!(sums, ["1", "2"]);
    });
}

/// Says how much came and what trailers, of more than a handler would be given whole.
async fn count(request: Request<RequestBody>) -> Response<String> {
    let hint = http_body::Body::size_hint(request.body()).exact();
    let mut content = request.into_body();
    let (mut length, mut sum) = (0, 0u64);
    while let Some(frame) = next_frame(&mut content).await {
        if let Ok(data) = frame.unwrap().into_data() {
            length += data.len();
            sum += data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
    }
    Response::new(format!("{length} {sum} {hint:?}"))
}

#[test]
fn much_content_needs_little_memory() {
    let large = Settings {
        max_body: 1 << 40,
        connection_memory: 8 << 20,
        ..settings()
    };
    let (plain, secure) = servers(|| Server::builder().streaming_handler(count), large);
    let piece = pattern(100_000, 1);
    let sum = piece.iter().map(|byte| u64::from(*byte)).sum::<u64>() * 100;
    each(&plain, &secure, async |version| {
        for announced in [false, true] {
            let length = [("content-length", "10000000")];
            let more = if announced { &length[..] } else { &[] };
            let mut live = Live::begin(version, "POST", "/", more).await;
            for _ in 0..100 {
                live.send_slowly(&piece).await;
            }
            live.end(&[]).await;
            assert_eq!(live.head().await.0, 200);
            let (said, is_whole) = live.rest().await;
            let hint = announced.then_some(10_000_000u64);
            let expected = format!("10000000 {sum} {hint:?}");
            assert!(
                is_whole && said == expected.as_bytes(),
                "{}",
                said.escape_ascii()
            );
        }
    });
}

#[test]
fn no_more_is_received_than_is_taken() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = || {
        let gate = Arc::clone(&gate);
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let gate = Arc::clone(&gate);
            async move {
                if request.uri().path() == "/other" {
                    return Response::new("other".to_owned());
                }
                gate.acquire().await.unwrap().forget();
                count(request).await
            }
        })
    };
    let large = Settings {
        max_body: 1 << 30,
        ..settings()
    };
    let (plain, secure) = servers(builder, large);
    let monitors = [plain.monitor.clone(), secure.running.monitor.clone()];
    let held = || -> u64 {
        let held = monitors
            .iter()
            .map(|monitor| monitor.load().connection_memory);
        held.sum()
    };
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        let sending = async {
            for _ in 0..640 {
                live.send_slowly(&[b'x'; 100_000]).await;
            }
            live.end(&[]).await;
        };
        let mut sending = Box::pin(sending);
        let meanwhile = async {
            for _ in 0..100 {
                let mut other = Live::begin(version, "GET", "/other", &[]).await;
                other.end(&[]).await;
                other.head().await;
                other.rest().await;
            }
            held()
        };
        let held = tokio::select! {
            biased;
            () = &mut sending => panic!("64 MB were received that nobody takes"),
            held = meanwhile => held,
        };
        assert!(held < 4 << 20, "{held}");
        gate.add_permits(1);
        sending.as_mut().await;
        drop(sending);
        assert_eq!(live.head().await.0, 200);
        let (said, _) = live.rest().await;
        assert!(said.starts_with(b"64000000 "), "{}", said.escape_ascii());
    });
}

#[test]
fn a_client_that_waits_is_told_when_content_is_asked_for_and_only_then() {
    let builder = || {
        Server::builder().streaming_handler(async |request: Request<RequestBody>| {
            match request.uri().path() {
                "/refused" => Response::builder()
                    .status(403)
                    .body("no".to_owned())
                    .unwrap(),
                _ => count(request).await,
            }
        })
    };
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let more = [("expect", "100-continue"), ("content-length", "3")];
        let mut live = Live::begin(version, "POST", "/", &more).await;
        if let Live::Http1(one) = &mut live {
            assert_eq!(one.head().await.0, 100);
        }
        live.send("abc").await;
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 200);
        let mut live = Live::begin(version, "POST", "/refused", &more).await;
        let (status, fields) = live.head().await;
        assert_eq!((status, live.rest().await), (403, (b"no".to_vec(), true)));
        if let Live::Http1(one) = &mut live {
            // Nobody could tell if what follows is content.
            assert_eq!(fields["connection"], "close");
            assert!(one.ends().await);
        }
    });
}

#[test]
fn content_that_is_too_long_or_malformed_is_refused_whatever_the_handler_does() {
    let present_now = Arc::<AtomicUsize>::default();
    let builder = || {
        let count = Arc::clone(&present_now);
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let present = Present::new(&count);
            async move {
                let mut content = request.into_body();
                while let Some(Ok(_)) = next_frame(&mut content).await {}
                // It would answer never.
                std::future::pending::<()>().await;
                drop(present);
                Response::new("")
            }
        })
    };
    let bounded = Settings {
        max_body: 50_000,
        ..settings()
    };
    let (plain, secure) = servers(builder, bounded);
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        live.send(vec![b'x'; 50_000]).await;
        present(&present_now, 1).await;
        live.send("x").await;
        assert_eq!(live.head().await.0, 413);
        present(&present_now, 0).await;
        // Too many trailers.
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        live.send("x").await;
        present(&present_now, 1).await;
        live.end(&[("a", "b"); 150]).await;
        assert_eq!(live.head().await.0, 431);
        present(&present_now, 0).await;
    });
    run(async {
        for wrong in [
            "x\r\n",
            "3\r\nabcd",
            "ffffffffffffffffff\r\n",
            "0\r\n : b\r\n\r\n",
        ] {
            let mut live = Live::begin(Version::Http1(plain.address), "POST", "/", &[]).await;
            live.send("abc").await;
            present(&present_now, 1).await;
            live.raw(wrong).await;
            assert_eq!(live.head().await.0, 400, "{wrong:?}");
            present(&present_now, 0).await;
        }
    });
}

#[test]
fn content_that_does_not_come_is_refused_and_a_handler_that_takes_its_time_is_not() {
    let present_now = Arc::<AtomicUsize>::default();
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = || {
        let (count, gate) = (Arc::clone(&present_now), Arc::clone(&gate));
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let (present, gate) = (Present::new(&count), Arc::clone(&gate));
            async move {
                let mut content = request.into_body();
                let first = next_frame(&mut content).await;
                if content_is_long(&content) {
                    gate.acquire().await.unwrap().forget();
                }
                let rest = all(&mut content).await;
                drop((first, present));
                Response::new(format!("{}", rest.is_ok()))
            }
        })
    };
    let (plain, secure) = servers(builder, hasty());
    each(&plain, &secure, async |version| {
        let mut slow = Live::begin(version, "POST", "/", &[]).await;
        let length = [("content-length", "2")];
        let mut patient = Live::begin(version, "POST", "/", &length).await;
        assert!(patient.send("x").await && slow.send("x").await);
        present(&present_now, 2).await;
        // It is found out later than the other would be, whose content nobody waits for.
        assert_eq!(slow.head().await.0, 408);
        present(&present_now, 1).await;
        gate.add_permits(1);
        patient.send("y").await;
        patient.end(&[]).await;
        assert_eq!(patient.head().await.0, 200);
        assert_eq!(patient.rest().await, (b"true".to_vec(), true));
        present(&present_now, 0).await;
    });
}

/// True if the client has announced how long the rest of some content is.
fn content_is_long(content: &RequestBody) -> bool {
    http_body::Body::size_hint(content).exact().is_some()
}

#[test]
fn a_handler_has_the_time_of_its_path_and_that_of_the_client_is_not_its_own() {
    let present_now = Arc::<AtomicUsize>::default();
    let builder = || {
        let count = Arc::clone(&present_now);
        let handler = move |request: Request<RequestBody>| {
            let present = Present::new(&count);
            async move {
                let mut content = request.into_body();
                let all = all(&mut content).await;
                if all.is_ok_and(|(content, _)| content.is_empty()) {
                    std::future::pending::<()>().await;
                }
                drop(present);
                Response::new("")
            }
        };
        Server::builder()
            .streaming_handler(handler)
            .answer_timeout("/short", Duration::from_millis(300))
            .answer_timeout("/short/long", Duration::MAX)
    };
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let mut uploads = Live::begin(version, "POST", "/short/x", &[]).await;
        let mut endless = Live::begin(version, "GET", "/x/../short/long/x", &[]).await;
        endless.end(&[]).await;
        let mut late = Live::begin(version, "GET", "/short/%78", &[]).await;
        late.end(&[]).await;
        assert_eq!(late.head().await.0, 503);
        // As late as the other would be, if the client's time were its own.
        present(&present_now, 2).await;
        assert!(uploads.send("x").await);
        uploads.end(&[]).await;
        assert_eq!(uploads.head().await.0, 200);
        endless.leave();
        present(&present_now, 0).await;
    });
}

#[test]
fn a_handler_learns_that_its_client_has_left() {
    let (tell, mut told) = unbounded_channel();
    let builder = || {
        let tell = tell.clone();
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let tell = tell.clone();
            async move {
                // Not dropped with the handler.
                tokio::spawn(async move {
                    let mut content = request.into_body();
                    tell.send(next_frame(&mut content).await.unwrap().err())
                        .unwrap();
                    tell.send(all(&mut content).await.err()).unwrap();
                });
                std::future::pending::<Response<String>>().await
            }
        })
    };
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        live.send("abc").await;
        assert!(within(told.recv()).await.unwrap().is_none());
        live.leave();
        let error = within(told.recv()).await.unwrap().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted);
    });
}

#[test]
fn a_guard_and_the_handler_behind_it_are_given_the_same_content() {
    let builder = || {
        let whole = async |request: Request<Bytes>| {
            assert_eq!(request.body(), "abcdef");
            salver_server::Reply::Proceed
        };
        let part = async |request: Request<RequestBody>| {
            let first = next_frame(&mut request.into_body()).await;
            assert!(first.is_some());
            salver_server::Reply::Proceed
        };
        Server::builder()
            .guard("/whole", whole)
            .streaming_guard("/part", part)
            .streaming_handler(echo)
    };
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/whole", &[]).await;
        live.send("abc").await;
        live.send("def").await;
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 200);
        assert_eq!(live.rest().await, (b"abcdef".to_vec(), true));
        let mut live = Live::begin(version, "POST", "/part", &[]).await;
        live.send("abc").await;
        assert_eq!(live.head().await.0, 200);
        live.send("def").await;
        live.end(&[]).await;
        assert_eq!(live.rest().await, (b"def".to_vec(), true));
    });
}

#[test]
fn files_that_wait_for_a_disk_have_the_time_of_all_answers() {
    use crate::common::client::{Client, get};
    use crate::common::stuck::Stuck;
    let start = |of_handlers: Duration, of_all: Duration| {
        let source = Stuck::with_cold(1);
        let gate = Arc::clone(&source.gate);
        let endless =
            async |_: Request<RequestBody>| std::future::pending::<Response<String>>().await;
        let builder = Server::builder()
            .mount(salver_assets::Mount::tree("/", Arc::new(source)))
            .streaming_handler(endless)
            .answer_timeout("/", of_handlers)
            .settings(Settings {
                answer_timeout: of_all,
                ..settings()
            });
        (
            Running::start(builder.listen(ANY_PORT).build().unwrap()),
            gate,
        )
    };
    let short = Duration::from_millis(300);
    let (server, gate) = start(Duration::MAX, short);
    let mut cold = Client::new(server.address);
    cold.send(get("/cold0"));
    assert_eq!(cold.answer().status, 503);
    gate.open();
    let (server, gate) = start(short, settings().answer_timeout);
    let mut cold = Client::new(server.address);
    cold.send(get("/cold0"));
    let mut late = Client::new(server.address);
    late.send(get("/handled"));
    assert_eq!(late.answer().status, 503);
    gate.open();
    assert_eq!(cold.answer().content, b"cold");
}
