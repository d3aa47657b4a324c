//! `cargo run -p salver-tower --example api -- DIR [PORT]`: an API, the files of DIR beneath `/static`
//! and, for every other path, those of DIR again. Both share one cache.

mod common;

use std::process::ExitCode;

use axum::Router;
use axum::routing::get;
use salver_tower::Assets;

fn main() -> ExitCode {
    common::run(|directory| {
        let assets = Assets::new(directory)?;
        Ok(Router::new()
            .route("/api/health", get(async || "well\n"))
            .nest_service("/static", assets.clone())
            .fallback_service(assets))
    })
}
