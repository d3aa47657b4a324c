//! A tree of files, as a value that programs share.

use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, Method, Response};
use salver_assets::{Source, target_of};

use crate::asking::Shared;
use crate::body::Body;
use crate::builder::Builder;
use crate::error::Error;
use crate::fallback::WithFallback;
use crate::translate;

/// Files, and a cache of them. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Assets(Arc<Shared>);

impl Assets {
    /// The files beneath `directory`, with every default of [`Builder`].
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, Error> {
        Assets::builder(directory).build()
    }

    /// The files beneath `directory`, served as the builder is told.
    pub fn builder(directory: impl AsRef<Path>) -> Builder {
        Builder::directory(directory.as_ref())
    }

    /// The files of any source: in memory for tests, say.
    pub fn from_source(source: Arc<dyn Source>) -> Builder {
        Builder::source(source)
    }

    pub(crate) fn from_shared(shared: Shared) -> Self {
        Assets(Arc::new(shared))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    /// Asks `fallback` about what is not here (404), with the request as it came. As
    /// `ServeDir::fallback`.
    pub fn fallback<F>(self, fallback: F) -> WithFallback<F> {
        WithFallback::new(self, fallback)
    }

    /// The answer to a request for one file, whatever the request's own path is: `path` is the
    /// file's, beneath the directory and not percent-encoded (`reports/2026.pdf`). Method and fields
    /// count as ever: HEAD, conditions, ranges and codings.
    pub async fn file(&self, path: &str, method: &Method, headers: &HeaderMap) -> Response<Body> {
        let target = target_of(path);
        let request = translate::request(method, target.as_bytes(), None, headers);
        let plan = self.0.serving.plan(&request).await;
        translate::response(plan, target.as_bytes())
    }
}
