#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! A [`Store`] is opened, and [locked](Writer::lock) by who changes it: a [`Writer`] deploys, rolls back and prunes.
//! Where the content comes from another machine, [`SiteFiles`] has it there and a [`RemoteDeploy`] takes it here.
//! [`StoreSource`] is what a server reads: a [`Source`](salver_assets::Source) for the engine. [`Manifest`] is the
//! format of a release.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod event;
mod files;
mod place;
mod source;
mod store;
mod writer;

pub use bucket::{
    Bucket, BucketObject, ListedObject, ObjectChange, ObjectVersion, PutCondition, PutOutcome,
};
pub use error::Error;
pub use event::Event;
pub use files::digest::BlobDigest;
pub use files::journal::{Action, JournalEntry};
pub use files::manifest::{Manifest, ManifestError, ManifestFile};
pub use files::pieces::{Piece, PieceError};
pub use files::preview::{Preview, PreviewName};
pub use files::release_id::ReleaseId;
pub use files::time::written as written_time;
pub use salver_os::run_behind_others;
pub use source::{ReleaseSource, StoreSource};
pub use store::diff::{Change, Diff};
pub use store::fsck::{Damage, Damaged, Fsck};
pub use store::{Release, Store};
pub use writer::Writer;
pub use writer::deploy::DeployOptions;
pub use writer::preview::NewPreview;
pub use writer::prune::Pruned;
pub use writer::publish::{Deployed, ExpectedCurrent, ReleaseRole};
pub use writer::remote::{DeployLimits, MissingBlob, RemoteDeploy};
pub use writer::site_files::SiteFiles;
