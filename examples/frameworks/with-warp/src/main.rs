//! `cargo run -p with-warp -- DIR [PORT]`: a route of warp, and the files of DIR for every other path.

use std::convert::Infallible;
use std::io;

use http::{HeaderMap, Method, Request};
use http_body_util::BodyDataStream;
use salver_tower::Assets;
use tower_service::Service;
use warp::Filter;
use warp::path::FullPath;
use warp::reply::{Reply, Response};

fn files(assets: Assets) -> impl Filter<Extract = (Response,), Error = Infallible> + Clone {
    let request = warp::method()
        .and(warp::path::full())
        .and(warp::header::headers_cloned());
    request.then(move |method: Method, path: FullPath, fields: HeaderMap| {
        let mut assets = assets.clone();
        async move {
            let mut request = Request::builder()
                .method(method)
                .uri(path.as_str())
                .body(())
                .unwrap_or_default();
            *request.headers_mut() = fields;
            let Ok(answer) = assets.call(request).await;
            let (head, body) = answer.into_parts();
            let mut response = warp::reply::stream(BodyDataStream::new(body)).into_response();
            *response.status_mut() = head.status;
            *response.headers_mut() = head.headers;
            response
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (directory, port) = common::arguments()?;
    let assets = Assets::new(directory).map_err(io::Error::other)?;
    let health = warp::path!("api" / "health").map(|| "well\n");
    let (listener, end) = common::listen(port).await?;
    let server = warp::serve(health.or(files(assets))).incoming(listener);
    server.graceful(end).run().await;
    Ok(())
}
