//! A request under way: sent and read piece by piece.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::quic::{self, Served, Session, within};

/// A version of HTTP, and where it is spoken.
#[derive(Clone, Copy)]
pub(super) enum Version<'a> {
    Http1(SocketAddr),
    Http2(SocketAddr),
    Http3(&'a Served),
}

/// A request under way.
pub(super) enum Live {
    Http1(Http1),
    Http2(Http2),
    Http3(Box<Http3>),
}

pub(super) struct Http1 {
    pub(super) stream: TcpStream,
    /// What was received and not read.
    pub(super) received: Vec<u8>,
    /// How content is framed, once there is a head.
    framing: Framing,
    trailers: HeaderMap,
    /// True if content is sent in chunks.
    sends_chunks: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Framing {
    None,
    Sized(usize),
    Chunked,
    UntilClose,
}

pub(super) struct Http2 {
    answer: Option<h2::client::ResponseFuture>,
    pub(super) sending: h2::SendStream<Bytes>,
    receiving: Option<h2::RecvStream>,
    driver: JoinHandle<Result<(), h2::Error>>,
}

pub(super) struct Http3 {
    pub(super) session: Session,
    pub(super) stream: quic::Stream,
    /// True once all content is sent.
    has_ended: bool,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn fields(lines: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let value: HeaderValue = value.parse().unwrap();
        fields.append(name.parse::<HeaderName>().unwrap(), value);
    }
    fields
}

impl Live {
    /// Begins a request whose content follows.
    pub(super) async fn begin(
        version: Version<'_>,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
    ) -> Self {
        match version {
            Version::Http1(address) => {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let has_length = more.iter().any(|(name, _)| *name == "content-length");
                let sends_chunks = method != "GET" && !has_length;
                let mut head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n");
                for (name, value) in more {
                    head += &format!("{name}: {value}\r\n");
                }
                if sends_chunks {
                    head += "transfer-encoding: chunked\r\n";
                }
                stream
                    .write_all(format!("{head}\r\n").as_bytes())
                    .await
                    .unwrap();
                Live::Http1(Http1 {
                    stream,
                    received: Vec::new(),
                    framing: Framing::None,
                    trailers: HeaderMap::new(),
                    sends_chunks,
                })
            }
            Version::Http2(address) => {
                let stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
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
                let (answer, sending) = requests.send_request(request, false).unwrap();
                Live::Http2(Http2 {
                    answer: Some(answer),
                    sending,
                    receiving: None,
                    driver,
                })
            }
            Version::Http3(served) => {
                // The time limits of requests are what is looked at.
                let mut transport = quinn::TransportConfig::default();
                transport.keep_alive_interval(Some(Duration::from_millis(100)));
                let mut session = served.connect_with(transport).await;
                let stream = session.begin(method, path, more).await;
                Live::Http3(Box::new(Http3 {
                    session,
                    stream,
                    has_ended: false,
                }))
            }
        }
    }

    /// Sends a piece of content; false if the server takes none.
    pub(super) async fn send(&mut self, piece: impl Into<Bytes>) -> bool {
        let piece = piece.into();
        match self {
            Live::Http1(live) => {
                let sent = match live.sends_chunks {
                    false => piece.to_vec(),
                    true => [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat(),
                };
                within(live.stream.write_all(&sent)).await.is_ok()
            }
            Live::Http2(live) => live.sending.send_data(piece, false).is_ok(),
            Live::Http3(live) => within(live.stream.send_data(piece)).await.is_ok(),
        }
    }

    /// Sends a piece as fast as the server takes it.
    pub(super) async fn send_slowly(&mut self, piece: &[u8]) {
        let Live::Http2(live) = self else {
            assert!(self.send(piece.to_vec()).await);
            return;
        };
        let mut rest = Bytes::copy_from_slice(piece);
        while !rest.is_empty() {
            live.sending.reserve_capacity(rest.len());
            let capacity = poll_fn(|context| live.sending.poll_capacity(context));
            let capacity = within(capacity).await.unwrap().unwrap();
            let part = rest.split_to(capacity.min(rest.len()));
            live.sending.send_data(part, false).unwrap();
        }
    }

    /// Sends bytes as they are over HTTP/1.1.
    pub(super) async fn raw(&mut self, bytes: &str) {
        let Live::Http1(live) = self else {
            panic!("there are frames around");
        };
        live.stream.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// Ends the content, with trailers if there are any.
    pub(super) async fn end(&mut self, trailers: &[(&str, &str)]) {
        match self {
            Live::Http1(live) if live.sends_chunks => {
                let mut end = "0\r\n".to_owned();
                for (name, value) in trailers {
                    end += &format!("{name}: {value}\r\n");
                }
                live.stream
                    .write_all(format!("{end}\r\n").as_bytes())
                    .await
                    .unwrap();
            }
            Live::Http1(_) => {}
            Live::Http2(live) if trailers.is_empty() => {
                live.sending.send_data(Bytes::new(), true).unwrap();
            }
            Live::Http2(live) => live.sending.send_trailers(fields(trailers)).unwrap(),
            Live::Http3(live) => {
                if !trailers.is_empty() {
                    within(live.stream.send_trailers(fields(trailers)))
                        .await
                        .unwrap();
                }
                within(live.stream.finish()).await.unwrap();
                live.has_ended = true;
            }
        }
    }

    /// The head of the answer. An interim one counts in HTTP/1.1 alone.
    pub(super) async fn head(&mut self) -> (u16, HeaderMap) {
        self.try_head().await.unwrap()
    }

    /// The same; `None` if the answer is cut short before it is read.
    pub(super) async fn try_head(&mut self) -> Option<(u16, HeaderMap)> {
        match self {
            Live::Http1(live) => Some(live.head().await),
            Live::Http2(live) => {
                let answer = live.answer.take().unwrap();
                let (head, receiving) = within(answer).await.ok()?.into_parts();
                live.receiving = Some(receiving);
                Some((head.status.as_u16(), head.headers))
            }
            Live::Http3(live) => {
                let (head, ()) = within(live.stream.recv_response()).await.ok()?.into_parts();
                Some((head.status.as_u16(), head.headers))
            }
        }
    }

    /// The next piece of content; `None` at its end, an error if it is cut short.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ()> {
        match self {
            Live::Http1(live) => live.next().await,
            Live::Http2(live) => {
                let receiving = live.receiving.as_mut().unwrap();
                match within(receiving.data()).await {
                    None => Ok(None),
                    Some(Ok(piece)) => {
                        let window = receiving.flow_control();
                        window.release_capacity(piece.len()).unwrap();
                        Ok(Some(piece))
                    }
                    Some(Err(_)) => Err(()),
                }
            }
            Live::Http3(live) => match within(live.stream.recv_data()).await {
                Ok(piece) => Ok(piece.map(|mut piece| piece.copy_to_bytes(piece.remaining()))),
                Err(_) => Err(()),
            },
        }
    }

    /// Exactly so many bytes of content, in however many pieces.
    pub(super) async fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut content = Vec::new();
        while content.len() < length {
            content.extend_from_slice(&self.next().await.unwrap().unwrap());
        }
        assert_eq!(content.len(), length);
        content
    }

    /// So many bytes of content, and some more that came with them.
    pub(super) async fn at_least(&mut self, length: usize) {
        let mut count = 0;
        while count < length {
            count += self.next().await.unwrap().unwrap().len();
        }
    }

    /// What is left of the content, and if it is whole.
    pub(super) async fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut content = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(piece)) => content.extend_from_slice(&piece),
                Ok(None) => return (content, true),
                Err(()) => return (content, false),
            }
        }
    }

    /// The trailers behind content that has ended.
    pub(super) async fn trailers(&mut self) -> HeaderMap {
        match self {
            Live::Http1(live) => std::mem::take(&mut live.trailers),
            Live::Http2(live) => {
                let receiving = live.receiving.as_mut().unwrap();
                within(receiving.trailers())
                    .await
                    .unwrap()
                    .unwrap_or_default()
            }
            Live::Http3(live) => within(live.stream.recv_trailers())
                .await
                .unwrap()
                .unwrap_or_default(),
        }
    }

    /// Withdraws the request: of HTTP/1.1 with its connection.
    pub(super) fn leave(self) {
        match self {
            Live::Http1(live) => live.stream.set_zero_linger().unwrap(),
            Live::Http2(mut live) => {
                live.sending.send_reset(h2::Reason::CANCEL);
                // Its driver has to send that.
                let driver = std::mem::replace(&mut live.driver, tokio::spawn(async { Ok(()) }));
                tokio::spawn(driver);
            }
            Live::Http3(live) => {
                let Http3 {
                    session,
                    mut stream,
                    has_ended,
                } = *live;
                if !has_ended {
                    stream.stop_stream(h3::error::Code::H3_REQUEST_CANCELLED);
                }
                // Stops what is received, too: h3 cannot while it waits for some.
                drop(stream);
                tokio::spawn(async move { session.quic.closed().await });
            }
        }
    }
}

impl Http1 {
    /// True if the connection ends orderly with no further byte.
    pub(super) async fn ends(&mut self) -> bool {
        self.received.is_empty() && self.receive().await == Ok(false)
    }

    async fn receive(&mut self) -> Result<bool, ()> {
        let mut buffer = vec![0; 64 * 1024];
        let count = within(self.stream.read(&mut buffer))
            .await
            .map_err(|_| ())?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// The bytes up to `end`, without it.
    async fn up_to(&mut self, end: &[u8]) -> Result<Vec<u8>, ()> {
        loop {
            let place = self
                .received
                .windows(end.len())
                .position(|part| part == end);
            if let Some(place) = place {
                let line = self.received.drain(..place + end.len());
                let mut line: Vec<u8> = line.collect();
                line.truncate(place);
                return Ok(line);
            }
            if !self.receive().await? {
                return Err(());
            }
        }
    }

    pub(super) async fn head(&mut self) -> (u16, HeaderMap) {
        let head = self.up_to(b"\r\n\r\n").await.unwrap();
        let head = String::from_utf8(head).unwrap();
        let (status, lines) = head.split_once("\r\n").unwrap_or((&head, ""));
        let status = status.strip_prefix("HTTP/1.1 ").unwrap();
        let status: u16 = status.split(' ').next().unwrap().parse().unwrap();
        let lines: Vec<_> = lines
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        let fields = fields(&lines);
        let length = fields.get("content-length");
        let length = length.map(|length| length.to_str().unwrap().parse().unwrap());
        self.framing = match (fields.get("transfer-encoding"), length) {
            (Some(coding), None) if coding == "chunked" => Framing::Chunked,
            (None, Some(length)) => Framing::Sized(length),
            (None, None) if status < 200 || status == 204 => Framing::None,
            (None, None) => Framing::UntilClose,
            other => panic!("{other:?}"),
        };
        (status, fields)
    }

    async fn next(&mut self) -> Result<Option<Bytes>, ()> {
        match self.framing {
            Framing::None | Framing::Sized(0) => Ok(None),
            Framing::Sized(left) => {
                if self.received.is_empty() && !self.receive().await? {
                    return Err(());
                }
                let count = left.min(self.received.len());
                self.framing = Framing::Sized(left - count);
                Ok(Some(self.received.drain(..count).collect()))
            }
            Framing::UntilClose => {
                if self.received.is_empty() && !self.receive().await? {
                    return Ok(None);
                }
                Ok(Some(std::mem::take(&mut self.received).into()))
            }
            Framing::Chunked => {
                let size = self.up_to(b"\r\n").await?;
                let size = std::str::from_utf8(&size).unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                if size == 0 {
                    loop {
                        let line = String::from_utf8(self.up_to(b"\r\n").await?).unwrap();
                        let Some((name, value)) = line.split_once(": ") else {
                            self.framing = Framing::None;
                            return Ok(None);
                        };
                        let name: HeaderName = name.parse().unwrap();
                        self.trailers.append(name, value.parse().unwrap());
                    }
                }
                while self.received.len() < size + 2 {
                    if !self.receive().await? {
                        return Err(());
                    }
                }
                let piece: Vec<u8> = self.received.drain(..size + 2).collect();
                assert!(piece.ends_with(b"\r\n"));
                Ok(Some(Bytes::from(piece).slice(..size)))
            }
        }
    }
}
