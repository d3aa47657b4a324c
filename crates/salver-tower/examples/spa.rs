//! `cargo run -p salver-tower --example spa -- DIR [PORT]`: a single-page application and its API. Paths
//! that do not look like a file get `index.html`; unknown ones of the API are its own 404.

mod common;

use std::process::ExitCode;

use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use salver_tower::Assets;

fn main() -> ExitCode {
    common::run(|directory| {
        let api = Router::new()
            .route("/items", get(async || Json(["tray", "salver"])))
            .fallback(async || (StatusCode::NOT_FOUND, "no such call\n"));
        let assets = Assets::builder(directory).spa("index.html").build()?;
        Ok(Router::new().nest("/api", api).fallback_service(assets))
    })
}
