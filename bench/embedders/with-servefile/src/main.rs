//! axum and tower-http's `ServeFile`: a route for each file that was there at the start.

use std::io;
use std::path::Path;

use axum::Router;
use tower_http::services::ServeFile;

fn main() -> io::Result<()> {
    let asked = common::asked()?;
    common::serve(asked.port, routes(Router::new(), &asked.root, "")?)
}

/// A route for each file beneath `folder`, whose path is `prefix`.
fn routes(mut router: Router, folder: &Path, prefix: &str) -> io::Result<Router> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().display());
        router = if entry.file_type()?.is_dir() {
            routes(router, &entry.path(), &path)?
        } else {
            let file = ServeFile::new(entry.path())
                .precompressed_br()
                .precompressed_gzip();
            router.route_service(&path, file)
        };
    }
    Ok(router)
}
