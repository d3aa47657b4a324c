//! One request after the other, over each version of HTTP.

use std::io::Read;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use salver_server::Builder;

use crate::common::client::{Client, request};
use crate::common::{Running, settings};
use crate::quic::{self, Served, run, within};

pub(crate) const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// An answer of any protocol: status, fields, content.
pub(crate) type Answer = (u16, http::HeaderMap, Vec<u8>);

/// One request after the other, over a protocol.
pub(crate) enum Over<'a> {
    Http1(SocketAddr),
    Http2(SocketAddr),
    Http3(&'a Served),
}

impl Over<'_> {
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        content: &[u8],
    ) -> Answer {
        match self {
            Over::Http1(address) => {
                let mut lines = String::new();
                for (name, value) in more {
                    lines.push_str(&format!("{name}: {value}\r\n"));
                }
                if !content.is_empty() {
                    lines.push_str(&format!("Content-Length: {}\r\n", content.len()));
                }
                let mut client = Client::new(*address);
                client.send(request(method, path, &lines));
                client.send(content);
                let mut answer = client.head();
                if method != "HEAD" && !matches!(answer.status, 204 | 304) {
                    answer.content = vec![0; answer.length()];
                    client.0.read_exact(&mut answer.content).unwrap();
                }
                let mut fields = http::HeaderMap::new();
                for line in answer.head.lines().skip(1) {
                    if let Some((name, value)) = line.split_once(':') {
                        let name: http::HeaderName = name.parse().unwrap();
                        fields.append(name, value.trim().parse().unwrap());
                    }
                }
                (answer.status, fields, answer.content)
            }
            Over::Http2(address) => {
                let stream = tokio::net::TcpStream::connect(address).await.unwrap();
                let (requests, connection) = h2::client::handshake(stream).await.unwrap();
                let driver = tokio::spawn(connection);
                let mut request = Request::builder()
                    .method(method)
                    .uri(format!("http://a{path}"));
                for (name, value) in more {
                    request = request.header(*name, *value);
                }
                let mut requests = requests.ready().await.unwrap();
                let request = request.body(()).unwrap();
                let (answer, mut sending) =
                    requests.send_request(request, content.is_empty()).unwrap();
                if !content.is_empty() {
                    sending
                        .send_data(Bytes::copy_from_slice(content), true)
                        .unwrap();
                }
                let (head, mut receiving) = within(answer).await.unwrap().into_parts();
                let mut received = Vec::new();
                while let Some(piece) = within(receiving.data()).await {
                    let piece = piece.unwrap();
                    let window = receiving.flow_control();
                    window.release_capacity(piece.len()).unwrap();
                    received.extend_from_slice(&piece);
                }
                driver.abort();
                (head.status.as_u16(), head.headers, received)
            }
            Over::Http3(server) => {
                let mut session = server.connect().await;
                let mut stream = session.begin(method, path, more).await;
                if !content.is_empty() {
                    let content = Bytes::copy_from_slice(content);
                    within(stream.send_data(content)).await.unwrap();
                }
                within(stream.finish()).await.unwrap();
                let answer = quic::answer(stream).await;
                (answer.status, answer.fields, answer.content)
            }
        }
    }
}

/// Runs `check` over each protocol.
pub(crate) fn over_all(builder: impl Fn() -> Builder, check: impl AsyncFn(Over<'_>)) {
    let plain = builder().settings(settings()).listen(ANY_PORT).build();
    let plain = Running::start(plain.unwrap());
    let served = Served::of(builder().settings(settings()));
    run(async {
        check(Over::Http1(plain.address)).await;
        check(Over::Http2(plain.address)).await;
        check(Over::Http3(&served)).await;
    });
}
