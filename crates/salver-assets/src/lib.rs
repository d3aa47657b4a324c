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

mod alternative;
mod answer;
mod cache;
mod cache_control;
mod codings;
mod config;
mod contents;
mod control;
mod conventions;
mod counters;
mod dictionary_answers;
mod dispatch;
mod drive;
mod durable;
mod engine;
mod entry_answers;
mod error;
mod events;
mod invalidation;
#[cfg_attr(not(feature = "listing"), path = "listing/absent.rs")]
mod listing;
#[cfg_attr(not(feature = "listing"), path = "listing_answers/absent.rs")]
mod listing_answers;
mod log;
mod negotiate;
mod outcome;
mod path;
mod pending;
mod prewarm;
mod request;
mod resource;
pub mod source;
pub mod strategy;
mod sync;
mod variables;

pub use alternative::Alternative;
pub use answer::file_content::FileContent;
pub use answer::plan::{Content, Piece, Remembered, ResponsePlan, ServedWhole};
pub use answer::reading;
pub use cache_control::CacheControl;
pub use codings::directory::CodingDirectory;
pub use config::{Config, ConfigError, Mount};
pub use contents::{CacheContents, CachedRepresentation, CachedResource};
pub use conventions::{Conventions, TrailingSlash};
pub use counters::Statistics;
pub use drive::EngineReply;
pub use engine::{Engine, Now, Step};
pub use error::{LoadError, StorageError};
pub use events::{Event, Observer, ResourceKind};
#[cfg(feature = "listing")]
pub use listing::Listing;
pub use log::LogLimit;
pub use path::is_hidden;
pub use pending::{LoadReady, Pending};
pub use prewarm::Prewarmed;
pub use request::{Access, Request, RequestDetails, SecureContext};
pub use resource::check_table::SiblingCheck;
pub use resource::head::{Field, OwnField, Protocol, RenderedHeads};
pub use resource::load::{Load, Outcome, RetryLater, RunAgain, WouldWait};

#[cfg(feature = "listing")]
pub use salver_listing::{Template, TemplateError};
pub use salver_os::{Resolver, Symlinks};
pub use salver_rules as rules;
pub use salver_semantics::{
    Authority, CacheState, CacheStatus, ClientKey, CompressibleTypes, ContentCoding, Destination,
    DictionaryCoding, HostTable, HttpDate, MISDIRECTED, Method, PathError, RequestFields,
    RequestPath, TypeRange, encode_path, https_location, target_of,
};
pub use source::directory::DirectorySource;
pub use source::embedded::{EmbeddedDirectory, EmbeddedFile, EmbeddedSource};
pub use source::memory::MemorySource;
pub use source::previous::{KeepPrevious, PreviousSource};
pub use source::{Patience, Source, View};
pub use variables::{PageVariables, TooManyBytes};

/// Digests of content: entity tags are made of them, and precompressed siblings are trusted because of them.
pub mod digest {
    pub use crate::source::digest::{DECODED, Digest, KnownDigests, of_bytes, of_coded, of_reader};
}
