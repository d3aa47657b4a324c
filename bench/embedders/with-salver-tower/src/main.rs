//! axum and salver-tower's `Assets`, with every default.

use std::io;

use axum::Router;
use salver_tower::Assets;

fn main() -> io::Result<()> {
    let asked = common::asked()?;
    let files = Assets::new(&asked.root).map_err(io::Error::other)?;
    common::serve(asked.port, Router::new().fallback_service(files))
}
