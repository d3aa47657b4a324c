//! What is told of, and what things are done to: a server.

use std::sync::Arc;

use serde::Serialize;

use crate::bucket_events::BucketChanges;
use crate::metrics::Metrics;
use crate::status::{Cache, Certificate, Connections, Loader, Log, State};

/// A server that is told of, and that things are done to. Each method may be called on any thread, and may wait.
pub trait Subject: Send + Sync {
    /// The version of the program.
    fn version(&self) -> &str;
    /// What it is doing.
    fn state(&self) -> State;
    /// Its metrics.
    fn metrics(&self) -> Arc<Metrics>;
    /// Its cache.
    fn cache(&self) -> Cache;
    /// Its threads that may wait for disks.
    fn loader(&self) -> Loader;
    /// Its connections.
    fn connections(&self) -> Connections;
    /// Its certificates.
    fn certificates(&self) -> Vec<Certificate>;
    /// Its access log, if it has one.
    fn log(&self) -> Option<Log>;
    /// Some of what its cache holds.
    ///
    /// # Errors
    /// There is no such site, for people.
    fn cached(&self, query: &CacheQuery) -> Result<CachePage, String>;
    /// Has what is cached looked at anew, of the site with this name or of all; returns the number of entries that
    /// went.
    ///
    /// # Errors
    /// What is wrong with the path, or with the name of the site, for people.
    fn purge(&self, what: &Purge, site: Option<&str>) -> Result<u64, String>;
    /// Has what is served of buckets looked at anew, as far as it has changed; returns the number of the objects that
    /// nothing is served of.
    fn bucket_changed(&self, changes: &BucketChanges) -> u64;
    /// Says that notifications of buckets come once somebody has asked for this URL, which this server does not.
    fn bucket_events_offered(&self, url: &str);
    /// Uses the cache no longer, or again.
    fn pause(&self, paused: bool);
    /// Reads the configuration again.
    fn reload(&self) -> Reloaded;
}

/// What is to be looked at anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// The file or directory at a path, as it stands in a URL.
    Path(Vec<u8>),
    /// Everything beneath a path.
    Prefix(Vec<u8>),
    /// Every answer of a group, by its field `Cache-Groups` (RFC 9875).
    Group(Vec<u8>),
    /// Everything.
    All,
}

/// What became of a wish to read the configuration again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// The new one holds; what has changed, for people.
    Done(String),
    /// The old one still holds; what is wrong with the new one, for people.
    Refused(String),
    /// This server cannot do that.
    Unsupported,
}

/// A query for what a cache holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheQuery {
    /// The key behind which to begin; none begins with the first.
    pub after: Option<Vec<u8>>,
    /// What the paths begin with.
    pub prefix: Vec<u8>,
    /// The name of the site that they are of; none for all sites.
    pub site: Option<String>,
    /// The most entries.
    pub limit: usize,
}

/// Some of what a cache holds, in the order of keys.
#[derive(Clone, Debug, Default)]
pub struct CachePage {
    /// The entries.
    pub entries: Vec<CachedEntry>,
    /// True if there are more behind them.
    pub has_more: bool,
}

/// An entry of a cache.
#[derive(Clone, Debug, Default)]
pub struct CachedEntry {
    /// Its key, by which the next page is asked for.
    pub key: Vec<u8>,
    /// The name of its site; empty if there is one alone.
    pub site: String,
    /// Its path, decoded.
    pub path: Vec<u8>,
    /// What is there: `file`, `nothing`.
    pub kind: &'static str,
    /// The memory that it takes, in bytes.
    pub bytes: u64,
    /// The forms that it can be sent in.
    pub files: Vec<CachedFile>,
}

/// A form that an entry can be sent in.
#[derive(Clone, Debug, Serialize)]
pub struct CachedFile {
    /// Its content coding: `identity`, `br`.
    pub coding: &'static str,
    /// Its length in bytes.
    pub bytes: u64,
    /// True if its content is in memory.
    pub in_memory: bool,
}
