#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Assets::new`] takes every default, and [`Builder`] says what they are. An [`Error`] says why there
//! are no assets; from then on every failure is an answer (404, 503, 500), and the service itself never
//! fails.
//!
//! Programs also [read](Assets::read) whole files - one read however many ask, [`SharedReader`] does that for
//! any directory -, [send single ones](Assets::file) from a handler or as a [`FileService`], load
//! [ahead](Assets::prewarm_prefix), [let go](Assets::invalidate) of what they have changed,
//! [pause](Assets::pause) the cache, and [hear](Assets::events) what it does.
//!
//! ```
//! use http::{HeaderMap, Method};
//! use salver_tower::{Assets, ReadError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # std::fs::write(directory.path().join("style.css"), "p {}")?;
//! # let dist = directory.path();
//! let assets = Assets::new(dist)?;
//! let response = assets.file("style.css", &Method::GET, &HeaderMap::new()).await;
//! assert_eq!(response.headers()["content-type"], "text/css; charset=utf-8");
//! assert_eq!(assets.read("style.css").await?, "p {}");
//! assert_eq!(assets.read("none.css").await, Err(ReadError::NotFound));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]

mod assets;
mod body;
mod builder;
#[cfg(feature = "compress")]
mod compress;
mod control;
mod delayed_tasks;
mod driver;
mod error;
mod events;
mod fallback;
#[cfg_attr(not(feature = "listing"), path = "listing/absent.rs")]
mod listing;
mod load_pool;
mod planned;
mod service;
mod shared_reader;
mod translate;

pub use assets::Assets;
pub use body::Body;
pub use builder::Builder;
pub use error::{Error, ReadError};
pub use events::{Events, MissedEvents};
pub use fallback::WithFallback;
pub use planned::planned_response;
#[cfg(feature = "listing")]
pub use salver_assets::Listing;
pub use salver_assets::source;
pub use salver_assets::{
    CodingDirectory, CompressibleTypes, ContentCoding, EmbeddedSource, Event, LoadError,
    MemorySource, PathError, Patience, Prewarmed, ResourceKind, Source, Statistics, StorageError,
    Symlinks, TrailingSlash, TypeRange, View, embedded,
};
pub use service::{FileService, ResponseFuture};
pub use shared_reader::SharedReader;
pub use translate::SecureTransport;
