//! Content that streams, in both directions and over every version of HTTP, between handlers and clients of other make.

mod beside;
mod bounds;
mod live;
mod misuse;
mod patience;
mod refused_upgrades;
mod requests;
mod responses;
mod service;
mod upgrades;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use salver_server::{Body, Builder, RequestBody, Server, Settings};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::common::{Running, settings};
use crate::program::over::ANY_PORT;
use crate::quic::{Served, run, within};
use live::Live;

/// The frames that a test gives an answer, one by one.
type Frames = UnboundedSender<Result<Frame<Bytes>, &'static str>>;

/// Content that a test gives.
struct Given {
    frames: UnboundedReceiver<Result<Frame<Bytes>, &'static str>>,
    _present: Present,
}

impl http_body::Body for Given {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.frames.poll_recv(context)
    }
}

/// One more for as long as this is there.
struct Present(Arc<AtomicUsize>);

impl Present {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Present(Arc::clone(count))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until so many are there.
async fn present(count: &AtomicUsize, expected: usize) {
    within(async {
        while count.load(Ordering::SeqCst) != expected {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A piece of content.
fn data(piece: impl Into<Bytes>) -> Result<Frame<Bytes>, &'static str> {
    Ok(Frame::data(piece.into()))
}

/// Trailers.
fn trailers(lines: &[(&'static str, &'static str)]) -> Result<Frame<Bytes>, &'static str> {
    let line = |(name, value): &(&str, &str)| (name.parse().unwrap(), value.parse().unwrap());
    let lines: http::HeaderMap = lines.iter().map(line).collect();
    Ok(Frame::trailers(lines))
}

/// The next frame of some content.
async fn next_frame(content: &mut RequestBody) -> Option<std::io::Result<Frame<Bytes>>> {
    std::future::poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut *content), context))
        .await
}

/// Everything of some content, as far as it came, and its trailers as text.
async fn all(content: &mut RequestBody) -> Result<(Vec<u8>, String), std::io::Error> {
    let (mut whole, mut said) = (Vec::new(), String::new());
    while let Some(frame) = next_frame(content).await {
        match frame?.into_data() {
            Ok(data) => whole.extend_from_slice(&data),
            Err(frame) => said = format!("{:?}", frame.into_trailers().unwrap()),
        }
    }
    Ok((whole, said))
}

/// The answers of a server, which a test gives: each sender that comes is that of the next one.
struct Answers {
    answers: UnboundedReceiver<Frames>,
    /// The number of answers that are being given.
    present: Arc<AtomicUsize>,
}

impl Answers {
    /// With these lines in the head of each answer; the server without TLS and the one with it.
    fn new(fields: &[(&'static str, &'static str)], settings: Settings) -> (Running, Served, Self) {
        let (tell, answers) = unbounded_channel();
        let present = Arc::<AtomicUsize>::default();
        let (fields, count) = (fields.to_vec(), Arc::clone(&present));
        let handler = Arc::new(move |_: Request<RequestBody>| {
            let (give, frames) = unbounded_channel();
            tell.send(give).unwrap();
            let given = Given {
                frames,
                _present: Present::new(&count),
            };
            let mut response = Response::builder();
            for (name, value) in &fields {
                response = response.header(*name, *value);
            }
            std::future::ready(response.body(Body::new(given)).unwrap())
        });
        let builder = || {
            let handler = Arc::clone(&handler);
            Server::builder().streaming_handler(move |request| handler(request))
        };
        let (plain, secure) = servers(builder, settings);
        (plain, secure, Answers { answers, present })
    }

    /// What gives the next answer.
    async fn next(&mut self) -> Frames {
        within(self.answers.recv()).await.unwrap()
    }
}

/// A server without TLS and one with it.
fn servers(builder: impl Fn() -> Builder, settings: Settings) -> (Running, Served) {
    let plain = builder()
        .settings(settings.clone())
        .listen(ANY_PORT)
        .build();
    let plain = Running::start(plain.unwrap());
    (plain, Served::of(builder().settings(settings)))
}

/// Runs `check` over each version.
fn each(plain: &Running, secure: &Served, mut check: impl AsyncFnMut(live::Version<'_>)) {
    run(async {
        check(live::Version::Http1(plain.address)).await;
        check(live::Version::Http2(plain.address)).await;
        check(live::Version::Http3(secure)).await;
    });
}

/// Time limits that a test can wait for.
fn hasty() -> Settings {
    Settings {
        idle_timeout: Duration::from_secs(1),
        ..settings()
    }
}

/// Begins a request, and waits until its answer is asked for.
async fn asked(version: live::Version<'_>, answers: &mut Answers) -> (Live, Frames) {
    let mut live = Live::begin(version, "GET", "/", &[("te", "trailers")]).await;
    live.end(&[]).await;
    let give = answers.next().await;
    (live, give)
}
