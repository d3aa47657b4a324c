//! One release as a tree.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::ops::Bound;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use salver_assets::digest::KnownDigests;
use salver_assets::source::{
    FileVersion, Identity, Kind, Metadata, Opened, Timestamp, VersionedName,
};
use salver_assets::{ContentCoding, Patience, View};
use sha2::{Digest as _, Sha256};

use super::blobs::{Blobs, NewerRelease, ReleaseWatch};
use super::kept::{KeptFiles, kept_files, seems_fingerprinted};
use super::manifests::Manifests;
use crate::error::Error;
use crate::files::current::Current;
use crate::files::layout;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::preview::{Preview, PreviewName};
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The time of what has none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// A [`View`] of a release at one moment of its store: of the one that was current then, or of another.
#[derive(Debug)]
pub(super) struct ReleaseView {
    store: Arc<StoreState>,
    manifest: Arc<Manifest>,
    /// The files of other releases that it shows, too.
    kept: KeptFiles,
    /// The device number of all that it holds.
    device: u64,
    /// True if it is of the release that was current then.
    is_current: bool,
}

/// What a store held from one change of it to the next.
#[derive(Debug)]
pub(super) struct StoreState {
    pub(super) current: Current,
    /// All releases, sorted.
    ids: Vec<ReleaseId>,
    /// Those of them that were never more than previews.
    alone: HashSet<ReleaseId>,
    previews: Vec<Preview>,
    blobs: Box<dyn Blobs>,
}

impl StoreState {
    /// True if it had this release, and that is to be shown at this moment.
    pub(super) fn shows(&self, id: &ReleaseId, now_unix_seconds: i64) -> bool {
        let of_preview =
            |preview: &Preview| preview.release == *id && !preview.has_expired(now_unix_seconds);
        self.ids.binary_search(id).is_ok()
            && (!self.alone.contains(id) || self.previews.iter().any(of_preview))
    }

    /// The release of a preview that is to be shown at this moment.
    pub(super) fn preview(&self, name: &PreviewName, now_unix_seconds: i64) -> Option<&ReleaseId> {
        let preview = self.previews.iter().find(|preview| preview.name == *name)?;
        (!preview.has_expired(now_unix_seconds)).then_some(&preview.release)
    }
}

impl ReleaseView {
    /// The current release, and what others have under fingerprinted names.
    pub(super) fn read(
        store: &Store,
        manifests: &Manifests,
        current: Current,
        blobs: Box<dyn Blobs>,
        device: u64,
    ) -> Result<Self, Error> {
        // None of these waits for what another one says.
        let are_far = store.is_in_bucket();
        let ((manifest, ids), (journal, previews)) = both(
            are_far,
            || {
                let manifest = || manifests.pass(store, &current.release);
                both(are_far, manifest, || store.ids())
            },
            || both(are_far, || store.read_journal(), || previews(store)),
        );
        let (manifest, ids, previews) = (manifest?, ids?, previews?);
        let alone = journal?.previews_alone();
        let state = StoreState {
            current,
            ids,
            alone,
            previews,
            blobs,
        };
        Ok(Self::of_current(
            (store, manifests),
            state,
            manifest,
            device,
        ))
    }

    /// The release that is current in this state of the store.
    fn of_current(
        from: (&Store, &Manifests),
        state: StoreState,
        manifest: Arc<Manifest>,
        device: u64,
    ) -> Self {
        let (ids, current) = ((&*state.ids, &state.alone), &state.current.release);
        ReleaseView {
            kept: kept_files(from, ids, current, &manifest),
            store: Arc::new(state),
            manifest,
            device,
            is_current: true,
        }
    }

    /// The release that has become current since this view, with what is known already of all others: until the rest of the
    /// store has been looked at, if anything of it may have changed.
    pub(super) fn succeeded_by(
        &self,
        current: Current,
        (store, manifests): (&Store, &Manifests),
        blobs: Box<dyn Blobs>,
    ) -> Result<Self, Error> {
        let manifest = manifests.pass(store, &current.release)?;
        let StoreState {
            ids,
            alone,
            previews,
            ..
        } = &*self.store;
        let (mut ids, mut alone) = (ids.clone(), alone.clone());
        alone.remove(&current.release);
        if let Err(place) = ids.binary_search(&current.release) {
            ids.insert(place, current.release.clone());
        }
        let state = StoreState {
            ids,
            alone,
            previews: previews.clone(),
            current,
            blobs,
        };
        Ok(Self::of_current(
            (store, manifests),
            state,
            manifest,
            self.device,
        ))
    }

    /// The same release with what there is in the store by now, asked for one after the other; `None` if something else goes before
    /// that.
    pub(super) fn with_rest(
        &self,
        (store, manifests): (&Store, &Manifests),
        blobs: Box<dyn Blobs>,
        goes_before: impl Fn() -> bool,
    ) -> Result<Option<Self>, Error> {
        let ids = store.ids()?;
        if goes_before() {
            return Ok(None);
        }
        let alone = store.read_journal()?.previews_alone();
        if goes_before() {
            return Ok(None);
        }
        let state = StoreState {
            current: self.store.current.clone(),
            ids,
            alone,
            previews: previews(store)?,
            blobs,
        };
        let manifest = Arc::clone(&self.manifest);
        Ok(Some(Self::of_current(
            (store, manifests),
            state,
            manifest,
            self.device,
        )))
    }

    /// A release as it was when it was made, at the moment of this view.
    pub(super) fn of_release(&self, manifest: Arc<Manifest>) -> Self {
        ReleaseView {
            store: Arc::clone(&self.store),
            manifest,
            kept: KeptFiles::new(),
            device: self.device,
            is_current: false,
        }
    }

    /// Tells the log which release this is.
    pub(super) fn is_announced(&self, store: &Store) {
        let release = &self.store.current.release;
        tracing::info!("{:?}: release {release} is current", store.path());
    }

    pub(super) fn store(&self) -> &StoreState {
        &self.store
    }

    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The file at a path: of this release, or kept of another.
    fn find(&self, path: &[u8]) -> Option<&ManifestFile> {
        self.manifest.find(path).or_else(|| {
            let kept = self.kept.get(path)?;
            // What this release has at a path is what is there.
            (!self.is_directory(path)).then_some(kept)
        })
    }

    fn is_directory(&self, path: &[u8]) -> bool {
        path.is_empty() || !self.manifest.beneath(path).0.is_empty()
    }

    /// The identity of a file: that of this content at this path, in whichever release it is.
    fn identity(&self, file: &ManifestFile) -> Identity {
        let mut hasher = Sha256::new();
        hasher.update(file.blob.as_bytes());
        hasher.update(&file.path);
        let hash: [u8; 32] = hasher.finalize().into();
        let mut inode = [0; 8];
        for (to, from) in inode.iter_mut().zip(hash) {
            *to = from;
        }
        Identity {
            // Number 0 is that of directories.
            inode: u64::from_le_bytes(inode) | 1,
            length: file.length,
            modified: Timestamp {
                seconds: file.modified_unix_seconds,
                nanoseconds: 0,
            },
            ..self.directory()
        }
    }

    fn directory(&self) -> Identity {
        Identity {
            device: self.device,
            inode: 0,
            length: 0,
            modified: NEVER,
            changed: NEVER,
        }
    }

    /// What it means that a blob is not there, or not what it should be.
    fn damage(&self, name: &str, what: &str, patience: Patience) -> io::Error {
        let blobs = &self.store.blobs;
        match blobs.has_changed(&self.store.current, patience) {
            Err(error) => error,
            // The release was pruned a moment ago: whoever asks looks again.
            Ok(true) => io::ErrorKind::NotFound.into(),
            Ok(false) => {
                let path = blobs.place().join(name);
                let what = format!("{path:?} {what}: `salver fsck` says what else is damaged");
                io::Error::new(io::ErrorKind::InvalidData, what)
            }
        }
    }

    /// The watch of the store, for a view of the release that was current.
    fn watch(&self) -> Option<Arc<dyn ReleaseWatch>> {
        let watch = self.store.blobs.watch();
        watch.filter(|_| self.is_current)
    }

    /// A newer release that has a file which is missing in this one. Of names with a fingerprint alone: what has such a name is
    /// the same for ever, in whichever release it is.
    fn elsewhere(
        &self,
        path: &[u8],
        patience: Patience,
    ) -> io::Result<Option<Arc<dyn NewerRelease>>> {
        let Some(watch) = self.watch() else {
            return Ok(None);
        };
        // A coded sibling is looked for with each look at its original.
        let original = ContentCoding::of_file_name(path).map(|(_, original)| original);
        let has_original =
            |release: &dyn NewerRelease| original.is_some_and(|path| release.has(path));
        if has_original(self) || !seems_fingerprinted(&self.manifest, path) {
            return Ok(None);
        }
        let newer = watch.newer(&self.store.current);
        match newer {
            Some(newer) if newer.has(path) => return Ok(Some(newer)),
            Some(newer) if has_original(&*newer) => return Ok(None),
            Some(_) | None => {}
        }
        let found = watch.look_for(patience)?;
        Ok(found.filter(|release| release.has(path)))
    }
}

/// The previews of a store that can be read.
fn previews(store: &Store) -> Result<Vec<Preview>, Error> {
    let mut previews = Vec::new();
    for preview in store.each_preview()? {
        match preview {
            Ok(preview) => previews.push(preview),
            // It takes nothing from the others.
            Err(error) => tracing::warn!("{error}"),
        }
    }
    Ok(previews)
}

/// What both give: at once, or one after the other.
fn both<A, B: Send>(
    at_once: bool,
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if !at_once {
        return (one(), other());
    }
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        let other = other.join();
        (one, other.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

impl NewerRelease for ReleaseView {
    fn has(&self, path: &[u8]) -> bool {
        self.find(path).is_some()
    }
}

impl View for ReleaseView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        if let Some(file) = self.find(path) {
            return Ok(Metadata {
                kind: Kind::File,
                identity: self.identity(file),
            });
        }
        match self.is_directory(path) {
            true => Ok(Metadata {
                kind: Kind::Directory,
                identity: self.directory(),
            }),
            false => match self.elsewhere(path, patience)? {
                Some(newer) => newer.stat(path, patience),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let Some(file) = self.find(path) else {
            let elsewhere = match self.is_directory(path) {
                true => None,
                false => self.elsewhere(path, patience)?,
            };
            return match elsewhere {
                Some(newer) => newer.open(path, patience),
                None => {
                    self.stat(path, patience)?;
                    Err(io::ErrorKind::InvalidInput.into())
                }
            };
        };
        let name = layout::blob(&file.blob);
        let blob = match self.store.blobs.open_blob(&name, patience) {
            Ok(opened) => opened,
            Err(error) => {
                return Err(match error.kind() {
                    io::ErrorKind::NotFound => self.damage(&name, "is missing", patience),
                    io::ErrorKind::InvalidInput => self.damage(&name, "is no file", patience),
                    _ => error,
                });
            }
        };
        let length = blob.length;
        if length != file.length {
            let what = format!("has {length} bytes instead of {}", file.length);
            return Err(self.damage(&name, &what, patience));
        }
        Ok(Opened {
            metadata: Metadata {
                kind: Kind::File,
                identity: self.identity(file),
            },
            reader: blob.reader,
            local: blob.local,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path, usize::MAX)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        if self.stat(path, Patience::MayWait)?.kind != Kind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut names = self.manifest.names(path, most);
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        if let Some(file) = self.find(path) {
            return Some(file.known);
        }
        self.watch()?.newer(&self.store.current)?.known(path)
    }

    fn versions(&self, path: &[u8], name: VersionedName<'_>) -> Option<Vec<FileVersion>> {
        let slash = path.iter().rposition(|&byte| byte == b'/');
        let directory = path.get(..slash.map_or(0, |at| at + 1))?;
        let prefix = [directory, name.before].concat();
        let is_version = |file: &&ManifestFile| {
            let rest = file.path.get(directory.len()..).unwrap_or_default();
            !rest.contains(&b'/') && name.has(rest)
        };
        let from = (Bound::Included(&*prefix), Bound::Unbounded);
        let kept = self.kept.range::<[u8], _>(from).map(|(_, file)| file);
        let kept = kept.take_while(|file| file.path.starts_with(&prefix));
        let mut found: Vec<&ManifestFile> = self
            .manifest
            .beginning_with(&prefix)
            .iter()
            .chain(kept)
            .filter(is_version)
            .collect();
        found.sort_by_key(|file| Reverse(file.modified_unix_seconds));
        let version = |file: &ManifestFile| FileVersion {
            path: file.path.to_vec(),
            sha256: *file.blob.as_bytes(),
            length: file.length,
        };
        Some(found.into_iter().map(version).collect())
    }
}
