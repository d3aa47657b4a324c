//! axum and a map of the files, read at the start and never looked at again: what axum and hyper
//! take for themselves, and no server of files can be below.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

/// By path, and the Brotli siblings by the path of what they are siblings of.
#[derive(Default)]
struct Files {
    plain: HashMap<String, (HeaderValue, Bytes)>,
    brotli: HashMap<String, (HeaderValue, Bytes)>,
}

fn main() -> io::Result<()> {
    let asked = common::asked()?;
    let mut files = Files::default();
    files.read(&asked.root, "")?;
    let router = Router::new().fallback(file).with_state(Arc::new(files));
    common::serve(asked.port, router)
}

impl Files {
    fn read(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}/{}", entry.file_name().display());
            if entry.file_type()?.is_dir() {
                self.read(&entry.path(), &path)?;
                continue;
            }
            let (files, path) = match path.strip_suffix(".br") {
                Some(path) => (&mut self.brotli, path.to_owned()),
                None => (&mut self.plain, path),
            };
            let kind = mime_guess::from_path(&path).first_or_octet_stream();
            let kind = HeaderValue::try_from(kind.as_ref()).map_err(io::Error::other)?;
            files.insert(path, (kind, std::fs::read(entry.path())?.into()));
        }
        Ok(())
    }
}

async fn file(State(files): State<Arc<Files>>, uri: Uri, headers: HeaderMap) -> Response {
    let accepts = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains("br"));
    if headers.get(ACCEPT_ENCODING).is_some_and(accepts)
        && let Some((kind, bytes)) = files.brotli.get(uri.path())
    {
        let coding = HeaderValue::from_static("br");
        let vary = HeaderValue::from_static("accept-encoding");
        let fields = [
            (CONTENT_TYPE, kind.clone()),
            (CONTENT_ENCODING, coding),
            (VARY, vary),
        ];
        return (fields, bytes.clone()).into_response();
    }
    match files.plain.get(uri.path()) {
        Some((kind, bytes)) => ([(CONTENT_TYPE, kind.clone())], bytes.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
