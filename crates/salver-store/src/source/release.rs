//! Any release of a store as a server reads it, for who wants to see another one than the current.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use salver_assets::{Patience, Source, View};

use super::StoreSource;
use super::view::ReleaseView;
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;

/// A [`Source`] of one release as it was when it was made: of its files alone. Where there is no such release, or no longer,
/// there is no tree. A preview is whichever release it has at the moment, until it expires.
#[derive(Debug)]
pub struct ReleaseSource {
    store: Arc<StoreSource>,
    name: ReleaseName,
}

/// A name by which a release can be asked for.
#[derive(Debug)]
enum ReleaseName {
    Id(ReleaseId),
    Preview(PreviewName),
}

impl StoreSource {
    /// The release or preview with this name, whether there is one or not; `None` if it can be no name of one. Touches no
    /// file.
    pub fn release(self: &Arc<Self>, name: &str) -> Option<ReleaseSource> {
        let id = ReleaseId::parse(name).map(ReleaseName::Id);
        let name = id.or_else(|| PreviewName::parse(name).map(ReleaseName::Preview))?;
        Some(ReleaseSource {
            name,
            store: Arc::clone(self),
        })
    }

    /// A view of a release at the moment of the view of the current one.
    fn release_view(
        &self,
        current: &ReleaseView,
        id: &ReleaseId,
        patience: Patience,
    ) -> io::Result<Arc<dyn View>> {
        let manifest = match current.store().current.release == *id {
            true => Arc::clone(current.manifest()),
            false => self.manifests.find(&self.store, id, patience)?,
        };
        Ok(Arc::new(current.of_release(manifest)))
    }
}

impl Source for ReleaseSource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let current = self.store.current_view(patience)?;
        let (store, now) = (current.store(), unix_seconds(SystemTime::now()));
        let id = match &self.name {
            ReleaseName::Id(id) => Some(id),
            ReleaseName::Preview(name) => store.preview(name, now),
        };
        let id = id.filter(|id| store.shows(id, now));
        let id = id.ok_or(io::ErrorKind::NotFound)?;
        self.store.release_view(&current, id, patience)
    }
}
