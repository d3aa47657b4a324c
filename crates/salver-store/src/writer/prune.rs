//! A prune: old releases are removed, and the blobs that no other release names.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime};

use crate::error::Error;
use crate::files::durable::{remove, sync_directory};
use crate::files::journal::{Action, Journal};
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;
use crate::writer::{Writer, codings, incoming};

/// What a prune has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The releases, oldest first.
    pub releases: Vec<ReleaseId>,
    /// The previews that had expired.
    pub previews: Vec<PreviewName>,
    /// The number of blobs.
    pub blobs: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Writer {
    /// Removes releases, except for the newest `keep` of them and those that were current within `time`. The current
    /// one stays, as does that of a preview until it expires; one that was never more than a preview goes then, however
    /// new it is. What an interrupted deploy has left goes, too.
    ///
    /// # Errors
    /// Something is damaged, so that nobody knows what is still needed; or the system says no.
    pub fn prune(
        &mut self,
        keep: usize,
        time: Duration,
        who: &str,
        now: SystemTime,
    ) -> Result<Pruned, Error> {
        let layout = self.store.layout.clone();
        let Some(current) = self.current.clone() else {
            return Err(Error::Misused(
                "no release is current: `salver rollback STORE ID` or `salver deploy` makes one so first"
                    .to_owned(),
            ));
        };
        let ids = self.store.ids()?;
        let now_seconds = unix_seconds(now);
        let since = now_seconds.saturating_sub(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
        let journal = Journal::read(&layout)?;
        let is_recent = |id: &ReleaseId| {
            // It was current until another took its place.
            let replaced = journal.entries.iter().rev().find(|entry| {
                entry.previous.as_ref() == Some(id)
                    && entry.release != *id
                    && matches!(entry.action, Action::Deploy | Action::Rollback)
            });
            let last = replaced.map_or(id.unix_seconds(), |entry| entry.unix_seconds);
            last > since
        };
        let (expired, shown): (Vec<_>, Vec<_>) = self
            .store
            .previews()?
            .into_iter()
            .partition(|preview| preview.has_expired(now_seconds));
        let is_shown = |id: &ReleaseId| shown.iter().any(|preview| preview.release == *id);
        let alone = journal.previews_alone();
        let (of_previews, of_site): (Vec<_>, Vec<_>) =
            ids.iter().partition(|id| alone.contains(id));
        let newest = of_site.len().saturating_sub(keep);
        let old = of_site.into_iter().take(newest).filter(|id| !is_recent(id));
        let mut removed: Vec<ReleaseId> = old
            .chain(of_previews)
            .filter(|id| **id != current.release && !is_shown(id))
            .cloned()
            .collect();
        removed.sort();
        let mut named = HashSet::new();
        for id in ids.iter().filter(|id| !removed.contains(id)) {
            let manifest = self.store.manifest(id)?;
            named.extend(manifest.files().iter().map(|file| file.blob));
        }
        codings::prune(&layout, &|blob| named.contains(blob))?;
        incoming::sweep(&layout, now)?;
        let blobs = self.store.blobs()?;
        let unnamed = blobs.into_iter().filter_map(|(path, digest)| {
            // What is no blob is not ours.
            digest
                .filter(|digest| !named.contains(digest))
                .map(|_| path)
        });
        let unnamed: Vec<_> = unnamed.collect();
        let mut pruned = Pruned {
            releases: removed,
            previews: expired.into_iter().map(|preview| preview.name).collect(),
            ..Pruned::default()
        };
        if pruned.releases.is_empty() && unnamed.is_empty() && pruned.previews.is_empty() {
            return Ok(pruned);
        }
        let by = (who, now_seconds);
        if !pruned.releases.is_empty() {
            self.note(Action::Prune, &pruned.releases, by)?;
        }
        for name in &pruned.previews {
            remove(&layout.preview(name))?;
        }
        if !pruned.previews.is_empty() {
            sync_directory(&layout.previews())?;
        }
        for id in &pruned.releases {
            remove(&layout.manifest(id))?;
        }
        sync_directory(&layout.manifests())?;
        // From here on whoever serves the store no longer looks for what goes now.
        self.switch(current.release)?;
        for path in unnamed {
            let metadata = fs::symlink_metadata(&path).map_err(Error::at(&path))?;
            remove(&path)?;
            pruned.blobs += 1;
            pruned.bytes = pruned.bytes.saturating_add(metadata.len());
        }
        Ok(pruned)
    }
}
