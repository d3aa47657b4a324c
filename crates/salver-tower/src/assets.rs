//! A tree of files, as a value that programs share.

use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, Method, Response};
use salver_assets::{Asked, Engine, Now, Pending, Request, ResponsePlan, Source, encode_path};

use crate::body::Body;
use crate::builder::Builder;
use crate::error::Error;
use crate::events::Hub;
use crate::fallback::WithFallback;
use crate::loading::{Loading, now};
use crate::translate;

/// Files, and a cache of them. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Assets {
    engine: Engine,
    beside: Arc<Beside>,
}

/// What all clones share besides the engine.
#[derive(Debug)]
struct Beside {
    /// The same engine, for whoever reads files.
    exact: Engine,
    /// Of the same files, keeping nothing: reads each whole, whatever its length.
    whole: Engine,
    loading: Loading,
    events: Arc<Hub>,
}

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

    /// `events` observes the engine.
    pub(crate) fn from_engines(engine: Engine, whole: Engine, events: Arc<Hub>) -> Self {
        Assets {
            beside: Arc::new(Beside {
                exact: engine.exact(),
                whole: whole.exact(),
                loading: Loading::default(),
                events,
            }),
            engine,
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn exact(&self) -> &Engine {
        &self.beside.exact
    }

    pub(crate) fn whole(&self) -> &Engine {
        &self.beside.whole
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.beside.events
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
        let target = target(path);
        let request = translate::request(method, target.as_bytes(), None, headers);
        let plan = self.plan(&self.engine, &request).await;
        translate::response(plan, target.as_bytes())
    }

    /// What can be answered now.
    pub(crate) fn ask(&self, engine: &Engine, request: &Request<'_>) -> Asked {
        self.ask_at(engine, request, now())
    }

    fn ask_at(&self, engine: &Engine, request: &Request<'_>, now: Now) -> Asked {
        // Nobody else here looks after the open files: no thread, no timer.
        engine.sweep(now.instant);
        engine.ask(request, now, |load| self.beside.loading.load(engine, load))
    }

    /// What is answered later.
    pub(crate) async fn wait(
        &self,
        engine: &Engine,
        request: &Request<'_>,
        pending: Pending,
    ) -> ResponsePlan {
        let hand_over = |load| self.beside.loading.load(engine, load);
        engine.wait(request, pending, now, hand_over).await
    }

    pub(crate) async fn plan(&self, engine: &Engine, request: &Request<'_>) -> ResponsePlan {
        match self.ask(engine, request) {
            Asked::Plan(plan) => plan,
            Asked::Later(pending) => self.wait(engine, request, pending).await,
        }
    }
}

/// The target of a request for the file at `path`.
pub(crate) fn target(path: &str) -> String {
    let mut target = String::with_capacity(path.len() + 1);
    target.push('/');
    encode_path(path.trim_start_matches('/').as_bytes(), &mut target);
    target
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn open_files_that_nobody_asks_for_are_closed() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("long")).unwrap();
        file.set_len(3_000_000).unwrap();
        let assets = Assets::new(directory.path()).unwrap();
        let open = || assets.engine.statistics().open_files;
        assets.plan(&assets.engine, &Request::get(b"/long")).await;
        assert_eq!(open(), 1);
        let now = now();
        for (later, left) in [(1, 1), (20, 0)] {
            let instant = now.instant + Duration::from_secs(later);
            let request = Request::get(b"/%00");
            assets.ask_at(&assets.engine, &request, Now { instant, ..now });
            assert_eq!(open(), left, "after {later} s");
        }
    }
}
