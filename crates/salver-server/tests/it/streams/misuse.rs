//! What hostile clients do with content that streams: bodies within bodies, floods, and answers that nobody waits for.

use super::live::Version;
use super::*;
use crate::common::client::{Client, request};

/// Answers at once, whatever comes.
fn hasty_handler() -> Builder {
    Server::builder().streaming_handler(async |request: Request<RequestBody>| {
        let said = format!("{} {}", request.method(), request.uri());
        Response::new(said)
    })
}

fn start(builder: Builder, settings: Settings) -> Running {
    Running::start(builder.settings(settings).listen(ANY_PORT).build().unwrap())
}

#[test]
fn what_nobody_reads_is_no_request() {
    let server = start(hasty_handler(), settings());
    let inner = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut client = Client::new(server.address);
    // A little is dropped, and the connection goes on behind it.
    for _ in 0..3 {
        let sized = format!("Content-Length: {}\r\n", inner.len());
        client.send(request("POST", "/1", &sized) + inner);
        assert_eq!(client.answer().content, b"POST /1");
        let chunked = request("POST", "/2", "Transfer-Encoding: chunked\r\n");
        let chunk = format!("{:x}\r\n{inner}\r\n0\r\n", inner.len());
        // What is in trailers frames nothing.
        let trailers = "Content-Length: 100\r\nTransfer-Encoding: x\r\n\r\n";
        client.send(chunked + &chunk + trailers);
        assert_eq!(client.answer().content, b"POST /2");
        client.send(request("GET", "/3", ""));
        assert_eq!(client.answer().content, b"GET /3");
    }
    // Much is not: the connection ends, and says so where it can.
    let mut client = Client::new(server.address);
    client.send(request("POST", "/1", "Content-Length: 100000\r\n"));
    let answer = client.answer();
    assert_eq!(
        (answer.status, answer.field("connection")),
        (200, Some("close"))
    );
    let _ = client.send_beside(inner.repeat(2500).into_bytes());
    assert!(client.rest().0.is_empty(), "no further answer");
    let mut client = Client::new(server.address);
    client.send(request("POST", "/1", "Transfer-Encoding: chunked\r\n"));
    assert_eq!(client.answer().content, b"POST /1");
    let chunk = format!("{:x}\r\n{inner}\r\n", inner.len());
    let _ = client.send_beside(chunk.repeat(2000).into_bytes());
    assert!(client.rest().0.is_empty(), "no further answer");
}

#[test]
fn content_that_turns_out_to_be_malformed_behind_its_answer_has_no_second_one() {
    let server = start(hasty_handler(), settings());
    let mut client = Client::new(server.address);
    client.send(request("POST", "/1", "Transfer-Encoding: chunked\r\n"));
    assert_eq!(client.answer().content, b"POST /1");
    client.send("x\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    client.ends();
    // The same while the answer is still given.
    let echo = || {
        Server::builder().streaming_handler(async |request: Request<RequestBody>| {
            Response::new(Body::new(request.into_body()))
        })
    };
    let server = start(echo(), settings());
    run(async {
        let mut live = Live::begin(Version::Http1(server.address), "POST", "/", &[]).await;
        live.send("abc").await;
        assert_eq!(live.head().await.0, 200);
        assert_eq!(live.exactly(3).await, b"abc");
        live.raw("x\r\n").await;
        assert_eq!(live.rest().await, (vec![], false));
    });
}

#[test]
fn content_in_the_smallest_pieces_costs_no_more_than_its_bytes() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = || {
        let gate = Arc::clone(&gate);
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let gate = Arc::clone(&gate);
            async move {
                let mut content = request.into_body();
                gate.acquire().await.unwrap().forget();
                let (content, _) = all(&mut content).await.unwrap();
                Response::new(content.len().to_string())
            }
        })
    };
    let (plain, secure) = servers(builder, settings());
    let monitors = [plain.monitor.clone(), secure.running.monitor.clone()];
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        for _ in 0..20_000 {
            live.send_slowly(b"x").await;
        }
        let held = monitors
            .iter()
            .map(|monitor| monitor.load().connection_memory);
        assert!(held.sum::<u64>() < 2 << 20);
        gate.add_permits(1);
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 200);
        assert_eq!(live.rest().await, (b"20000".to_vec(), true));
    });
}

#[test]
fn handlers_of_a_full_server_are_given_no_more_than_there_is_memory_for() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = || {
        let gate = Arc::clone(&gate);
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let gate = Arc::clone(&gate);
            async move {
                if request.method() == "POST" {
                    let mut content = request.into_body();
                    // Keeps all that it is given.
                    let mut kept = Vec::new();
                    while let Some(Ok(frame)) = next_frame(&mut content).await {
                        kept.push(frame);
                    }
                    gate.acquire().await.unwrap().forget();
                }
                Response::new("")
            }
        })
    };
    let little = Settings {
        max_body: 1 << 30,
        connection_memory: 4 << 20,
        max_connections: 64,
        ..settings()
    };
    let server = start(builder(), little);
    let monitor = server.monitor.clone();
    run(async {
        for version in [
            Version::Http1(server.address),
            Version::Http2(server.address),
        ] {
            let mut greedy = Live::begin(version, "POST", "/", &[]).await;
            let mut sent = 0;
            while sent < 64 << 20 && greedy.send(vec![b'x'; 10_000]).await {
                sent += 10_000;
                assert!(monitor.load().connection_memory <= 4 << 20);
            }
            assert_eq!(greedy.head().await.0, 503);
            let mut other = Live::begin(version, "GET", "/", &[]).await;
            other.end(&[]).await;
            assert_eq!(other.head().await.0, 200);
        }
    });
}

#[test]
fn who_withdraws_what_it_asks_at_once_calls_few_handlers() {
    let (begun, present_now) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (count, under_way) = (Arc::clone(&begun), Arc::clone(&present_now));
    let endless = move |_: Request<RequestBody>| {
        count.fetch_add(1, Ordering::SeqCst);
        let present = Present::new(&under_way);
        async move {
            std::future::pending::<()>().await;
            drop(present);
            Response::new("")
        }
    };
    let server = start(Server::builder().streaming_handler(endless), settings());
    run(async {
        let stream = tokio::net::TcpStream::connect(server.address).await;
        let (requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut asked = 0;
        while asked < 20_000 {
            let Ok(mut ready) = requests.clone().ready().await else {
                break;
            };
            let post = Request::post("http://a/").body(()).unwrap();
            let Ok((_, mut sending)) = ready.send_request(post, false) else {
                break;
            };
            sending.send_reset(h2::Reason::CANCEL);
            asked += 1;
            tokio::task::yield_now().await;
        }
        assert!(asked < 20_000, "there is no end of them");
        assert!(within(driver).await.unwrap().is_err());
        present(&present_now, 0).await;
    });
    let begun = begun.load(Ordering::SeqCst);
    assert!(begun < 3000, "{begun} handlers were called");
}

#[test]
fn answers_without_end_do_not_keep_a_server_from_ending() {
    let brief = Settings {
        grace: Duration::from_millis(300),
        ..settings()
    };
    let (plain, secure, mut answers) = Answers::new(&[], brief);
    run(async {
        let mut all = Vec::new();
        for version in [
            Version::Http1(plain.address),
            Version::Http2(plain.address),
            Version::Http3(&secure),
        ] {
            let (mut live, give) = asked(version, &mut answers).await;
            give.send(data("abc")).unwrap();
            live.head().await;
            assert_eq!(live.exactly(3).await, b"abc");
            all.push((live, give));
        }
        present(&answers.present, 3).await;
        plain.handle.shutdown();
        secure.running.handle.shutdown();
        present(&answers.present, 0).await;
        for (mut live, give) in all {
            assert!(give.send(data("more")).is_err());
            assert_eq!(live.rest().await, (vec![], false), "none looks whole");
        }
    });
    plain.result().unwrap();
    secure.running.result().unwrap();
}
