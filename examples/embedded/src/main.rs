//! `cargo run -p embedded [-- PORT]`: an API and its site, in one program that needs no file beside
//! it. Without a port it is 8080; 0 takes any free one.
#![forbid(unsafe_code)]

use std::io;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use salver_tower::{Assets, embedded};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stderr, reason = "it is a program")]
async fn main() -> ExitCode {
    let port = match port() {
        Ok(port) => port,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    match serve(port).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot serve at port {port}: {error}; give another as argument");
            ExitCode::FAILURE
        }
    }
}

fn port() -> Result<u16, String> {
    let mut arguments = std::env::args().skip(1);
    let (port, more) = (arguments.next(), arguments.next());
    if more.is_some() {
        return Err("the argument is [PORT]: where to serve".to_owned());
    }
    let port = port.unwrap_or_else(|| "8080".to_owned());
    let number = port.parse();
    number.map_err(|_| {
        format!("{port:?} is no port: give a number up to 65535, or 0 for any that is free")
    })
}

#[allow(clippy::print_stdout, reason = "it is a program")]
async fn serve(port: u16) -> io::Result<()> {
    let assets = Assets::from_source(Arc::new(embedded!("site"))).build();
    let app = Router::new()
        .route("/api/health", get(|| async { "well\n" }))
        .fallback_service(assets.map_err(io::Error::other)?);
    // Before anybody can know that it runs.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}", listener.local_addr()?);
    let end = async move {
        interrupt.recv().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(end).await
}
