//! Time: clients that may say nothing for long, and those that are gone without a word.

use tokio::io::AsyncWriteExt;

use super::live::Version;
use super::*;
use crate::common::client::request;

/// Sends back what comes.
async fn echo(request: Request<RequestBody>) -> Response<Body> {
    match request.uri().path() {
        "/late" => {
            let _ = all(&mut request.into_body()).await;
            Response::new(Body::from(""))
        }
        _ => Response::new(Body::new(request.into_body())),
    }
}

/// Waits for as long as a client may send nothing where it is waited for.
async fn a_while(address: std::net::SocketAddr) {
    let mut late = Live::begin(Version::Http1(address), "POST", "/late", &[]).await;
    late.send("x").await;
    assert_eq!(late.head().await.0, 408);
}

#[test]
fn a_client_that_talks_now_and_then_is_never_late_once_its_answer_has_begun() {
    let (plain, secure) = servers(|| Server::builder().streaming_handler(echo), hasty());
    let address = plain.address;
    each(&plain, &secure, async |version| {
        let mut live = Live::begin(version, "POST", "/", &[]).await;
        live.send("a").await;
        assert_eq!(live.head().await.0, 200);
        assert_eq!(live.exactly(1).await, b"a");
        for _ in 0..3 {
            a_while(address).await;
            assert!(live.send("b").await);
            assert_eq!(live.exactly(1).await, b"b");
        }
        live.end(&[]).await;
        assert_eq!(live.rest().await, (vec![], true));
    });
}

#[test]
fn a_client_that_waits_to_be_told_is_when_the_answer_is_made_of_its_content() {
    let (plain, secure) = servers(|| Server::builder().streaming_handler(echo), settings());
    each(&plain, &secure, async |version| {
        let more = [("expect", "100-continue"), ("content-length", "3")];
        let mut live = Live::begin(version, "POST", "/", &more).await;
        if let Live::Http1(one) = &mut live {
            assert_eq!(one.head().await.0, 100);
            let (status, fields) = one.head().await;
            assert_eq!((status, fields.get("connection")), (200, None));
        }
        live.send("abc").await;
        live.end(&[]).await;
        if !matches!(live, Live::Http1(_)) {
            assert_eq!(live.head().await.0, 200);
        }
        assert_eq!(live.rest().await, (b"abc".to_vec(), true));
    });
}

#[test]
fn a_client_of_which_nothing_more_is_received_is_missed_when_it_has_gone() {
    let (plain, _, mut answers) = Answers::new(&[], hasty());
    // More than is received ahead, or of content that nobody wants.
    let ahead = request("GET", "/", "") + &request("GET", "/x", "").repeat(2000);
    let chunks = format!("{:x}\r\n{}\r\n", 1000, "x".repeat(1000)).repeat(200);
    let content = request("POST", "/", "Transfer-Encoding: chunked\r\n") + &chunks;
    run(async {
        for (sent, is_reset) in [
            (&ahead, true),
            (&ahead, false),
            (&content, true),
            (&content, false),
        ] {
            let stream = tokio::net::TcpStream::connect(plain.address).await;
            let mut stream = stream.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            let give = answers.next().await;
            present(&answers.present, 1).await;
            if is_reset {
                stream.set_zero_linger().unwrap();
            }
            drop(stream);
            // Nothing is sent that would tell.
            present(&answers.present, 0).await;
            drop(give);
        }
    });
}
