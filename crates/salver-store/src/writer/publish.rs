//! The end of every deploy: what is named by a manifest, and the switch to it.

use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;

use salver_assets::ContentCoding;
use salver_assets::digest::{DECODED, KnownDigests};

use crate::error::Error;
use crate::files::bundle::{BlobContents, Bundle};
use crate::files::journal::Action;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::preview::Preview;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;
use crate::store::Store;
use crate::writer::preview::NewPreview;
use crate::writer::{Writer, overtaken};

/// The release that has to be current for a deploy to take its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExpectedCurrent {
    /// Any, or none.
    #[default]
    Any,
    /// None: this deploy is the first.
    Nothing,
    /// This one.
    Release(ReleaseId),
}

impl ExpectedCurrent {
    fn permits(&self, current: Option<&ReleaseId>) -> bool {
        match (self, current) {
            (ExpectedCurrent::Any, _) | (ExpectedCurrent::Nothing, None) => true,
            (ExpectedCurrent::Release(expected), Some(current)) => expected == current,
            (ExpectedCurrent::Nothing, Some(_)) | (ExpectedCurrent::Release(_), None) => false,
        }
    }
}

/// The role that a deploy gives its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseRole {
    /// That of the current one, in the place of this one.
    Current(ExpectedCurrent),
    /// That of a preview; the current one stays.
    Preview(NewPreview),
}

impl ReleaseRole {
    fn preview(&self) -> Option<&NewPreview> {
        match self {
            ReleaseRole::Current(_) => None,
            ReleaseRole::Preview(preview) => Some(preview),
        }
    }
}

/// What a deploy has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The release that is current now, or that the preview has.
    pub id: ReleaseId,
    /// The one that was current before; `None` if this is the first.
    pub previous: Option<ReleaseId>,
    /// True if the current release, or that of the preview, holds just these files already: nothing was switched.
    pub is_unchanged: bool,
    /// The preview that it is, if it is one.
    pub preview: Option<Preview>,
    /// The number of its files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The number of blobs that were not in the store, and their bytes.
    pub sent: (usize, u64),
    /// The number of blobs that were, and their bytes.
    pub kept: (usize, u64),
    /// The number of those sent that were in the store, but damaged.
    pub repaired: usize,
}

impl Writer {
    /// Makes files, whose blobs are there, a release, and that the current one or a preview. These contents come with the
    /// switch.
    ///
    /// # Errors
    /// What is wrong; then the release that was current still is.
    pub(super) fn publish(
        &mut self,
        mut files: Vec<ManifestFile>,
        role: &ReleaseRole,
        (who, now): (&str, SystemTime),
        contents: BlobContents,
    ) -> Result<Deployed, Error> {
        self.take_turn(role.preview().is_none())?;
        let previous = self.current.as_ref().map(|current| current.release.clone());
        let before = comparable(&self.store, previous.as_ref(), role)?;
        if let Some((_, before)) = &before {
            keep_times(&mut files, before);
        }
        let blobs: BTreeSet<_> = files.iter().map(|file| file.blob).collect();
        let lengths = self.store.place.lengths(&blobs)?;
        let is_there = |file: &ManifestFile| lengths.get(&file.blob) == Some(&file.length);
        if let Some(missing) = files.iter().find(|file| !is_there(file)) {
            return Err(Error::Busy(format!(
                "{} was removed while this deploy was under way, by `salver prune` perhaps: nothing was switched, deploy again",
                missing.blob
            )));
        }
        self.changes.settle(&blobs)?;
        let manifest = Manifest::new(self.time_of_next(now)?, files);
        let (number, bytes) = (manifest.files().len(), manifest.bytes());
        let same = before.filter(|(_, before)| before.files() == manifest.files());
        let is_unchanged = same.is_some();
        let id = same.map_or_else(|| manifest.id(), |(id, _)| id);
        let by = (who, unix_seconds(now));
        let mut shown = None;
        match role {
            ReleaseRole::Preview(preview) => {
                let preview = preview.of(&id, by.1);
                let new = Some(&manifest).filter(|_| !is_unchanged);
                self.put_preview(&preview, new, by)?;
                shown = Some(preview);
            }
            ReleaseRole::Current(_) if is_unchanged => {}
            ReleaseRole::Current(expected) if !expected.permits(previous.as_ref()) => {
                return Err(overtaken(previous.as_ref()));
            }
            ReleaseRole::Current(_) => {
                self.note(Action::Deploy, std::slice::from_ref(&id), by)?;
                self.put_manifest(&manifest)?;
                self.switch(id.clone(), Some(&Bundle { manifest, contents }))?;
            }
        }
        Ok(Deployed {
            id,
            previous,
            is_unchanged,
            preview: shown,
            files: number,
            bytes,
            sent: (0, 0),
            kept: (0, 0),
            repaired: 0,
        })
    }

    /// The time of the next release: later than that of all others, whatever the clock says.
    fn time_of_next(&self, now: SystemTime) -> Result<i64, Error> {
        let ids = self.store.ids()?;
        let after = ids.last().map_or(0, |last| last.unix_seconds() + 1);
        Ok(unix_seconds(now).max(after))
    }
}

/// The release that a new one is compared with: the one that the preview has, else the current one.
pub(super) fn comparable(
    store: &Store,
    current: Option<&ReleaseId>,
    role: &ReleaseRole,
) -> Result<Option<(ReleaseId, Manifest)>, Error> {
    let mut ids = Vec::new();
    if let Some(preview) = role.preview() {
        let all = store.each_preview()?.into_iter().flatten();
        let same = all.filter(|known| known.name == preview.name);
        ids.extend(same.map(|known| known.release));
    }
    ids.extend(current.cloned());
    let manifest = |id: ReleaseId| {
        let manifest = store.manifest(&id).ok()?;
        Some((id, manifest))
    };
    Ok(ids.into_iter().find_map(manifest))
}

/// What has stayed since `before` keeps its time, so that clients are not told that all has changed because a build has
/// written it anew.
fn keep_times(files: &mut [ManifestFile], before: &Manifest) {
    for file in files {
        let stayed = before.find(&file.path);
        if let Some(stayed) = stayed.filter(|stayed| stayed.blob == file.blob) {
            file.modified_unix_seconds = stayed.modified_unix_seconds;
        }
    }
}

/// Sets the verdicts on files that are codings of others by their names: the digest of what each decodes to. They are
/// those of `before` where the content is the same, else made by `decode` of the file with this number.
pub(super) fn set_verdicts(
    files: &mut [ManifestFile],
    before: Option<&Manifest>,
    mut decode: impl FnMut(usize, ContentCoding, u64) -> Result<KnownDigests, Error>,
) -> Result<(), Error> {
    let lengths = files.iter().map(|file| (file.path.clone(), file.length));
    let lengths: HashMap<Box<[u8]>, u64> = lengths.collect();
    for (number, file) in files.iter_mut().enumerate() {
        let Some((coding, original)) = ContentCoding::of_file_name(&file.path) else {
            continue;
        };
        let Some(&length) = lengths.get(original).filter(|_| DECODED.contains(&coding)) else {
            continue;
        };
        // Decoded once for each content.
        let known = before.and_then(|before| before.find(&file.path));
        let known = known.filter(|known| known.blob == file.blob);
        file.known.decoded = match known.and_then(|known| known.known.decoded) {
            Some(decoded) => Some(decoded),
            None => decode(number, coding, length)?.decoded,
        };
    }
    Ok(())
}
