//! `cargo run -p with-actix -- DIR [PORT]`: a route of actix-web, and the files of DIR for every other path.

use std::io;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, body::SizedStream, web};
use http_body_util::BodyDataStream;
use salver_tower::Assets;
use tower_service::Service;

async fn files(asked: HttpRequest, assets: web::Data<Assets>) -> io::Result<HttpResponse> {
    // The types of actix are those of `http` 0.2.
    let method = asked.method().as_str();
    let mut request = http::Request::builder()
        .method(method)
        .uri(asked.uri().to_string());
    for (name, value) in asked.headers() {
        request = request.header(name.as_str(), value.as_bytes());
    }
    let request = request.body(()).map_err(io::Error::other)?;
    let Ok(response) = Assets::clone(&assets).call(request).await;

    let (head, body) = response.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16()).map_err(io::Error::other)?;
    let mut answer = HttpResponse::build(status);
    for (name, value) in &head.headers {
        answer.append_header((name.as_str(), value.as_bytes()));
    }
    // HEAD has the length of what is not sent.
    let length = head
        .headers
        .get(CONTENT_LENGTH.as_str())
        .and_then(|value| value.to_str().ok());
    Ok(match length.and_then(|length| length.parse().ok()) {
        Some(length) => answer.body(SizedStream::new(length, BodyDataStream::new(body))),
        None => answer.finish(),
    })
}

#[actix_web::main]
async fn main() -> io::Result<()> {
    let (directory, port) = common::arguments()?;
    // All workers share one cache.
    let assets = web::Data::new(Assets::new(directory).map_err(io::Error::other)?);
    let app = move || {
        App::new()
            .app_data(assets.clone())
            .route("/api/health", web::get().to(async || "well\n"))
            .default_service(web::to(files))
    };
    let (listener, end) = common::listen(port).await?;
    let server = HttpServer::new(app).workers(2).disable_signals();
    let server = server.listen(listener.into_std()?)?.run();
    let handle = server.handle();
    actix_web::rt::spawn(async move {
        end.await;
        handle.stop(true).await;
    });
    server.await
}
