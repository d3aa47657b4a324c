//! A deploy: the files of a directory become a release, which becomes the current one.
//!
//! The order is what makes it safe, whatever ends it. Blobs that are missing are written, synced and named; all blobs of
//! the release are read back; the journal says what comes; the manifest gets its name; then `current` is replaced by one
//! rename. Before that rename the old release is the current one, after it the new one, and each is whole.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use salver_assets::digest::{DECODED, KnownDigests, of_coded};
use salver_assets::{ContentCoding, Symlinks};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::durable::{make_directory, rename, sync_directory};
use crate::files::journal::Action;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;
use crate::store::blobs::BlobState;
use crate::writer::Writer;
use crate::writer::preview::NewPreview;
use crate::writer::tree::{Tree, TreeFile};

/// The blobs that are written before they are synced: the first sync of a batch is that of most of it.
const BATCH: usize = 128;

/// The bytes of such a batch, from which on no blob is added.
const BATCH_BYTES: u64 = 64 * 1024 * 1024;

/// What of a directory is deployed, and by whom.
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// The links that are followed, as of a server.
    pub symlinks: Symlinks,
    /// True if names that begin with a dot are deployed, too; `.well-known` always is.
    pub dotfiles: bool,
    /// Who deploys, for the journal.
    pub who: String,
    /// The time.
    pub now: SystemTime,
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
    /// The moment from which on the preview is not shown, in seconds since 1970, if it is one.
    pub expires_unix_seconds: Option<i64>,
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

/// Blobs, each with the first file that has its content, and its length.
type BlobFiles<'a> = BTreeMap<BlobDigest, (&'a TreeFile, u64)>;

impl Writer {
    /// Makes the files of a directory a release, and that the current one.
    ///
    /// # Errors
    /// What is wrong; then the release that was current still is.
    pub fn deploy(
        &mut self,
        directory: &Path,
        options: &DeployOptions,
        listener: &mut Listener<'_>,
    ) -> Result<Deployed, Error> {
        self.make_release(directory, None, options, listener)
    }

    /// Makes the files of a directory a release that has a name of its own for a time. The current one stays.
    ///
    /// # Errors
    /// As of [`deploy`](Self::deploy); no release is current.
    pub fn deploy_preview(
        &mut self,
        directory: &Path,
        preview: &NewPreview,
        options: &DeployOptions,
        listener: &mut Listener<'_>,
    ) -> Result<Deployed, Error> {
        self.permits_preview()?;
        self.make_release(directory, Some(preview), options, listener)
    }

    fn make_release(
        &mut self,
        directory: &Path,
        preview: Option<&NewPreview>,
        options: &DeployOptions,
        listener: &mut Listener<'_>,
    ) -> Result<Deployed, Error> {
        self.refuse_itself(directory)?;
        let tree = Tree::walk(directory, options.symlinks, options.dotfiles, listener)?;
        let lengths = tree.files.iter().map(|file| file.identity.length);
        let all = lengths.fold(0_u64, u64::saturating_add);
        listener(Event::Expected(all));
        let before = self.comparable(preview)?;
        let (before_id, before) = match &before {
            Some((id, manifest)) => (Some(id), Some(manifest)),
            None => (None, None),
        };
        let files = hashed(&tree, before, listener)?;
        let mut blobs = BlobFiles::new();
        for (file, of_tree) in files.iter().zip(&tree.files) {
            blobs.entry(file.blob).or_insert((of_tree, file.length));
        }
        let manifest = Manifest::new(self.time_of_next(options.now)?, files);
        let (missing, kept, repaired) = self.missing(&blobs, listener)?;
        let sent = self.add(&tree, &missing, listener)?;
        let mut directories: Vec<PathBuf> = Vec::new();
        for blob in blobs.keys() {
            directories.extend(self.store.layout.blob(blob).parent().map(Path::to_owned));
        }
        directories.dedup();
        // Also those of blobs that are kept: who wrote them may have been interrupted before.
        for directory in &directories {
            sync_directory(directory)?;
        }
        sync_directory(&self.store.layout.blobs())?;
        self.verify(&missing, listener)?;
        let previous = self.current.as_ref().map(|current| current.release.clone());
        let is_unchanged = before.is_some_and(|before| before.files() == manifest.files());
        let id = match before_id.filter(|_| is_unchanged) {
            Some(before) => before.clone(),
            None => manifest.id(),
        };
        let by = (&*options.who, unix_seconds(options.now));
        let preview = preview.map(|preview| preview.of(&id, by.1));
        match &preview {
            Some(preview) => {
                let new = Some(&manifest).filter(|_| !is_unchanged);
                self.put_preview(preview, new, by)?;
            }
            None if is_unchanged => {}
            None => {
                self.note(Action::Deploy, std::slice::from_ref(&id), by)?;
                self.put_manifest(&manifest)?;
                self.switch(id.clone())?;
            }
        }
        Ok(Deployed {
            id,
            previous,
            is_unchanged,
            expires_unix_seconds: preview.map(|preview| preview.expires_unix_seconds),
            files: manifest.files().len(),
            bytes: manifest.bytes(),
            sent,
            kept,
            repaired,
        })
    }

    /// The release that a new one is compared with: the one that the preview has, else the current one.
    fn comparable(
        &self,
        preview: Option<&NewPreview>,
    ) -> Result<Option<(ReleaseId, Manifest)>, Error> {
        let mut ids = Vec::new();
        if let Some(preview) = preview {
            let all = self.store.each_preview()?.into_iter().flatten();
            let same = all.filter(|known| known.name == preview.name);
            ids.extend(same.map(|known| known.release));
        }
        ids.extend(self.current.as_ref().map(|current| current.release.clone()));
        let manifest = |id: ReleaseId| Some((id.clone(), self.store.manifest(&id).ok()?));
        Ok(ids.into_iter().find_map(manifest))
    }

    /// A store within its own release would grow with each.
    fn refuse_itself(&self, directory: &Path) -> Result<(), Error> {
        let store = self.store.path();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (from, to) = (real(directory), real(store));
        match from.starts_with(&to) || to.starts_with(&from) {
            true => Err(Error::Misused(format!(
                "{directory:?} and the store {store:?} lie in each other: give a store outside of what is deployed"
            ))),
            false => Ok(()),
        }
    }

    /// The time of the next release: later than that of all others, whatever the clock says.
    fn time_of_next(&self, now: SystemTime) -> Result<i64, Error> {
        let ids = self.store.ids()?;
        let after = ids.last().map_or(0, |last| last.unix_seconds() + 1);
        Ok(unix_seconds(now).max(after))
    }

    /// The blobs that the store does not have, or has damaged; the number and bytes of the others, and how many are
    /// damaged.
    #[allow(clippy::type_complexity, reason = "three results of one walk")]
    fn missing<'a>(
        &self,
        blobs: &BlobFiles<'a>,
        listener: &mut Listener<'_>,
    ) -> Result<(BlobFiles<'a>, (usize, u64), usize), Error> {
        let mut candidates = 0_u64;
        let mut present = Vec::new();
        let (mut missing, mut kept, mut repaired) = (BlobFiles::new(), (0, 0_u64), 0);
        for (blob, &(file, length)) in blobs {
            match self.store.blob_length(blob)? {
                Some(_) => {
                    candidates = candidates.saturating_add(length);
                    present.push((*blob, file, length));
                }
                None => {
                    missing.insert(*blob, (file, length));
                }
            }
        }
        listener(Event::Expected(candidates));
        for (blob, file, length) in present {
            if self.store.examine(&blob, length, listener)? == BlobState::Whole {
                kept = (kept.0 + 1, kept.1.saturating_add(length));
            } else {
                repaired += 1;
                missing.insert(blob, (file, length));
            }
        }
        Ok((missing, kept, repaired))
    }

    /// Writes blobs, syncs and names them; gives their number and bytes.
    fn add(
        &mut self,
        tree: &Tree,
        missing: &BlobFiles<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<(usize, u64), Error> {
        let lengths = missing.values().map(|(_, length)| *length);
        let bytes = lengths.fold(0_u64, u64::saturating_add);
        // Written, and read back.
        listener(Event::Expected(bytes.saturating_mul(2)));
        let (mut batch, mut in_batch) = (Vec::new(), 0_u64);
        for (blob, &(file, length)) in missing {
            let new = self.new_file();
            copy(tree, file, blob, &new, listener)?;
            batch.push((*blob, new));
            in_batch = in_batch.saturating_add(length);
            if batch.len() == BATCH || in_batch >= BATCH_BYTES {
                self.name(&std::mem::take(&mut batch))?;
                in_batch = 0;
            }
        }
        self.name(&batch)?;
        Ok((missing.len(), bytes))
    }

    /// Syncs blobs that were written, and gives them their names.
    fn name(&self, batch: &[(BlobDigest, PathBuf)]) -> Result<(), Error> {
        for (_, new) in batch {
            let synced = File::open(new).and_then(|file| file.sync_all());
            synced.map_err(Error::at(new))?;
        }
        for (blob, new) in batch {
            let path = self.store.layout.blob(blob);
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            rename(new, &path)?;
        }
        Ok(())
    }

    /// Reads back what was written.
    fn verify(&self, blobs: &BlobFiles<'_>, listener: &mut Listener<'_>) -> Result<(), Error> {
        for (blob, &(_, length)) in blobs {
            let state = self.store.examine(blob, length, listener)?;
            if state != BlobState::Whole {
                let path = self.store.layout.blob(blob);
                return Err(Error::Damaged(format!(
                    "{path:?} is not what was written ({state:?}): look at the disk; nothing was switched"
                )));
            }
        }
        Ok(())
    }
}

/// Copies a file, which has to have this digest.
fn copy(
    tree: &Tree,
    file: &TreeFile,
    blob: &BlobDigest,
    new: &Path,
    listener: &mut Listener<'_>,
) -> Result<(), Error> {
    let mut failure = None;
    let copied = tree.read(file, |reader| {
        let mut written = File::create(new)?;
        let tee = Tee {
            reader,
            written: &mut written,
            failure: &mut failure,
        };
        let hashes = Hashes::read(tee, listener)?;
        keep_from_writing(&written)?;
        Ok(hashes)
    });
    // What the disk of the store says is no fault of the file.
    if let Some(error) = failure {
        return Err(Error::at(new)(error));
    }
    match copied? {
        hashes if hashes.blob == *blob => Ok(()),
        _ => Err(Error::Misused(format!(
            "{:?} was changed while it was read: deploy again when the build has ended",
            tree.within(&file.path)
        ))),
    }
}

/// Takes the right to write from everybody, so that no tool that edits in place changes a blob by mistake.
fn keep_from_writing(file: &File) -> io::Result<()> {
    // Elsewhere such a file could not be removed, either.
    #[cfg(unix)]
    {
        let mut permissions = file.metadata()?.permissions();
        permissions.set_readonly(true);
        file.set_permissions(permissions)?;
    }
    let _ = file;
    Ok(())
}

/// A reader that writes what passes to a file.
struct Tee<'a> {
    reader: &'a mut dyn io::Read,
    written: &'a mut File,
    failure: &'a mut Option<io::Error>,
}

impl io::Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        match self.written.write_all(bytes) {
            Ok(()) => Ok(count),
            Err(error) => {
                let kind = error.kind();
                *self.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}

/// The files of a release, each read once. What has stayed since `before` keeps its time, so that clients are not told
/// that all has changed because a build has written it anew.
fn hashed(
    tree: &Tree,
    before: Option<&Manifest>,
    listener: &mut Listener<'_>,
) -> Result<Vec<ManifestFile>, Error> {
    let mut files = Vec::with_capacity(tree.files.len());
    for file in &tree.files {
        let hashes = tree.read(file, |reader| Hashes::read(reader, listener))?;
        let stayed = before.and_then(|before| before.find(&file.path));
        let stayed = stayed.filter(|stayed| stayed.blob == hashes.blob);
        files.push(ManifestFile {
            blob: hashes.blob,
            known: KnownDigests {
                digest: hashes.engine,
                decoded: None,
            },
            length: hashes.length,
            modified_unix_seconds: match stayed {
                Some(stayed) => stayed.modified_unix_seconds,
                None => file.identity.modified.seconds,
            },
            media_type: ManifestFile::media_type_of(&file.path),
            path: file.path.clone().into(),
        });
    }
    let lengths: HashMap<&[u8], u64> = tree
        .files
        .iter()
        .map(|file| (&*file.path, file.identity.length))
        .collect();
    for (file, of_tree) in files.iter_mut().zip(&tree.files) {
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
            None => {
                tree.read(of_tree, |mut reader| of_coded(&mut reader, coding, length))?
                    .decoded
            }
        };
    }
    Ok(files)
}
