//! A prune: old releases are removed, and the blobs that no other release names.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::journal::Action;
use crate::files::layout::{self, BLOBS, HASHES};
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;
use crate::place::{DigestFile, incoming};
use crate::writer::{Writer, codings};

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
        self.take_turn(false)?;
        let Some(current) = self.current.clone() else {
            return Err(Error::Misused(
                "no release is current: `salver rollback STORE ID` or `salver deploy` makes one so first"
                    .to_owned(),
            ));
        };
        let ids = self.store.ids()?;
        let now_seconds = unix_seconds(now);
        let since = now_seconds.saturating_sub(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
        let journal = self.journal.clone();
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
        let stays = |id: &&ReleaseId| !removed.contains(id);
        let stay: Vec<ReleaseId> = ids.iter().filter(stays).cloned().collect();
        let named = self.store.named_blobs(&stay)?;
        codings::prune(
            &self.store,
            &|blob| named.contains(blob),
            self.changes.as_mut(),
        )?;
        if let Some(layout) = self.store.place.layout() {
            incoming::sweep(layout, now)?;
        }
        // What is no blob is not ours.
        let is_unnamed = |file: &DigestFile| {
            let digest = file.digest;
            digest.is_some_and(|digest| !named.contains(&digest)) && self.is_abandoned(file, now)
        };
        let blobs = self.store.place.digest_files(BLOBS)?.into_iter();
        let unnamed: Vec<DigestFile> = blobs.filter(&is_unnamed).collect();
        let hashes = self.store.place.digest_files(HASHES)?.into_iter();
        let unneeded: Vec<DigestFile> = hashes.filter(&is_unnamed).collect();
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
        let gone = pruned.previews.iter().map(layout::preview);
        let gone = gone.chain(pruned.releases.iter().map(layout::manifest));
        self.changes.remove(&gone.collect::<Vec<_>>())?;
        // From here on whoever serves the store no longer looks for what goes now.
        self.switch(current.release, None)?;
        let names = unnamed.iter().chain(&unneeded);
        let names: Vec<String> = names.map(|file| file.name.clone()).collect();
        self.changes.remove(&names)?;
        pruned.blobs = unnamed.len();
        let lengths = unnamed.iter().map(|file| file.length);
        pruned.bytes = lengths.fold(0, u64::saturating_add);
        match self.changes.is_alone() {
            true => Ok(pruned),
            false => self.refuse_needed(&ids, &unnamed).map(|()| pruned),
        }
    }

    /// True if a blob that no release names is of no deploy under way. In a bucket one may be: what it puts there is young.
    fn is_abandoned(&self, file: &DigestFile, now: SystemTime) -> bool {
        let age = now.duration_since(file.modified);
        self.changes.is_alone() || age.is_ok_and(|age| age > incoming::AGE)
    }

    /// Fails if a release that has come since there were only these needs what was removed.
    fn refuse_needed(&self, before: &[ReleaseId], removed: &[DigestFile]) -> Result<(), Error> {
        let removed: HashSet<BlobDigest> = removed.iter().filter_map(|file| file.digest).collect();
        let ids = self.store.ids()?.into_iter();
        for id in ids.filter(|id| !before.contains(id)) {
            let manifest = self.store.manifest(&id)?;
            if manifest
                .files()
                .iter()
                .any(|file| removed.contains(&file.blob))
            {
                return Err(Error::Damaged(format!(
                    "{id} was deployed meanwhile, and needs what was removed: deploy it again"
                )));
            }
        }
        Ok(())
    }
}
