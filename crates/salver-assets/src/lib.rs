//! The engine of Salver: from a request to a plan of its answer.
//!
//! [`Engine::begin`] says what to do for a request: carry out a [`ResponsePlan`], perform a
//! [`Load`], or wait for somebody else's. It keeps what was loaded in memory within a budget,
//! notices when files change, and has each cold file loaded once however many ask for it.
//!
//! The engine never opens a socket, never waits, and starts no thread: who performs a load, and
//! where, is the driver's choice. A path becomes a file only through a [`Source`]; a file becomes
//! bytes on a wire only in the driver. It never sends what it has not proved to be one version of
//! one file under its validators.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Instant;
//! use salver_assets::*;
//!
//! let files = MemorySource::new();
//! files.insert("index.html", "<h1>Hello</h1>", 0);
//! let config = Config { mounts: vec![Mount::tree("/", Arc::new(files))], ..Config::default() };
//! let engine = Engine::new(config)?;
//!
//! let now = Now { instant: Instant::now(), date: HttpDate::from_unix_seconds(1_000_000) };
//! let request = Request::get(b"/");
//! let Step::Load(load, _) = engine.begin(&request, now) else { panic!("nothing is cached yet") };
//! let outcome = load.perform(Patience::MayWait, now.instant).unwrap_or_else(|_| panic!("may wait"));
//! engine.finish(load, outcome);
//!
//! let Step::Respond(plan) = engine.begin(&request, now) else { panic!("now it is") };
//! assert_eq!(plan.status, 200);
//! # Ok::<(), ConfigError>(())
//! ```
#![forbid(unsafe_code)]

mod accept;
mod answer;
mod asking;
mod cache_control;
mod coalesce;
mod config;
mod control;
mod counters;
pub mod digest;
mod directory;
mod embedded_source;
mod engine;
mod error;
mod events;
mod file_content;
mod held;
mod in_memory;
mod load;
mod locate;
mod log;
mod memory;
mod memory_source;
mod open_files;
mod path;
mod plan;
mod policy;
mod prewarm;
mod progress;
pub mod reading;
mod replies;
mod representation;
mod representations;
mod request;
mod resource;
mod shared;
mod snapshot;
pub mod source;
pub mod strategy;
mod sync;

pub use asking::Asked;
pub use cache_control::CacheControl;
pub use config::{Config, ConfigError, Mount};
pub use counters::Statistics;
pub use directory::DirectorySource;
pub use embedded_source::{EmbeddedFile, EmbeddedSource};
pub use engine::{Engine, Now, Step};
pub use error::LoadError;
pub use events::{Event, Observer, What};
pub use file_content::FileContent;
pub use load::{Load, Outcome, WouldWait};
pub use memory_source::MemorySource;
pub use path::{PathError, RequestPath, encode_path, is_hidden};
pub use plan::{Content, OwnField, Piece, Remembered, ResponsePlan, ServedWhole};
pub use prewarm::Prewarmed;
pub use progress::{Arrived, Pending};
pub use representation::{Field, Prepared, Protocol};
pub use request::{Method, Request};
pub use salver_os::{Resolver, Symlinks};
pub use salver_semantics::{ContentCoding, HttpDate, RequestFields};
pub use source::{Patience, Source, View};
