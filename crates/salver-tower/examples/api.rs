//! `cargo run -p salver-tower --example api -- DIR [PORT]`: an API, the files of DIR beneath `/static`
//! and, for every other path, the page of a single-page application.

use std::io;

use axum::Router;
use axum::routing::get;
use salver_tower::Assets;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(io::Error::other("usage: api DIR [PORT]"));
    };
    let port = arguments.next().unwrap_or_else(|| "8080".to_owned());
    let assets = Assets::builder(directory).spa("index.html").build();
    let assets = assets.map_err(io::Error::other)?;
    let app = Router::new()
        .route("/api/health", get(|| async { "well\n" }))
        .nest_service("/static", assets.clone())
        .fallback_service(assets);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    axum::serve(listener, app).await
}
