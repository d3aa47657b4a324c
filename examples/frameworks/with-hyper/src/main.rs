//! `cargo run -p with-hyper -- DIR [PORT]`: a route by hand, and the files of DIR for every other path, over HTTP/1.1 and
//! HTTP/2.

use std::convert::Infallible;
use std::io;
use std::pin::pin;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use salver_tower::{Assets, Body};
use tower_service::Service;

async fn respond(
    mut assets: Assets,
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Body>>, Infallible> {
    match request.uri().path() {
        "/api/health" => Ok(Response::new(Either::Left("well\n".into()))),
        _ => Ok(assets.call(request).await?.map(Either::Right)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (directory, port) = common::arguments()?;
    let assets = Assets::new(directory).map_err(io::Error::other)?;
    let (listener, end) = common::listen(port).await?;
    let (builder, graceful) = (
        auto::Builder::new(TokioExecutor::new()),
        GracefulShutdown::new(),
    );
    let mut end = pin!(end);
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = &mut end => break,
        };
        let assets = assets.clone();
        let service = service_fn(move |request| respond(assets.clone(), request));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection.into_owned());
        // Whose client has gone away ends with an error that is nobody's.
        tokio::spawn(async move { connection.await.ok() });
    }
    graceful.shutdown().await;
    Ok(())
}
