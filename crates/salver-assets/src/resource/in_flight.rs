//! Loads in flight: the key under which requests share one, and the result that all of them get.

use std::sync::Arc;

use salver_coalesce::{Follower, Leader, SingleFlight};
use salver_semantics::ContentCoding;

use crate::cache::key::CacheKey;
use crate::error::LoadError;
use crate::resource::entry::CacheEntry;
use crate::source::Opened;

/// The loads that are under way.
pub(crate) type LoadsInFlight = SingleFlight<LoadKey, LoadResult>;

/// The duty to perform one of them.
pub(crate) type LoadLeader = Leader<LoadKey, LoadResult>;

/// A place among the requests that wait for a load.
pub(crate) type LoadFollower = Follower<LoadResult>;

/// The key by which loads are shared: the path and, where content is wanted that is not kept, its coding.
/// Such content is of use only to requests for the same coding; others would wait in vain, and then again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LoadKey {
    pub(crate) path: CacheKey,
    pub(crate) coding: Option<ContentCoding>,
}

impl LoadKey {
    /// The key of a load whose result serves every request for the path.
    pub(crate) fn of_path(path: CacheKey) -> Self {
        LoadKey { path, coding: None }
    }
}

impl From<&LoadKey> for LoadKey {
    fn from(key: &LoadKey) -> Self {
        key.clone()
    }
}

/// The result of a load, given to all requests that wait for it.
#[derive(Clone, Debug)]
pub(crate) enum LoadResult {
    /// The resource as it is on disk, with the opened content of one representation if that is not
    /// in memory.
    Ready {
        entry: Arc<CacheEntry>,
        opened: Option<Opened>,
    },
    /// The resource as it was at an earlier look: its present state could not be found out, or is being found out.
    Stale {
        entry: Arc<CacheEntry>,
        opened: Option<Opened>,
    },
    /// The rules have changed since the resource was wanted: begin again with the request.
    Outdated,
    /// Why there is no resource.
    Failed(LoadError),
}
