//! The same application of axum on Salver's server, which serves the files beside it, too.

use salver_server::{Server, Settings};

fn main() -> std::io::Result<()> {
    let asked = common::asked()?;
    let settings = Settings {
        workers: 1,
        ..Settings::default()
    };
    Server::builder()
        .directory("/", asked.root)
        .service_at("/json", common::router())
        .settings(settings)
        .listen(([127, 0, 0, 1], asked.port))
        .serve()
        .map_err(std::io::Error::other)
}
