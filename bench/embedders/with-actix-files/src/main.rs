//! actix-web with one worker and actix-files' `Files`, which is told of the precompressed siblings.

use std::io;

use actix_files::Files;
use actix_web::{App, HttpServer};

fn main() -> io::Result<()> {
    let asked = common::asked()?;
    let root = asked.root;
    actix_web::rt::System::new().block_on(async {
        HttpServer::new(move || App::new().service(Files::new("/", &root).try_compressed()))
            .workers(1)
            // Who ends it does not want to wait for connections that are kept.
            .disable_signals()
            .bind(("127.0.0.1", asked.port))?
            .run()
            .await
    })
}
