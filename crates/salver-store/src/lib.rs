#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! A [`Store`] is opened, and [locked](Store::lock) by who changes it: a [`Writer`] deploys, rolls back and prunes.
//! [`StoreSource`] is what a server reads: a [`Source`](salver_assets::Source) for the engine. [`Manifest`] is the
//! format of a release.
#![forbid(unsafe_code)]

mod blobs;
mod current;
mod deploy;
mod diff;
mod digest;
mod durable;
mod error;
mod event;
mod fsck;
mod journal;
mod layout;
mod manifest;
mod prune;
mod release_id;
mod rollback;
mod source;
mod store;
mod time;
mod tree;
mod writer;

pub use deploy::{DeployOptions, Deployed};
pub use diff::{Change, Diff};
pub use digest::BlobDigest;
pub use error::Error;
pub use event::Event;
pub use fsck::{Damage, Damaged, Fsck};
pub use journal::{Action, JournalEntry};
pub use manifest::{Manifest, ManifestError, ManifestFile};
pub use prune::Pruned;
pub use release_id::ReleaseId;
pub use source::StoreSource;
pub use store::{Release, Store};
pub use time::written as written_time;
pub use writer::Writer;
