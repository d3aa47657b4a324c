//! `cargo run -p with-poem -- DIR [PORT]`: a route of poem, and the files of DIR for every other path.

use std::io;

use poem::endpoint::TowerCompatExt;
use poem::listener::TcpAcceptor;
use poem::{Route, Server, get, handler};
use salver_tower::Assets;

#[handler]
fn health() -> &'static str {
    "well\n"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (directory, port) = common::arguments()?;
    let assets = Assets::new(directory).map_err(io::Error::other)?;
    let app = Route::new()
        .at("/api/health", get(health))
        .nest_no_strip("/", assets.compat());
    let (listener, end) = common::listen(port).await?;
    let server = Server::new_with_acceptor(TcpAcceptor::from_tokio(listener)?);
    server.run_with_graceful_shutdown(app, end, None).await
}
