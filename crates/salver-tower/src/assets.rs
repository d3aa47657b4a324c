//! A tree of files, as a value that programs share.

use std::sync::Arc;

use http::{HeaderMap, Method, Response};
use salver_assets::target_of;

use crate::body::Body;
use crate::driver::Engines;
use crate::translate;

/// Files, and a cache of them. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Assets(Arc<Engines>);

impl Assets {
    pub(crate) fn from_engines(engines: Engines) -> Self {
        Assets(Arc::new(engines))
    }

    pub(crate) fn engines(&self) -> &Engines {
        &self.0
    }

    /// The answer to a request for one file, whatever the request's own path is: `path` is the
    /// file's, beneath the directory and not percent-encoded (`reports/2026.pdf`). Method and fields
    /// count as ever: HEAD, conditions, ranges and codings.
    pub async fn file(&self, path: &str, method: &Method, headers: &HeaderMap) -> Response<Body> {
        let target = target_of(path);
        let request = translate::request(method, target.as_bytes(), None, headers);
        let plan = self.0.named.plan(&request).await;
        translate::response(plan, target.as_bytes(), self.0.reads)
    }
}
