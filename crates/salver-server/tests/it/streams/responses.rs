//! Answers whose content is streamed: piece by piece, no faster than the client takes it, and never whole if it is not.

use std::io::Read;

use super::live::Version;
use super::*;
use crate::common::client::{Client, request};
use crate::common::pattern;

#[test]
fn each_piece_is_sent_as_soon_as_it_is_there_and_trailers_last() {
    let fields = [("x-own", "1"), ("trailer", "x-sum")];
    let (plain, secure, mut answers) = Answers::new(&fields, settings());
    each(&plain, &secure, async |version| {
        let (mut live, give) = asked(version, &mut answers).await;
        let (status, fields) = live.head().await;
        assert!(status == 200 && fields["x-own"] == "1" && fields["trailer"] == "x-sum");
        assert!(!fields.contains_key("content-length"));
        let is_chunked = fields.contains_key("transfer-encoding");
        assert_eq!(is_chunked, matches!(version, Version::Http1(_)));
        for number in 0..20 {
            let piece = format!("data: {number}\n\n");
            give.send(data(piece.clone())).unwrap();
            give.send(data("")).unwrap();
            // The next one is made only when this has come.
            assert_eq!(live.exactly(piece.len()).await, piece.as_bytes());
        }
        let long = pattern(1_000_000, 3);
        give.send(data(long.clone())).unwrap();
        let wrong = [
            ("x-sum", "7"),
            ("content-length", "3"),
            ("set-cookie", "a=b"),
        ];
        give.send(trailers(&wrong)).unwrap();
        let (rest, is_whole) = live.rest().await;
        assert!(is_whole && rest == long);
        let trailers = live.trailers().await;
        assert!(
            trailers.len() == 1 && trailers["x-sum"] == "7",
            "{trailers:?}"
        );
        present(&answers.present, 0).await;
    });
}

#[test]
fn an_answer_whose_end_comes_alone_ends_at_once() {
    let idle = Settings {
        idle_timeout: crate::common::PATIENCE * 2,
        ..settings()
    };
    let (plain, secure, mut answers) = Answers::new(&[], idle.clone());
    each(&plain, &secure, async |version| {
        let (mut live, give) = asked(version, &mut answers).await;
        give.send(data("abc")).unwrap();
        live.head().await;
        assert_eq!(live.exactly(3).await, b"abc");
        drop(give);
        assert_eq!(live.rest().await, (vec![], true));
    });
    // Of these the end needs no byte.
    let (known, _, mut sized) = Answers::new(&[("content-length", "3")], idle);
    run(async {
        let check = async |answers: &mut Answers, request: &str, address| {
            let mut client = Client::new(address);
            client.send(request);
            let give = answers.next().await;
            give.send(data("abc")).unwrap();
            client.head();
            let mut content = [0; 3];
            client.0.read_exact(&mut content).unwrap();
            drop(give);
            present(&answers.present, 0).await;
            assert_eq!(client.rest(), (vec![], true));
        };
        let closing = request("GET", "/", "Connection: close\r\n");
        check(&mut sized, &closing, known.address).await;
        check(&mut answers, "GET / HTTP/1.0\r\n\r\n", plain.address).await;
    });
}

/// Gives the next answer.
fn answer(answers: &mut Answers) {
    run(async {
        let give = answers.next().await;
        // That to HEAD has gone already.
        let _ = give.send(data("ab"));
        let _ = give.send(trailers(&[("x", "1")]));
    });
}

#[test]
fn a_connection_goes_on_behind_a_streamed_answer_and_one_of_http_1_0_ends() {
    let (plain, _, mut answers) = Answers::new(&[], settings());
    let mut client = Client::new(plain.address);
    for _ in 0..3 {
        client.send(request("GET", "/", ""));
        answer(&mut answers);
        let head = client.head();
        assert_eq!(head.field("transfer-encoding"), Some("chunked"));
        assert_eq!(head.field("connection"), None);
        // Trailers are for those who say that they take them.
        let mut content = [0; 12];
        client.0.read_exact(&mut content).unwrap();
        assert_eq!(&content, b"2\r\nab\r\n0\r\n\r\n");
    }
    client.send(request("HEAD", "/", "Connection: close\r\n"));
    answer(&mut answers);
    let head = client.head();
    assert_eq!((head.status, head.field("transfer-encoding")), (200, None));
    client.ends();
    let mut client = Client::new(plain.address);
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    answer(&mut answers);
    let (rest, orderly) = client.rest();
    let rest = String::from_utf8(rest).unwrap();
    let (head, content) = rest.split_once("\r\n\r\n").unwrap();
    assert!(orderly && content == "ab", "{rest}");
    assert!(head.contains("\r\nConnection: close"), "{head}");
    assert!(!head.contains("Transfer-Encoding"), "{head}");
}

#[test]
fn a_length_that_is_promised_is_kept_or_the_answer_is_cut_short() {
    let (plain, secure, mut answers) = Answers::new(&[("content-length", "10")], settings());
    each(&plain, &secure, async |version| {
        let mut check = async |pieces: &[&'static str], most: usize, is_whole: bool| {
            let (mut live, give) = asked(version, &mut answers).await;
            for piece in pieces {
                give.send(data(*piece)).unwrap();
            }
            drop(give);
            let Some((status, fields)) = live.try_head().await else {
                return assert!(!is_whole, "{pieces:?}");
            };
            assert!(status == 200 && fields["content-length"] == "10");
            let (content, whole) = live.rest().await;
            assert_eq!(whole, is_whole, "{pieces:?}: {}", content.escape_ascii());
            assert!(content.len() <= most, "{}", content.escape_ascii());
        };
        check(&["0123", "456789"], 10, true).await;
        check(&["0123", "45678"], 9, false).await;
        // It does not look whole although there is enough of it.
        check(&["0123", "456789x"], 9, false).await;
        check(&["0123", "456789", "x"], 9, false).await;
    });
}

#[test]
fn content_that_fails_or_panics_is_cut_short_and_the_server_goes_on() {
    let (plain, secure, mut answers) = Answers::new(&[], settings());
    each(&plain, &secure, async |version| {
        let (mut live, give) = asked(version, &mut answers).await;
        give.send(data("abc")).unwrap();
        live.head().await;
        assert_eq!(live.exactly(3).await, b"abc");
        give.send(Err("on purpose")).unwrap();
        assert_eq!(live.rest().await, (vec![], false));
        // No content at all is content, too.
        let (mut live, give) = asked(version, &mut answers).await;
        drop(give);
        assert_eq!(live.head().await.0, 200);
        assert_eq!(live.rest().await, (vec![], true));
        present(&answers.present, 0).await;
    });
}

/// Content without end, which counts what is asked for.
struct Endless(Arc<AtomicUsize>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let before = self.0.fetch_add(16_384, Ordering::SeqCst);
        assert!(before < 1 << 30, "nobody takes so much");
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 16_384])))))
    }
}

#[test]
fn no_more_is_made_than_the_client_takes_and_others_are_served_meanwhile() {
    let made = Arc::<AtomicUsize>::default();
    let handler = |made: &Arc<AtomicUsize>| {
        let made = Arc::clone(made);
        async move |request: Request<RequestBody>| match request.uri().path() {
            "/other" => Response::new(Body::from("other")),
            _ => Response::new(Body::new(Endless(Arc::clone(&made)))),
        }
    };
    let builder = || Server::builder().streaming_handler(handler(&made));
    let (plain, secure) = servers(builder, settings());
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "GET", "/", &[]).await;
        live.end(&[]).await;
        live.head().await;
        let before = made.load(Ordering::SeqCst);
        // The kernel holds some megabytes; a client that does not read holds no more.
        for _ in 0..200 {
            let mut other = Live::begin(version, "GET", "/other", &[]).await;
            other.end(&[]).await;
            other.head().await;
            assert_eq!(other.rest().await, (b"other".to_vec(), true));
        }
        let unread = made.load(Ordering::SeqCst) - before;
        assert!(unread < 16 << 20, "{unread} bytes were made for nobody");
        live.at_least(20 << 20).await;
        assert!(made.load(Ordering::SeqCst) >= before + (4 << 20));
        live.leave();
    });
}

#[test]
fn an_answer_ends_when_its_client_leaves() {
    let (plain, secure, mut answers) = Answers::new(&[], settings());
    each(&plain, &secure, async |version| {
        let (mut live, give) = asked(version, &mut answers).await;
        give.send(data("abc")).unwrap();
        live.head().await;
        live.exactly(3).await;
        present(&answers.present, 1).await;
        live.leave();
        // Nothing is sent that would tell.
        present(&answers.present, 0).await;
        assert!(give.send(data("more")).is_err());
    });
    // A client that ends its side alone has a moment more.
    run(async {
        let (live, _give) = asked(Version::Http1(plain.address), &mut answers).await;
        present(&answers.present, 1).await;
        drop(live);
        present(&answers.present, 0).await;
    });
}

#[test]
fn a_client_that_takes_nothing_is_dropped_and_one_that_waits_for_its_answer_is_not() {
    let hasty = Settings {
        send_timeout: Duration::from_secs(1),
        ..settings()
    };
    let (plain, secure, mut answers) = Answers::new(&[], hasty);
    each(&plain, &secure, async |version| {
        let (mut waiting, give) = asked(version, &mut answers).await;
        waiting_head(&mut waiting, &give).await;
        let (mut greedy, much) = asked(version, &mut answers).await;
        much.send(data(vec![b'x'; 64 << 20])).unwrap();
        greedy.head().await;
        // It reads no more.
        present(&answers.present, 1).await;
        give.send(data("at last")).unwrap();
        assert_eq!(waiting.exactly(7).await, b"at last");
        drop(give);
        assert_eq!(waiting.rest().await, (vec![], true));
    });
}

/// Reads the head of an answer that has nothing more to tell for a while.
async fn waiting_head(live: &mut Live, give: &Frames) {
    give.send(data("a")).unwrap();
    live.head().await;
    live.exactly(1).await;
}

#[test]
fn streamed_answers_are_logged_with_what_was_sent() {
    use salver_access_log::{Destination, LogWriter, Settings as LogSettings};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let writer = LogWriter::start(|notice| panic!("{notice}")).unwrap();
    let log = writer
        .open(&LogSettings::new(Destination::File(path.clone())))
        .unwrap();
    let logged = Settings {
        access_log: Some(log),
        ..settings()
    };
    let (plain, secure, mut answers) = Answers::new(&[], logged);
    each(&plain, &secure, async |version| {
        let (mut live, give) = asked(version, &mut answers).await;
        for _ in 0..10 {
            give.send(data("0123456789")).unwrap();
        }
        drop(give);
        live.head().await;
        assert_eq!(live.rest().await.0.len(), 100);
    });
    drop((plain, secure));
    assert!(writer.stop(crate::common::PATIENCE));
    let lines = std::fs::read_to_string(path).unwrap();
    let sent: Vec<_> = lines
        .lines()
        .filter(|line| line.contains(" 200 100 "))
        .collect();
    assert_eq!(sent.len(), 3, "{lines}");
}
