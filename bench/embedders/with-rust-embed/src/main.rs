//! axum and rust-embed: the files of `BENCH_FILES` lie in the program. The handler is that of
//! rust-embed's examples, with the entity tag that its hash is for.

use std::io;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

#[derive(Embed)]
#[folder = "$BENCH_FILES"]
struct Files;

fn main() -> io::Result<()> {
    // The folder was given when this was built.
    let asked = common::asked()?;
    common::serve(asked.port, Router::new().fallback(file))
}

async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let Some(file) = Files::get(uri.path().trim_start_matches('/')) else {
        return (StatusCode::NOT_FOUND, "404 Not Found").into_response();
    };
    let tag = format!("\"{}\"", hex::encode(file.metadata.sha256_hash()));
    if headers.get(IF_NONE_MATCH).is_some_and(|kept| kept == &tag) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    let fields = [(CONTENT_TYPE, file.metadata.mimetype()), (ETAG, &tag)];
    (fields, file.data).into_response()
}
