//! `servedir ROOT PORT [SERVICE]`: axum and a service for files on one thread, with what helps it:
//! precompressed siblings, TCP_NODELAY, and the allocator that Salver uses. SERVICE is `servedir`
//! (tower-http's, the default) or `assets` (salver-tower's).

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use salver_tower::Assets;
use tower_http::services::ServeDir;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(root), Some(port)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: servedir ROOT PORT"));
    };
    let router = match arguments.next().as_deref() {
        None | Some("servedir") => {
            let files = ServeDir::new(root).precompressed_br().precompressed_gzip();
            Router::new().fallback_service(files)
        }
        Some("assets") => {
            let files = Assets::new(root).map_err(io::Error::other)?;
            Router::new().fallback_service(files)
        }
        Some(other) => return Err(io::Error::other(format!("{other} is no service"))),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        let listener = listener.tap_io(|stream| {
            // A connection that cannot be told so is served all the same.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await
    })
}
