//! `cargo run -p salver-tower --example file -- DIR [PORT]`: handlers that send, or read, a file that they
//! choose. `/report/2026` is `reports/2026.txt` of DIR as a download, `/terms` is always `terms.txt`, and
//! `/length/2026` says how long a report is.

mod common;

use std::process::ExitCode;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use salver_tower::{Assets, Body, ReadError};

fn name(year: u16) -> String {
    format!("reports/{year}.txt")
}

async fn report(
    State(assets): State<Assets>,
    Path(year): Path<u16>,
    request: Request,
) -> Response<Body> {
    // Method and fields of the request count: HEAD, conditions, ranges and codings are as ever.
    let mut response = assets
        .file(&name(year), request.method(), request.headers())
        .await;
    if response.status().is_success() {
        let download = HeaderValue::from_static("attachment");
        response.headers_mut().insert(CONTENT_DISPOSITION, download);
    }
    response
}

async fn length(
    State(assets): State<Assets>,
    Path(year): Path<u16>,
) -> Result<String, (StatusCode, String)> {
    match assets.read(&name(year)).await {
        Ok(content) => Ok(format!("{} bytes\n", content.len())),
        Err(ReadError::NotFound) => Err((StatusCode::NOT_FOUND, format!("nothing of {year}\n"))),
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n"))),
    }
}

fn main() -> ExitCode {
    common::run(|directory| {
        let assets = Assets::new(directory)?;
        Ok(Router::new()
            .route("/report/{year}", get(report))
            .route("/length/{year}", get(length))
            .route_service("/terms", assets.file_service("terms.txt"))
            .with_state(assets))
    })
}
