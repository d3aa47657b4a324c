//! axum and salver-tower's `Assets` over the files of `BENCH_FILES`, which salver-embed put into the
//! program.

use std::io;
use std::sync::Arc;

use axum::Router;
use salver_tower::{Assets, embedded};

fn main() -> io::Result<()> {
    // The folder was given when this was built.
    let asked = common::asked()?;
    let files = Assets::from_source(Arc::new(embedded!("files")))
        .build()
        .map_err(io::Error::other)?;
    common::serve(asked.port, Router::new().fallback_service(files))
}
