//! axum on one thread.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

/// Serves on a port of 127.0.0.1, without delays (TCP_NODELAY), for ever.
///
/// # Errors
/// If the port cannot be had.
pub fn serve(port: u16, router: Router) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let listener = listener.tap_io(|stream| {
            // A connection that cannot be told so is served all the same.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await
    })
}
