#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! - A **driver** calls [`Engine::begin`], which says what to do: carry out a [`ResponsePlan`], perform a
//!   [`Load`] and [finish](Engine::finish) it, or wait for somebody else's. [`Engine::ask`] and
//!   [`Engine::wait`] do that for async drivers, and [`reading`] reads the content of a plan in pieces. One
//!   with threads that may wait also [takes checks of siblings](Engine::hand_sibling_checks_to).
//! - A **source** of files implements [`Source`] and [`View`], and [`source::conformance`] checks it. Here
//!   are [`DirectorySource`], [`MemorySource`] and [`EmbeddedSource`].
//! - [`Config`] has all settings with their units and defaults. A [`LoadError`] says who must act, and
//!   which status a client gets.
#![forbid(unsafe_code)]

mod accept;
mod answer;
mod asking;
mod cache_control;
mod config;
mod content_memory;
mod control;
mod counters;
pub mod digest;
mod directory;
mod directory_log;
mod embedded_source;
mod engine;
mod error;
mod events;
mod file_content;
mod growth;
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
mod sibling_check;
mod siblings;
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
pub use load::{Load, Outcome, PerformAgain, WouldWait};
pub use log::Occasional;
pub use memory_source::MemorySource;
pub use path::{PathError, RequestPath, encode_path, is_hidden, target_of};
pub use plan::{Content, OwnField, Piece, Remembered, ResponsePlan, ServedWhole};
pub use prewarm::Prewarmed;
pub use progress::{Arrived, Pending};
pub use representation::{Field, Prepared, Protocol};
pub use request::{Method, Request};
pub use salver_os::{Resolver, Symlinks};
pub use salver_semantics::{ContentCoding, HttpDate, RequestFields};
pub use sibling_check::SiblingCheck;
pub use source::{Patience, Source, View};
