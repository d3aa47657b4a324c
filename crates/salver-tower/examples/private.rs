//! `cargo run -p salver-tower --example private -- DIR [PORT]`: downloads for those who know the word.
//! The handler decides who gets which file; ranges and conditions are as ever.

mod common;

use std::process::ExitCode;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
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

fn main() -> ExitCode {
    common::run(|directory| {
        // Nobody between us and the client is to keep them.
        let assets = Assets::builder(directory).cache_control(|_| Some("private, no-cache"));
        Ok(Router::new()
            .route("/download/{*name}", get(download))
            .with_state(assets.build()?))
    })
}
