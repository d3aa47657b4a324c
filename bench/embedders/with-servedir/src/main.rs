//! axum and tower-http's `ServeDir`, which is told of the precompressed siblings.

use std::io;

use axum::Router;
use tower_http::services::ServeDir;

fn main() -> io::Result<()> {
    let asked = common::asked()?;
    let files = ServeDir::new(&asked.root)
        .precompressed_br()
        .precompressed_gzip();
    common::serve(asked.port, Router::new().fallback_service(files))
}
