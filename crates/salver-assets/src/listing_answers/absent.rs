//! No answers by listings, as there are none.

use std::sync::Arc;

use salver_semantics::RequestPath;

use crate::engine::{Engine, Now, Step};
use crate::pending::RequestProgress;
use crate::request::Request;
use crate::resource::directory_listing::DirectoryListing;
use crate::resource::entry::CacheEntry;

impl Engine {
    pub(crate) fn answer_listing(
        &self,
        _: &Request<'_>,
        _: &RequestPath<'_>,
        (_, listing): (&CacheEntry, &Arc<DirectoryListing>),
        _: Now,
        _: RequestProgress,
    ) -> Step {
        match **listing {}
    }
}
