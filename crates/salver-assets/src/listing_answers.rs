//! Answers of directories that are listed: the page that a request asks for by its query and its `Accept`.

use std::sync::Arc;

use salver_listing::Format;

use salver_semantics::RequestPath;

use crate::answer::status_responses;
use crate::engine::{Engine, Now, Step, respond};
use crate::pending::{LoadRequest, RequestProgress};
use crate::request::Request;
use crate::resource::directory_listing::DirectoryListing;
use crate::resource::entry::CacheEntry;
use crate::resource::in_flight::LoadKey;
use crate::resource::listed_page::ListedPage;

impl Engine {
    /// Answers by a page of these entries. Its key names their digest, so that a page which is cached is right as long
    /// as they are; making one is a load.
    pub(crate) fn answer_listing(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        (entry, listing): (&CacheEntry, &Arc<DirectoryListing>),
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        // A listing is no file.
        if self.exact {
            return respond(request, status_responses::not_found());
        }
        let Some(details) = request.details else {
            return Step::NeedDetails;
        };
        let format = Format::preferred(details.field("accept"));
        let query = request.query.as_deref().unwrap_or_default();
        let page = ListedPage::new(path.as_bytes(), listing, (format, query), &entry.rules);
        let shared = &*self.shared;
        let key = shared.owned_key(&page.key(&entry.key));
        if shared.is_cached(&key)
            && let Some(made) = shared.pool.memory.get(shared.key(&key))
        {
            return self.use_entry(request, path, &made, None, now, progress);
        }
        let wanted = LoadRequest {
            key: LoadKey::of_path(key),
            ruling: None,
            previous: None,
            needs_content: false,
            listed: Some(Arc::new(page)),
        };
        self.load(request, path, wanted, now, progress)
    }
}
