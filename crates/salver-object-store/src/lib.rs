#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`ObjectStoreSource::open`] takes a URL, [`ObjectStoreSource::new`] any [`ObjectStore`](object_store::ObjectStore)
//! that a program has. What either gives is a [`Source`](salver_assets::Source) for the engine. [`Settings`] bound
//! what it takes, and [`object_key`] says where the object of a path lies.
//!
//! [`ReleaseBucket`] is a bucket for a store of releases, which is changed, too: see [`salver_store`].
#![forbid(unsafe_code)]

mod bounded_cache;
mod bucket;
mod bucket_tier;
mod circuit;
mod clock;
mod connector;
mod content;
mod failure;
mod floors;
mod freshness;
mod key;
mod listing;
mod location;
mod lookup;
mod object;
mod outage;
mod pages;
mod release_bucket;
mod remote_object;
mod runtime;
mod settings;
mod slices;
mod source;
mod tier;
mod wait;

pub use clock::Clock;
pub use key::object_key;
pub use location::LocationError;
pub use object_store;
pub use release_bucket::ReleaseBucket;
pub use settings::Settings;
pub use source::ObjectStoreSource;
pub use tier::DiskTier;
