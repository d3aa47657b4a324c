//! `servedir ROOT PORT`: axum and tower-http's `ServeDir` on one thread, with what helps them:
//! precompressed siblings, TCP_NODELAY, and the allocator that Salver uses.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use tower_http::services::ServeDir;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(root), Some(port)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: servedir ROOT PORT"));
    };
    let files = ServeDir::new(root).precompressed_br().precompressed_gzip();
    let router = Router::new().fallback_service(files);
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
