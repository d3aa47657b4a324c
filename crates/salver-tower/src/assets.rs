//! A tree of files, as a value that programs share.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Response};
use salver_assets::reading::Reading;
use salver_assets::{
    Asked, Content, Engine, Prewarmed, Request, RequestPath, ResponsePlan, Source, Statistics,
    encode_path,
};

use crate::body::Body;
use crate::builder::Builder;
use crate::error::{Error, ReadError};
use crate::fallback::WithFallback;
use crate::loading::{Blocking, Loading, now};
use crate::translate;

/// Read at a time for [`Assets::read`], in bytes.
const PIECE: usize = 256 * 1024;

/// Files, and a cache of them. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Assets {
    engine: Engine,
    loading: Loading,
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

    pub(crate) fn from_engine(engine: Engine) -> Self {
        Assets {
            engine,
            loading: Loading::default(),
        }
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
        translate::response(self.plan(&request).await, target.as_bytes())
    }

    /// The whole content of a file, whatever its length: `path` is as for [`file`](Self::file).
    /// However many ask at the same moment, it is read once, and all share the bytes if it is no
    /// longer than [`Builder::cache_max_file`].
    ///
    /// # Errors
    /// See [`ReadError`]. It is the same for all who shared a failed read.
    pub async fn read(&self, path: &str) -> Result<Bytes, ReadError> {
        let target = target(path);
        let plan = self.plan(&Request::get(target.as_bytes())).await;
        match plan.status {
            200 => {}
            308 => return Err(ReadError::Directory),
            404 => return Err(ReadError::NotFound),
            status => return Err(ReadError::Status(status)),
        }
        match plan.content {
            Content::Memory(bytes) => Ok(bytes),
            Content::Empty => Ok(Bytes::new()),
            content => collect(content).await,
        }
    }

    /// Loads what there is, each file in the coding that a browser would get, until nine tenths of
    /// the cache are full. Runs where it may wait.
    ///
    /// # Errors
    /// If the runtime ends meanwhile.
    pub async fn prewarm(&self) -> std::io::Result<Prewarmed> {
        let engine = self.engine.clone();
        tokio::task::spawn_blocking(move || engine.prewarm())
            .await
            .map_err(std::io::Error::other)
    }

    /// Lets go of what is cached of one file: the next request looks at the disk. `path` is as for
    /// [`file`](Self::file); a directory's ends with `/`.
    pub fn invalidate(&self, path: &str) {
        if let Ok(path) = RequestPath::parse(target(path).as_bytes()) {
            self.engine.invalidate(&path);
        }
    }

    /// Lets go of what is cached of all files whose path begins with `prefix` (`blog/`).
    pub fn invalidate_prefix(&self, prefix: &str) {
        if let Ok(prefix) = RequestPath::parse(target(prefix).as_bytes()) {
            self.engine.invalidate_prefix(&prefix);
        }
    }

    /// Lets go of everything that is cached.
    pub fn clear(&self) {
        self.engine.clear();
    }

    /// Hits, loads and the like since the start, and what the cache holds now.
    pub fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    /// What can be answered now.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Asked {
        self.engine
            .ask(request, now(), |load| self.loading.load(&self.engine, load))
    }

    /// What is answered later.
    pub(crate) async fn wait(
        &self,
        request: &Request<'_>,
        pending: salver_assets::Pending,
    ) -> ResponsePlan {
        let hand_over = |load| self.loading.load(&self.engine, load);
        self.engine.wait(request, pending, now, hand_over).await
    }

    async fn plan(&self, request: &Request<'_>) -> ResponsePlan {
        match self.ask(request) {
            Asked::Plan(plan) => plan,
            Asked::Later(pending) => self.wait(request, pending).await,
        }
    }
}

/// The target of a request for the file at `path`.
fn target(path: &str) -> String {
    let mut target = String::with_capacity(path.len() + 1);
    target.push('/');
    encode_path(path.trim_start_matches('/').as_bytes(), &mut target);
    target
}

async fn collect(content: Content) -> Result<Bytes, ReadError> {
    let mut reading = Reading::new(content);
    let mut bytes = BytesMut::new();
    while reading.left() > 0 {
        let piece = poll_fn(|context| reading.poll_next(&Blocking, context, PIECE)).await;
        match piece {
            Ok(piece) if !piece.is_empty() => bytes.extend_from_slice(&piece),
            Ok(_) => return Err(ReadError::Io(std::io::ErrorKind::UnexpectedEof.into())),
            Err(error) => {
                reading.end(&Blocking);
                return Err(ReadError::Io(error));
            }
        }
    }
    reading.end(&Blocking);
    Ok(bytes.freeze())
}
