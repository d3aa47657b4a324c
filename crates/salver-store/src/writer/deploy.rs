//! A deploy: the files of a directory become a release, which becomes the current one.
//!
//! The order is what makes it safe, whatever ends it. Blobs that are missing are written, synced and named; all blobs of
//! the release are read back; the journal says what comes; the manifest gets its name; then `current` is replaced by one
//! rename, in a bucket by one conditional request. Before that the old release is the current one, after it the new one,
//! and each is whole.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use salver_assets::Symlinks;
use salver_assets::digest::{KnownDigests, of_coded};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::bundle::{BlobContents, Bundle};
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::layout::{self, HASHES};
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::piece_hashes::PieceHashes;
use crate::place::Contents;
use crate::place::side_by_side::for_each;
use crate::place::uploads::AT_ONCE;
use crate::store::Store;
use crate::store::blobs::BlobState;
use crate::writer::preview::NewPreview;
use crate::writer::publish::{Deployed, ExpectedCurrent, ReleaseRole, comparable, set_verdicts};
use crate::writer::tree::{Tree, TreeFile};
use crate::writer::{Writer, codings};

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
        if self.changes.is_alone() {
            // A bucket has said that it has it, and whoever reads it compares it.
            self.verify(&missing, listener)?;
        }
        if let Some(threads) = options.coding_threads {
            codings::add(&self.store, &mut files, threads, listener)?;
        }
        let contents = match role {
            ReleaseRole::Current(_) if self.store.is_in_bucket() => {
                let of_tree = TreeContents {
                    tree: &tree,
                    blobs: &blobs,
                };
                new_contents(&self.store, &files, before, &of_tree, listener)?
            }
            ReleaseRole::Current(_) | ReleaseRole::Preview(_) => BlobContents::new(),
        };
        let by = (&*options.who, options.now);
        let published = self.publish(files, role, by, contents)?;
        Ok(Deployed {
            sent,
            kept,
            repaired,
            ..published
        })
    }

    /// A store within its own release would grow with each.
    fn refuse_itself(&self, directory: &Path) -> Result<(), Error> {
        if self.store.is_in_bucket() {
            return Ok(());
        }
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
        let lengths = self.store.place.lengths(&blobs.keys().copied().collect())?;
        if self.store.is_in_bucket() {
            // What no release has may be about to be pruned, and is put anew, so that it is young.
            let named = self.store.named_blobs(&self.store.ids()?)?;
            let has_long = blobs
                .values()
                .any(|(_, length)| PieceHashes::are_wanted(*length));
            let hashed: BTreeSet<BlobDigest> = match has_long {
                true => {
                    let hashes = self.store.place.digest_files(HASHES)?;
                    hashes.iter().filter_map(|file| file.digest).collect()
                }
                false => BTreeSet::new(),
            };
            let is_kept = |blob: &BlobDigest, length: u64| {
                let has_hashes = !PieceHashes::are_wanted(length) || hashed.contains(blob);
                lengths.get(blob) == Some(&length) && named.contains(blob) && has_hashes
            };
            for (blob, &(file, length)) in blobs {
                match lengths.get(blob) {
                    Some(_) if is_kept(blob, length) => {
                        kept = (kept.0 + 1, kept.1.saturating_add(length));
                    }
                    known => {
                        let is_damaged = known.is_some_and(|known| *known != length);
                        repaired += usize::from(is_damaged);
                        missing.insert(*blob, (file, length));
                    }
                }
            }
            return Ok((missing, kept, repaired));
        }
        for (blob, &(file, length)) in blobs {
            if lengths.contains_key(blob) {
                candidates = candidates.saturating_add(length);
                present.push((*blob, file, length));
            } else {
                missing.insert(*blob, (file, length));
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

    /// Adds blobs; gives their number and bytes.
    fn add(
        &mut self,
        tree: &Tree,
        missing: &BlobFiles<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<(usize, u64), Error> {
        let blobs: Vec<_> = missing
            .iter()
            .map(|(blob, (_, length))| (*blob, *length))
            .collect();
        let lengths = blobs.iter().map(|(_, length)| *length);
        let bytes = lengths.fold(0_u64, u64::saturating_add);
        // Written, and read back.
        let times = if self.changes.is_alone() { 2 } else { 1 };
        listener(Event::Expected(bytes.saturating_mul(times)));
        let contents = TreeContents {
            tree,
            blobs: missing,
        };
        self.changes.add_blobs(&blobs, &contents, listener)?;
        Ok((blobs.len(), bytes))
    }

    /// Reads back what was written.
    fn verify(&self, blobs: &BlobFiles<'_>, listener: &mut Listener<'_>) -> Result<(), Error> {
        for (blob, &(_, length)) in blobs {
            let state = self.store.examine(blob, length, listener)?;
            if state != BlobState::Whole {
                let path = self.store.place.within(&layout::blob(blob));
                return Err(Error::Damaged(format!(
                    "{path:?} is not what was written ({state:?}): look at the disk; nothing was switched"
                )));
            }
        }
        Ok(())
    }
}

/// The files of a tree, by their blobs.
struct TreeContents<'a> {
    tree: &'a Tree,
    blobs: &'a BlobFiles<'a>,
}

impl Contents for TreeContents<'_> {
    fn read(
        &self,
        blob: &BlobDigest,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> Result<(), Error> {
        let (file, _) = self.blobs.get(blob).ok_or(Error::Stopped)?;
        self.tree.read(file, read)
    }

    fn changed(&self, blob: &BlobDigest) -> Error {
        match self.blobs.get(blob) {
            Some((file, _)) => self.tree.changed(file),
            None => Error::Stopped,
        }
    }
}

/// The contents that a bundle brings of a release: what `before` does not have, of the tree, and codings as the store has them.
/// What cannot be had by now is left out: nodes ask for it.
fn new_contents(
    store: &Store,
    files: &[ManifestFile],
    before: Option<&Manifest>,
    tree: &TreeContents<'_>,
    listener: &mut Listener<'_>,
) -> Result<BlobContents, Error> {
    let before = before.map(Manifest::files).unwrap_or_default();
    let before: HashSet<BlobDigest> = before.iter().map(|file| file.blob).collect();
    let new = files.iter().filter(|file| !before.contains(&file.blob));
    let new: BTreeMap<BlobDigest, u64> = new.map(|file| (file.blob, file.length)).collect();
    let wanted = Bundle::shortest(new.into_iter().collect());
    let contents = Mutex::new(BTreeMap::new());
    let read = |(blob, length): &(BlobDigest, u64), _: &AtomicBool| {
        let mut content = Vec::new();
        let mut read_from = |reader: &mut dyn Read| {
            let most = length.saturating_add(1);
            reader.take(most).read_to_end(&mut content).map(drop)
        };
        let is_read = match tree.blobs.contains_key(blob) {
            true => tree.read(blob, &mut read_from).is_ok(),
            false => {
                let opened = store.place.open(&layout::blob(blob));
                opened.is_ok_and(|mut opened| read_from(&mut opened.content).is_ok())
            }
        };
        if is_read && BlobDigest::of(&content) == *blob {
            let mut contents = contents.lock().unwrap_or_else(PoisonError::into_inner);
            contents.insert((*length, *blob), content);
        }
        Ok(0)
    };
    for_each((&wanted, AT_ONCE), read, listener)?;
    let contents = contents.into_inner();
    let contents = contents.unwrap_or_else(PoisonError::into_inner).into_iter();
    Ok(contents
        .map(|((_, blob), content)| (blob, content))
        .collect())
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
