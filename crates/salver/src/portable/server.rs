//! The server: listeners, and hyper on each connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use salver_tower::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tower_service::Service as _;

use crate::portable::seats::{Seat, Seats};
use crate::portable::sites::Sites;
use crate::portable::timed_stream::TimedStream;
use crate::settings::Limits;

/// The most bytes of the head of a request.
const HEAD: usize = 64 * 1024;

/// Requests of one connection of HTTP/2 that are under way at once.
const STREAMS: u32 = 128;

/// The time after which a listener is asked again that had no descriptor for a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// What connections share.
struct Shared {
    sites: Arc<Sites>,
    limits: Limits,
    seats: Seats,
    builder: Builder<TokioExecutor>,
}

/// The sockets of these addresses.
///
/// # Errors
/// The first that cannot be had.
pub(crate) fn bind(
    addresses: &[SocketAddr],
) -> Result<Vec<std::net::TcpListener>, (SocketAddr, io::Error)> {
    let bind = |address: &SocketAddr| {
        let listener = std::net::TcpListener::bind(address).map_err(|error| (*address, error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| (*address, error))?;
        Ok(listener)
    };
    addresses.iter().map(bind).collect()
}

/// Serves until `end` is notified; then answers under way are finished, for as long as the limits say or until it is
/// notified once more.
///
/// # Errors
/// A socket that the runtime cannot have.
pub(crate) async fn serve(
    listeners: Vec<std::net::TcpListener>,
    sites: Arc<Sites>,
    limits: Limits,
    end: &Notify,
) -> io::Result<()> {
    let shared = Arc::new(Shared {
        sites,
        seats: Seats::new(limits.max_connections, limits.max_connections_per_client),
        builder: builder(&limits),
        limits,
    });
    let graceful = Arc::new(GracefulShutdown::new());
    let mut accepting = tokio::task::JoinSet::new();
    for listener in listeners {
        let listener = TcpListener::from_std(listener)?;
        accepting.spawn(accept(listener, Arc::clone(&shared), Arc::clone(&graceful)));
    }
    end.notified().await;
    accepting.shutdown().await;
    let Some(graceful) = Arc::into_inner(graceful) else {
        return Ok(());
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(shared.limits.drain) => {}
        () = end.notified() => {}
    }
    Ok(())
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder = match (limits.http1, limits.http2) {
        (true, false) => builder.http1_only(),
        (false, true) => builder.http2_only(),
        _ => builder,
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(HEAD)
        .half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(HEAD).unwrap_or(u32::MAX));
    builder
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, graceful: Arc<GracefulShutdown>) {
    while let Some(place) = shared.seats.place().await {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // A client that has gone, or no descriptor: neither ends the server.
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        if let Some(seat) = shared.seats.take(client.ip(), place) {
            connect(stream, seat, &shared, &graceful);
        }
    }
}

fn connect(stream: TcpStream, seat: Seat, shared: &Arc<Shared>, graceful: &GracefulShutdown) {
    // Costs time alone where it fails.
    let _ = stream.set_nodelay(true);
    let answers = Arc::new(());
    let limits = &shared.limits;
    let stream = TimedStream::new(
        stream,
        limits.idle_timeout,
        limits.send_timeout,
        Arc::clone(&answers),
    );
    let service = {
        let shared = Arc::clone(shared);
        service_fn(move |request| {
            let (shared, answer) = (Arc::clone(&shared), Arc::clone(&answers));
            async move {
                let response = respond(&shared, request).await;
                drop(answer);
                Ok::<_, Infallible>(response)
            }
        })
    };
    let connection = shared
        .builder
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection.into_owned());
    tokio::spawn(async move {
        // What a client does wrong ends its connection, and is no news.
        let _ = connection.await;
        drop(seat);
    });
}

async fn respond(
    shared: &Shared,
    request: Request<Incoming>,
) -> Response<Either<Body, Full<Bytes>>> {
    let Some(mut assets) = shared.sites.find(&request) else {
        return text(StatusCode::NOT_FOUND, "Not Found");
    };
    match tokio::time::timeout(shared.limits.answer_timeout, assets.call(request)).await {
        Ok(Ok(response)) => response.map(Either::Left),
        Err(_) => {
            let late = "Service Unavailable: the disk did not answer in time";
            let mut response = text(StatusCode::SERVICE_UNAVAILABLE, late);
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Either<Body, Full<Bytes>>> {
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    let fresh = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, fresh);
    response
}
