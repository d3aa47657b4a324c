//! Upgrades that are not accepted, and those of which one side ends before the other.

use std::io::Read;
use std::net::Shutdown;

use salver_assets::rules::{Action, Condition, PathCondition, Rule, RuleSet};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::live::Version;
use super::upgrades::{Connected, OFFER, accepting};
use super::*;
use crate::common::client::{Client, request};

fn start(builder: Builder, settings: Settings) -> Running {
    Running::start(builder.settings(settings).listen(ANY_PORT).build().unwrap())
}

#[test]
fn rules_refuse_a_tunnel_as_they_refuse_the_request_for_one_over_http_1_1() {
    let denied = Rule {
        when: Condition {
            path: PathCondition::Glob("/admin/**".to_owned()),
            ..Condition::default()
        },
        actions: vec![Action::Deny(403)],
        ..Rule::default()
    };
    let site = crate::common::Site::with(&[("file", b"a file")]);
    let builder = accepting(async |stream| drop(stream))
        .directory("/", site.root())
        .rules(Arc::new(RuleSet::compile(&[denied]).unwrap()));
    let server = start(builder, settings());
    let over_http1 = |path: &str| {
        let mut client = Client::new(server.address);
        client.send(request("GET", path, OFFER));
        client.head().status
    };
    run(async {
        for (path, expected, tunnel) in [
            ("/ws", 101, 200),
            ("/admin/ws", 403, 403),
            ("/x/../admin/%77s", 403, 403),
            // A file is no tunnel, whatever its status says.
            ("/file", 200, 501),
        ] {
            assert_eq!(over_http1(path), expected, "{path}");
            let (status, _) = Connected::ask(server.address, path, "echo", &[]).await;
            assert_eq!(status, tunnel, "{path}");
        }
    });
}

#[test]
fn an_answer_that_accepts_nothing_is_no_tunnel() {
    let builder = || {
        Server::builder().streaming_handler(async |request: Request<RequestBody>| {
            let body = match request.uri().path() {
                "/streamed" => Body::new(request.into_body()),
                _ => Body::from("hello"),
            };
            Response::new(body)
        })
    };
    let server = start(builder(), settings());
    run(async {
        for path in ["/", "/streamed"] {
            let (status, _) = Connected::ask(server.address, path, "echo", &[]).await;
            assert_eq!(status, 501, "{path}");
        }
        let mut live = Live::begin(Version::Http2(server.address), "GET", "/", &[]).await;
        live.end(&[]).await;
        assert_eq!(live.head().await.0, 200);
    });
}

#[test]
fn who_has_ended_its_side_is_told_the_rest_however_late() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let opens = Arc::clone(&gate);
    let late = move |mut stream: salver_server::UpgradedStream| {
        let gate = Arc::clone(&gate);
        async move {
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            gate.acquire().await.unwrap().forget();
            stream.write_all(&all).await.unwrap();
        }
    };
    let server = start(accepting(late), settings());
    let mut client = Client::new(server.address);
    client.send(request("GET", "/", OFFER));
    assert_eq!(client.head().status, 101);
    client.send("what is said");
    client.0.get_ref().shutdown(Shutdown::Write).unwrap();
    // A streamed answer whose client has ended its side ends later than that would.
    let (plain, _, mut answers) = Answers::new(&[], settings());
    run(async {
        for _ in 0..2 {
            let (live, give) = asked(Version::Http1(plain.address), &mut answers).await;
            present(&answers.present, 1).await;
            drop(live);
            present(&answers.present, 0).await;
            drop(give);
        }
    });
    opens.add_permits(1);
    let mut said = String::new();
    client.0.read_to_string(&mut said).unwrap();
    assert_eq!(said, "what is said");
}
