//! Upgrades in the types of hyper, which axum's `WebSocketUpgrade` takes.
//!
//! hyper alone makes an `OnUpgrade`, for a connection of its own: so each offer of a client is told to a server of hyper as
//! one request, on a [`Bridge`] that is nobody's connection yet. When the service accepts, hyper is let answer 101, which
//! nobody reads, and hands the bridge over to the service; from then on it is the client's connection.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use tokio::io::AsyncWrite;
use tokio::sync::oneshot;

use super::body::Body;
use super::request_body::RequestBody;
use super::upgrade::{Upgrade, UpgradedStream};
use crate::memory_budget::Charge;

/// The request that hyper is told.
const OFFER: &[u8] = b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";

/// The memory of a connection of hyper's, about.
const HELD: usize = 16 * 1024;

/// The bytes that are read at a time.
const PIECE: usize = 64 * 1024;

/// A connection of hyper's that has one request, whose answer the service decides.
type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>>>>;

/// The upgrade of a request in the types of hyper, if its client offers one.
pub(super) struct HyperUpgrade(Option<Offered>);

struct Offered {
    upgrade: Upgrade,
    connection: Connection,
    /// What lets hyper answer.
    accept: oneshot::Sender<()>,
    /// Where the bridge finds the client's connection.
    stream: Slot<UpgradedStream>,
    /// The memory of all that, without which nothing is offered: a client may offer much.
    _charge: Charge,
}

type Slot<T> = Arc<Mutex<Option<T>>>;

fn put<T>(slot: &Slot<T>, value: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Adds what services look for to a request whose client offers an upgrade.
pub(super) fn add(request: &mut Request<RequestBody>) -> HyperUpgrade {
    let offered = request.extensions().get::<Upgrade>().cloned();
    let offered = offered.and_then(|upgrade| offer(upgrade, request));
    HyperUpgrade(offered)
}

fn offer(upgrade: Upgrade, request: &mut Request<RequestBody>) -> Option<Offered> {
    // That is spoken by no service, and offered by some clients with each request.
    if upgrade.offers("h2c") {
        return None;
    }
    let charge = upgrade.charge(HELD)?;
    let (on_upgrade, stream) = (Slot::default(), Slot::default());
    let (accept, accepted) = oneshot::channel();
    let bridge = Bridge {
        offer: OFFER,
        line_ends: 0,
        stream: None,
        slot: Arc::clone(&stream),
    };
    let (given, accepted) = (Arc::clone(&on_upgrade), Mutex::new(Some(accepted)));
    let service = service_fn(move |mut request: Request<Incoming>| {
        put(&given, hyper::upgrade::on(&mut request));
        let accepted = accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        async move {
            let is_accepted = match accepted {
                Some(accepted) => accepted.await.is_ok(),
                None => false,
            };
            Ok::<_, Infallible>(switching(is_accepted))
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(bridge, service)
        .with_upgrades();
    let mut connection: Connection = Box::pin(connection);
    let mut context = Context::from_waker(Waker::noop());
    if connection.as_mut().poll(&mut context).is_ready() {
        return None;
    }
    let on_upgrade: OnUpgrade = take(&on_upgrade)?;
    request.extensions_mut().insert(on_upgrade);
    protocol::add(&upgrade, request);
    Some(Offered {
        upgrade,
        connection,
        accept,
        stream,
        _charge: charge,
    })
}

/// What hyper answers.
fn switching(is_accepted: bool) -> Response<String> {
    let mut response = Response::new(String::new());
    if is_accepted {
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let fields = response.headers_mut();
        fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        fields.insert(UPGRADE, HeaderValue::from_static("x"));
    }
    response
}

impl HyperUpgrade {
    /// The response to send for that of the service. If it accepts the upgrade, the service is given the connection.
    pub(super) fn finish(self, response: Response<Body>) -> Response<Body> {
        let Some(mut offered) = self.0 else {
            return response;
        };
        if !offered.upgrade.is_accepted_by(response.status()) {
            return response;
        }
        let protocol = offered.upgrade.protocols().clone();
        // It may have been accepted without hyper.
        let Some((accepting, stream)) = offered.upgrade.accept(protocol) else {
            return response;
        };
        put(&offered.stream, stream);
        // hyper writes into the bridge alone: there is nothing to wait for.
        let _ = offered.accept.send(());
        let mut context = Context::from_waker(Waker::noop());
        let _ = offered.connection.as_mut().poll(&mut context);
        response.map(|_| accepting.into_body())
    }
}

/// What hyper takes for a connection: first one on which a client offers an upgrade, then that of our client.
struct Bridge {
    /// What is left to read of the offer.
    offer: &'static [u8],
    /// The bytes of the end of hyper's head that have been written, which nobody reads: it is written off whole at 4.
    line_ends: usize,
    stream: Option<UpgradedStream>,
    slot: Slot<UpgradedStream>,
}

/// The end of a head.
const HEAD_END: &[u8; 4] = b"\r\n\r\n";

impl Bridge {
    /// The client's connection, once there is one.
    fn stream(&mut self) -> Option<&mut UpgradedStream> {
        if self.stream.is_none() {
            self.stream = take(&self.slot);
        }
        self.stream.as_mut()
    }

    /// Drops what belongs to hyper's head; the number of bytes that do.
    fn drop_head(&mut self, bytes: &[u8]) -> usize {
        let mut count = 0;
        for byte in bytes {
            match HEAD_END.get(self.line_ends) {
                None => break,
                Some(expected) if expected == byte => self.line_ends += 1,
                Some(_) => self.line_ends = usize::from(*byte == b'\r'),
            }
            count += 1;
        }
        count
    }
}

impl Read for Bridge {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(PIECE);
        if !self.offer.is_empty() {
            let (now, later) = self.offer.split_at(most.min(self.offer.len()));
            buffer.put_slice(now);
            self.offer = later;
            return Poll::Ready(Ok(()));
        }
        let Some(stream) = self.stream() else {
            // hyper asks again when the upgrade is accepted.
            return Poll::Pending;
        };
        let piece = ready!(stream.poll_piece(context, most))?;
        buffer.put_slice(&piece);
        Poll::Ready(Ok(()))
    }
}

impl Write for Bridge {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let dropped = self.drop_head(bytes);
        if dropped > 0 {
            return Poll::Ready(Ok(dropped));
        }
        match self.stream() {
            Some(stream) => stream.push(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some(stream) => Pin::new(stream).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Some(stream) => Pin::new(stream).poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

#[cfg_attr(not(feature = "axum-http2"), path = "hyper_upgrade/protocol_absent.rs")]
mod protocol;
