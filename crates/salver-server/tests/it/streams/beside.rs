//! Requests beside others of their connection: one whose content is not taken, or whose answer is silent, takes nothing from
//! them and keeps what it has.

use bytes::Buf;

use super::live::Version;
use super::*;
use crate::quic::{self, head};

/// Answers `/taken` once all its content has come and a permit is there, `/given` by content that begins at once and ends
/// with a permit while the request's is dropped, and all else at once.
fn reluctant(gate: &Arc<tokio::sync::Semaphore>) -> Builder {
    let gate = Arc::clone(gate);
    Server::builder().streaming_handler(move |request: Request<RequestBody>| {
        let gate = Arc::clone(&gate);
        async move {
            let path = request.uri().path().to_owned();
            let mut content = request.into_body();
            match &*path {
                "/taken" => {
                    gate.acquire().await.unwrap().forget();
                    let length = all(&mut content).await.unwrap().0.len();
                    Response::new(Body::from(length.to_string()))
                }
                "/given" => {
                    let (give, frames) = unbounded_channel();
                    give.send(data("begun")).unwrap();
                    tokio::spawn(async move {
                        gate.acquire().await.unwrap().forget();
                        drop(give);
                    });
                    Response::new(Body::new(Given {
                        frames,
                        _present: Present::new(&Arc::default()),
                    }))
                }
                _ => Response::new(Body::from("at once")),
            }
        }
    })
}

#[test]
fn content_that_is_not_taken_takes_the_window_of_no_other_request() {
    const LENGTH: usize = 400_000;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let large = Settings {
        max_body: 1 << 30,
        ..settings()
    };
    let served = Served::of(reluctant(&gate).settings(large));
    run(async {
        let mut session = served.connect().await;
        let mut uploads = Vec::new();
        for path in ["/taken", "/given", "/taken", "/taken", "/given", "/taken"] {
            let stream = session.begin("POST", path, &[]).await;
            let (mut sending, mut receiving) = stream.split();
            let task = tokio::spawn(async move {
                let sent = sending.send_data(vec![b'x'; LENGTH].into()).await;
                sent.and(sending.finish().await)
            });
            if path == "/given" {
                let begun = within(receiving.recv_response()).await.unwrap();
                assert_eq!(begun.status(), 200);
            }
            // As long as the client can send anything at all, others are answered.
            for _ in 0..20 {
                assert_eq!(session.get("/other").await.content, b"at once");
            }
            uploads.push((path, receiving, task));
        }
        gate.add_permits(uploads.len());
        for (path, mut receiving, task) in uploads {
            if path == "/taken" {
                within(task).await.unwrap().unwrap();
                assert_eq!(
                    within(receiving.recv_response()).await.unwrap().status(),
                    200
                );
            }
            let mut content = Vec::new();
            while let Some(mut piece) = within(receiving.recv_data()).await.unwrap() {
                content.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
            }
            let expected = match path {
                "/taken" => LENGTH.to_string(),
                _ => "begun".to_owned(),
            };
            assert_eq!(content, expected.as_bytes(), "{path}");
        }
        // What was lent has been given back.
        within(async {
            while served.running.monitor.load().connection_memory > 600 << 10 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}

#[test]
fn a_connection_on_which_an_answer_is_awaited_or_silent_goes_on() {
    let brief = Settings {
        idle_timeout: Duration::from_secs(4),
        ..settings()
    };
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = reluctant(&gate).answer_timeout("/", Duration::MAX);
    let served = Served::of(builder.settings(brief));
    run(async {
        // These clients send nothing of their own accord.
        let mut session = served.connect().await;
        let mut silent = session.send("GET", "/given", &[]).await;
        assert_eq!(head(&mut silent).await.status(), 200);
        let mut other = served.connect().await;
        let awaited = other.send("GET", "/taken", &[]).await;
        // One that asks for nothing ends, later than the others would have.
        let idle = served.connect().await;
        idle.ends().await;
        let idle = served.connect().await;
        idle.ends().await;
        gate.add_permits(2);
        assert_eq!(quic::content(&mut silent).await.unwrap(), b"begun");
        assert_eq!(quic::answer(awaited).await.content, b"0");
    });
}

#[test]
fn content_that_waits_for_memory_or_is_dropped_is_no_reason_to_end_an_answer() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = || {
        let gate = Arc::clone(&gate);
        Server::builder().streaming_handler(move |request: Request<RequestBody>| {
            let gate = Arc::clone(&gate);
            async move {
                let mut content = request.into_body();
                let mut length = 0;
                while let Some(frame) = next_frame(&mut content).await {
                    let piece = frame.unwrap().into_data().unwrap();
                    if length == 0 {
                        // As if it wrote that to a disk.
                        gate.acquire().await.unwrap().forget();
                    }
                    length += piece.len();
                }
                Response::new(length.to_string())
            }
        })
    };
    // Hardly more than connections have of their own.
    let little = Settings {
        max_body: 1 << 30,
        connection_memory: 400 << 10,
        max_connections: 8,
        ..settings()
    };
    let plain = Running::start(builder().settings(little).listen(ANY_PORT).build().unwrap());
    run(async {
        let mut live = Live::begin(Version::Http1(plain.address), "POST", "/", &[]).await;
        let Live::Http1(one) = &mut live else {
            panic!("it is of HTTP/1.1");
        };
        let chunk = [b"2710\r\n".as_slice(), &[b'x'; 10_000], b"\r\n"].concat();
        let much = [chunk.repeat(100), b"0\r\n\r\n".to_vec()].concat();
        let (mut reading, mut writing) = one.stream.split();
        let sending = async {
            tokio::io::AsyncWriteExt::write_all(&mut writing, &much)
                .await
                .unwrap();
        };
        let mut answer = [0; 12];
        let answered = tokio::io::AsyncReadExt::read_exact(&mut reading, &mut answer);
        let opening = async {
            // So many others have been answered meanwhile.
            for _ in 0..50 {
                let mut other = Live::begin(Version::Http1(plain.address), "GET", "/", &[]).await;
                other.end(&[]).await;
                assert_eq!(other.head().await.0, 200);
            }
            gate.add_permits(1);
        };
        let ((), answered, ()) = within(async { tokio::join!(sending, answered, opening) }).await;
        answered.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    });
}
