#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod access;
mod admin;
mod bucket_events;
mod deploys;
pub mod exposition;
mod families;
pub mod metrics;
mod page;
mod process;
mod query;
mod status;
mod subject;
mod token;

pub use admin::Admin;
pub use bucket_events::{BucketChanges, ChangedObject, LONGEST_NOTIFICATION};
pub use deploys::{DeployOrder, DeployRefusal, Deploys, PreviewOrder};
pub use exposition::Format;
pub use process::Process;
pub use query::encoded_path;
pub use status::{
    BucketEvents, Cache, Certificate, Connections, Loader, Log, Loop, Requests, State, Status,
};
pub use subject::{CachePage, CacheQuery, CachedEntry, CachedFile, Purge, Reloaded, Subject};
pub use token::{Token, TokenError};
