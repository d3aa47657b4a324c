//! `--keep-previous`: the trees of a site with what they had lately.

use std::path::Path;
use std::sync::Arc;

use salver_assets::{CodingDirectory, KeepPrevious, PreviousSource, Source, digest};
use salver_config::Site;

/// A tree whose removed files are kept, and what it is told from others by.
#[derive(Clone, Debug)]
pub struct KeptTree {
    place: String,
    source: Arc<PreviousSource>,
}

impl KeptTree {
    /// The tree of `source`, which lies at `path` and is shown at `prefix` of the site of this name, if what it loses is
    /// to be kept: in this directory for all that is kept, or in memory.
    pub(crate) fn new(
        site: &Site,
        directory: Option<&Path>,
        (name, prefix, path): (&str, &str, &Path),
        source: &Arc<dyn Source>,
    ) -> Option<Self> {
        let time = (*site.keep_previous)?;
        let place = format!("{name} {prefix} {path:?}");
        let directory = directory.map(|directory| {
            let own = format!("{:032x}", digest::of_bytes(place.as_bytes()));
            directory.join(CodingDirectory::PREVIOUS).join(own)
        });
        let keep = KeepPrevious {
            name: format!("{path:?}"),
            time,
            most_bytes: *site.keep_previous_size,
            directory,
            dotfiles: *site.dotfiles,
        };
        Some(KeptTree {
            place,
            source: Arc::new(PreviousSource::new(Arc::clone(source), keep)),
        })
    }

    /// What is served of it.
    pub(crate) fn source(&self) -> Arc<dyn Source> {
        Arc::clone(&self.source) as Arc<dyn Source>
    }
}

/// Begins to look at these trees, and takes over what those `before` have kept.
pub(crate) fn start(trees: &[KeptTree], before: &[KeptTree]) {
    for tree in trees {
        if let Some(same) = before.iter().find(|known| known.place == tree.place) {
            tree.source.take_over(&same.source);
        }
        if let Err(error) = tree.source.start() {
            tracing::warn!(
                "{}: nothing that a deploy removes is kept: {error}",
                tree.place
            );
        }
    }
}
