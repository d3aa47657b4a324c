//! `cargo run -p embedded [-- PORT]`: an API and its site, in one program that needs no file beside
//! it. Without a port it is 8080; 0 takes any free one.
#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use salver_tower::{Assets, embedded};

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stderr, reason = "it is a program")]
async fn main() -> ExitCode {
    let port = std::env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    match serve(&port).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve at port {port}: {error}; give another port as argument");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "it is a program")]
async fn serve(port: &str) -> io::Result<()> {
    let assets = Assets::from_source(Arc::new(embedded!("site"))).build();
    let app = Router::new()
        .route("/api/health", get(|| async { "well\n" }))
        .fallback_service(assets.map_err(io::Error::other)?);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await
}
