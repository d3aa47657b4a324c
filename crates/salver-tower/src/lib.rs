//! Static files as a [`tower_service::Service`]: for axum, hyper, tonic and whatever else speaks
//! `tower`.
//!
//! [`Assets`] is what `ServeDir` is, with Salver's engine behind it: small files come from a memory
//! cache with a byte budget that notices every change on disk within a second; each cold file is
//! loaded once however many ask for it; the best precompressed sibling that the client accepts is
//! sent; conditional requests, ranges, `If-Range`, `Vary` and entity tags are as RFC 9110 has them;
//! and symlinks do not lead out of the directory.
//!
//! ```
//! # fn main() -> Result<(), salver_tower::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # std::fs::write(directory.path().join("index.html"), "hello").unwrap();
//! # let dist = directory.path();
//! use axum::Router;
//! use salver_tower::Assets;
//!
//! let assets = Assets::new(dist)?;
//! let app: Router = Router::new().nest_service("/static", assets.clone()).fallback_service(assets);
//! # Ok(())
//! # }
//! ```
//!
//! Programs also [read](Assets::read) whole files - one read however many ask, [`Held`] does that
//! for any directory -, [send single ones](Assets::file) from a handler, load
//! [ahead](Assets::prewarm_prefix), [let go](Assets::invalidate) of what they have changed,
//! [pause](Assets::pause) the cache, and [hear](Assets::events) what it does.
//!
//! It never blocks the runtime: what has to wait for a disk runs in Tokio's pool for blocking work,
//! so it must be called within a Tokio runtime. It never copies what it has in memory: a body is a
//! reference to it. It starts no thread of its own, logs by `tracing` alone, and adds no `Date`: that is the
//! HTTP server's part. One [`Assets`] is cheap to clone, and all clones share one cache.
#![forbid(unsafe_code)]

mod asking;
mod assets;
mod body;
mod builder;
mod control;
mod error;
mod events;
mod fallback;
mod held;
mod loading;
mod service;
mod translate;

pub use assets::Assets;
pub use body::Body;
pub use builder::Builder;
pub use error::{Error, ReadError};
pub use events::{Events, Missed};
pub use fallback::WithFallback;
pub use held::Held;
pub use salver_assets::{
    ContentCoding, Event, LoadError, MemorySource, PathError, Prewarmed, Source, Statistics,
    Symlinks, What,
};
pub use service::{FileService, ResponseFuture};
