//! `cargo run -p salver-tower --example private -- DIR [PORT]`: downloads for those who know the word.
//! The handler decides who gets which file; ranges and conditions are as ever.

use std::io;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::AUTHORIZATION;
use salver_tower::Assets;

/// What a real program asks its sessions about.
const WORD: &[u8] = b"Bearer open sesame";

async fn download(
    State(assets): State<Assets>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let said = request.headers().get(AUTHORIZATION);
    if said.is_none_or(|said| said.as_bytes() != WORD) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    assets
        .file(&name, request.method(), request.headers())
        .await
        .into_response()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(io::Error::other("usage: private DIR [PORT]"));
    };
    let port = arguments.next().unwrap_or_else(|| "8080".to_owned());
    // Nobody between us and the client is to keep them.
    let assets = Assets::builder(directory).cache_control(|_| Some("private, no-cache"));
    let assets = assets.build().map_err(io::Error::other)?;
    let app = Router::new()
        .route("/download/{*name}", get(download))
        .with_state(assets);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, app).await
}
