//! A deploy: the files of a directory become a release, which becomes the current one.
//!
//! The order is what makes it safe, whatever ends it. Blobs that are missing are written, synced and named; all blobs of
//! the release are read back; the journal says what comes; the manifest gets its name; then `current` is replaced by one
//! rename. Before that rename the old release is the current one, after it the new one, and each is whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use salver_assets::Symlinks;
use salver_assets::digest::{KnownDigests, of_coded};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::durable::{keep_from_writing, make_directory, rename, sync};
use crate::files::manifest::ManifestFile;
use crate::store::blobs::BlobState;
use crate::writer::preview::NewPreview;
use crate::writer::publish::{Deployed, ExpectedCurrent, ReleaseRole, comparable, set_verdicts};
use crate::writer::tree::{Tree, TreeFile};
use crate::writer::{Writer, codings};

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
    /// The threads by which codings are made of what gets smaller and has none, before the switch; `None` if they are not
    /// waited for.
    pub coding_threads: Option<usize>,
    /// Who deploys, for the journal.
    pub who: String,
    /// The time.
    pub now: SystemTime,
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
        let role = ReleaseRole::Current(ExpectedCurrent::Any);
        self.make_release(directory, &role, options, listener)
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
        let role = ReleaseRole::Preview(preview.clone());
        self.make_release(directory, &role, options, listener)
    }

    fn make_release(
        &mut self,
        directory: &Path,
        role: &ReleaseRole,
        options: &DeployOptions,
        listener: &mut Listener<'_>,
    ) -> Result<Deployed, Error> {
        self.refuse_itself(directory)?;
        let tree = Tree::walk(directory, options.symlinks, options.dotfiles, listener)?;
        let lengths = tree.files.iter().map(|file| file.identity.length);
        let all = lengths.fold(0_u64, u64::saturating_add);
        listener(Event::Expected(all));
        let current = self.current.as_ref().map(|current| &current.release);
        let before = comparable(&self.store, current, role)?;
        let mut files = hashed(&tree, listener)?;
        let before = before.as_ref().map(|(_, manifest)| manifest);
        set_verdicts(&mut files, before, |number, coding, length| {
            let file = tree.files.get(number).ok_or(Error::Stopped)?;
            tree.read(file, |mut reader| of_coded(&mut reader, coding, length))
        })?;
        let mut blobs = BlobFiles::new();
        for (file, of_tree) in files.iter().zip(&tree.files) {
            blobs.entry(file.blob).or_insert((of_tree, file.length));
        }
        let (missing, kept, repaired) = self.missing(&blobs, listener)?;
        let sent = self.add(&tree, &missing, listener)?;
        self.verify(&missing, listener)?;
        if let Some(threads) = options.coding_threads {
            codings::add(&self.store, &mut files, threads, listener)?;
        }
        let published = self.publish(files, role, (&options.who, options.now))?;
        Ok(Deployed {
            sent,
            kept,
            repaired,
            ..published
        })
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
            sync(new)?;
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

/// The files of a release, each read once, without verdicts on codings.
pub(super) fn hashed(tree: &Tree, listener: &mut Listener<'_>) -> Result<Vec<ManifestFile>, Error> {
    let mut files = Vec::with_capacity(tree.files.len());
    for file in &tree.files {
        let hashes = tree.read(file, |reader| Hashes::read(reader, listener))?;
        files.push(ManifestFile {
            blob: hashes.blob,
            known: KnownDigests {
                digest: hashes.engine,
                decoded: None,
            },
            length: hashes.length,
            modified_unix_seconds: file.identity.modified.seconds,
            media_type: ManifestFile::media_type_of(&file.path),
            path: file.path.clone().into(),
        });
    }
    Ok(files)
}
