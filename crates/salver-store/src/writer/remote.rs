//! A deploy whose content comes from elsewhere: the manifest first, then what the store lacks, piece by piece.
//!
//! ```text
//! manifest ──► examine ──► missing ──► pieces of blobs ──► finish: the switch
//! ```
//!
//! Nothing that comes is believed: blobs get their names once they have been hashed here, and the manifest that is kept is
//! made here, of paths that were checked and of what was read. Until the switch nobody holds the lock of the store: of
//! several such deploys the first to finish wins, and the others are told.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use salver_assets::digest::{Digest, KnownDigests, of_coded};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::layout::{self, Layout};
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::pieces::Piece;
use crate::place::incoming::{self, Received};
use crate::store::Store;
use crate::writer::publish::{Deployed, ReleaseRole, comparable, set_verdicts};
use crate::writer::{Writer, codings};

/// The longest manifest that is taken, in bytes.
const LONGEST_MANIFEST: u64 = 64 * 1024 * 1024;

/// The most that a deploy from elsewhere may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeployLimits {
    /// The bytes of one file.
    pub file_bytes: u64,
    /// The bytes of all files.
    pub release_bytes: u64,
    /// The number of files.
    pub files: usize,
}

/// A blob that a store lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingBlob {
    /// Its name.
    pub blob: BlobDigest,
    /// Its length in bytes.
    pub length: u64,
    /// The bytes of it that have come already: go on behind these.
    pub received: u64,
}

/// A deploy whose content comes from elsewhere. Its methods may be called on several threads, and wait for disks.
#[derive(Debug)]
pub struct RemoteDeploy {
    store: Store,
    layout: Layout,
    limits: DeployLimits,
    manifest: (BlobDigest, u64),
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` until the manifest has come and the store was compared with it.
    examined: Option<Examined>,
    sent: (usize, u64),
}

/// What a deploy brings, and what of it is there.
#[derive(Debug)]
struct Examined {
    files: Vec<ManifestFile>,
    /// The blobs that are there, with the digests of their content that the engine goes by.
    known: HashMap<BlobDigest, Digest>,
    missing: BTreeMap<BlobDigest, u64>,
    kept: (usize, u64),
    repaired: usize,
}

impl RemoteDeploy {
    /// A deploy to a store, of the manifest that has this digest and this length.
    ///
    /// # Errors
    /// It is too long, or the store cannot be written.
    pub fn begin(
        store: Store,
        manifest: (BlobDigest, u64),
        limits: DeployLimits,
        now: SystemTime,
    ) -> Result<Self, Error> {
        if manifest.1 > LONGEST_MANIFEST {
            return Err(Error::TooLarge(format!(
                "the manifest has {} bytes, and may have {LONGEST_MANIFEST}: deploy on the machine of the store",
                manifest.1
            )));
        }
        let layout = store.layout()?.clone();
        incoming::prepare(&layout, now)?;
        Ok(RemoteDeploy {
            store,
            layout,
            limits,
            manifest,
            state: Mutex::default(),
        })
    }

    /// The store that it goes to.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What has to be sent next, sorted, behind this blob and at most so many: the manifest, then, once the store was
    /// [compared](Self::examine) with it, what that lacks.
    pub fn missing(&self, after: Option<&BlobDigest>, most: usize) -> Vec<MissingBlob> {
        let layout = &self.layout;
        let with_received = |(blob, length): (BlobDigest, u64)| MissingBlob {
            blob,
            length,
            received: incoming::length(layout, &blob).min(length),
        };
        let wanted: Vec<(BlobDigest, u64)> = match &self.state().examined {
            None => vec![self.manifest],
            Some(examined) => {
                let all = examined
                    .missing
                    .iter()
                    .map(|(blob, length)| (*blob, *length));
                let behind = all.skip_while(|(blob, _)| after.is_some_and(|after| blob <= after));
                behind.take(most).collect()
            }
        };
        wanted.into_iter().map(with_received).collect()
    }

    /// Takes pieces of what is missing. What is whole is verified, synced, and gets its name.
    ///
    /// # Errors
    /// They are none, or not of this deploy; [`Error::Busy`] if one does not follow on what is there: ask what is
    /// missing. What came before is kept.
    pub fn receive(&self, pieces: &[u8]) -> Result<(), Error> {
        for piece in Piece::all(pieces) {
            let piece = piece.map_err(|error| Error::Misused(error.to_string()))?;
            self.receive_piece(&piece)?;
        }
        Ok(())
    }

    fn receive_piece(&self, piece: &Piece<'_>) -> Result<(), Error> {
        let wanted = match &self.state().examined {
            None => Some(self.manifest.1).filter(|_| self.manifest.0 == piece.blob),
            Some(examined) if examined.known.contains_key(&piece.blob) => return Ok(()),
            Some(examined) => examined.missing.get(&piece.blob).copied(),
        };
        if wanted != Some(piece.length) {
            return Err(Error::Misused(format!(
                "{} of {} bytes is not missing: ask what is",
                piece.blob, piece.length
            )));
        }
        let Received::Whole(whole) = incoming::receive(&self.layout, piece)? else {
            return Ok(());
        };
        if piece.blob == self.manifest.0 && self.state().examined.is_none() {
            return Ok(());
        }
        let hashes = whole.finish(&self.layout, &piece.blob)?;
        let state = &mut *self.state();
        if let Some(examined) = &mut state.examined {
            examined.missing.remove(&piece.blob);
            examined.known.insert(piece.blob, hashes.engine);
            state.sent.0 += 1;
            state.sent.1 = state.sent.1.saturating_add(hashes.length);
        }
        Ok(())
    }

    /// Reads the manifest that has come, checks it, and compares the store with it: what is there is read.
    ///
    /// # Errors
    /// It has not come whole, it is none that may be deployed, or the store cannot be read.
    pub fn examine(&self, listener: &mut Listener<'_>) -> Result<(), Error> {
        if self.state().examined.is_some() {
            return Ok(());
        }
        let (digest, length) = self.manifest;
        let text = incoming::take_text(&self.layout, &digest, length)?;
        let text = text.ok_or_else(|| {
            Error::Busy("the manifest is not the one that was announced: send it again".to_owned())
        })?;
        let text =
            String::from_utf8(text).map_err(|_| Error::Misused("it is no manifest".into()))?;
        let manifest = Manifest::parse(&text).map_err(|error| Error::Misused(error.to_string()))?;
        drop(text);
        let blobs = self.checked(&manifest)?;
        let mut examined = Examined {
            files: Vec::new(),
            known: HashMap::new(),
            missing: BTreeMap::new(),
            kept: (0, 0),
            repaired: 0,
        };
        let mut present = Vec::new();
        let lengths = self.store.place.lengths(&blobs.keys().copied().collect())?;
        for (blob, length) in blobs {
            match lengths.get(&blob) {
                Some(_) => present.push((blob, length)),
                None => {
                    examined.missing.insert(blob, length);
                }
            }
        }
        let bytes = present.iter().map(|(_, length)| *length);
        listener(Event::Expected(bytes.fold(0, u64::saturating_add)));
        for (blob, length) in present {
            match self.store.hashes(&blob, length, listener)? {
                Some(hashes) => {
                    examined.known.insert(blob, hashes.engine);
                    examined.kept.0 += 1;
                    examined.kept.1 = examined.kept.1.saturating_add(length);
                }
                None => {
                    examined.repaired += 1;
                    examined.missing.insert(blob, length);
                }
            }
        }
        examined.files = manifest.into_files();
        self.state().examined = Some(examined);
        Ok(())
    }

    /// The blobs of a manifest with their lengths, if a directory can hold its files and they are within the limits.
    fn checked(&self, manifest: &Manifest) -> Result<BTreeMap<BlobDigest, u64>, Error> {
        let DeployLimits {
            file_bytes,
            release_bytes,
            files: most,
        } = self.limits;
        let files = manifest.files();
        if files.is_empty() {
            return Err(Error::Misused("a release has one file at least".to_owned()));
        }
        if files.len() > most {
            return Err(Error::TooLarge(format!(
                "the release has {} files, and this server takes {most}: see its --deploy-max-files",
                files.len()
            )));
        }
        if manifest.bytes() > release_bytes {
            return Err(Error::TooLarge(format!(
                "the release has {} bytes, and this server takes {release_bytes}: see its --deploy-max-release",
                manifest.bytes()
            )));
        }
        let mut blobs = BTreeMap::new();
        for file in files {
            let path = file.path.escape_ascii();
            if file.length > file_bytes {
                return Err(Error::TooLarge(format!(
                    "{path} has {} bytes, and this server takes {file_bytes}: see its --deploy-max-file",
                    file.length
                )));
            }
            if blobs.insert(file.blob, file.length).unwrap_or(file.length) != file.length {
                return Err(Error::Misused(format!(
                    "{path}: one content of two lengths"
                )));
            }
            let mut slashes = file.path.iter().enumerate();
            let is_beneath_file = slashes.any(|(at, byte)| {
                let above = file.path.get(..at).unwrap_or_default();
                *byte == b'/' && manifest.find(above).is_some()
            });
            if is_beneath_file {
                return Err(Error::Misused(format!("{path} lies in a file")));
            }
        }
        Ok(blobs)
    }

    /// Makes codings of what gets smaller and has none, by so many threads, and adds them to the release; those that the
    /// store has are found.
    ///
    /// # Errors
    /// Something is missing, or what the disk says.
    pub fn make_codings(&self, threads: usize, listener: &mut Listener<'_>) -> Result<(), Error> {
        let mut files = self.whole_files()?;
        let before = files.len();
        codings::add(&self.store, &mut files, threads, listener)?;
        if let Some(examined) = &mut self.state().examined {
            for file in files.drain(before..) {
                examined.known.insert(file.blob, file.known.digest);
                examined.files.push(file);
            }
        }
        Ok(())
    }

    /// Makes the files, all of which have come, a release, and that the current one or a preview.
    ///
    /// # Errors
    /// Something is missing; [`Error::Overtaken`] if another release is current than the expected one; a preview where
    /// none is; what the disk says. The release that was current still is.
    pub fn finish(
        &self,
        role: &ReleaseRole,
        who: &str,
        now: SystemTime,
    ) -> Result<Deployed, Error> {
        let mut files = self.whole_files()?;
        let before = comparable(&self.store, self.store.current()?.as_ref(), role)?;
        let before = before.as_ref().map(|(_, manifest)| manifest);
        let layout = &self.layout;
        let blobs: Vec<BlobDigest> = files.iter().map(|file| file.blob).collect();
        set_verdicts(&mut files, before, |number, coding, length| {
            let blob = blobs.get(number).ok_or(Error::Stopped)?;
            let path = layout.blob(blob);
            let read = File::open(&path)
                .and_then(|file| of_coded(&mut BufReader::new(file), coding, length));
            read.map_err(Error::at(&path))
        })?;
        let mut writer = Writer::lock(&self.store, "deploy")?;
        let published = writer.publish(files, role, (who, now), Vec::new())?;
        let state = self.state();
        let examined = state.examined.as_ref();
        let (kept, repaired) =
            examined.map_or(((0, 0), 0), |examined| (examined.kept, examined.repaired));
        Ok(Deployed {
            sent: state.sent,
            kept,
            repaired,
            ..published
        })
    }

    /// The files with what was read of them here.
    fn whole_files(&self) -> Result<Vec<ManifestFile>, Error> {
        let state = self.state();
        let missing = match &state.examined {
            None => 1,
            Some(examined) => examined.missing.len(),
        };
        let Some(examined) = state.examined.as_ref().filter(|_| missing == 0) else {
            return Err(Error::Busy(format!(
                "{missing} blobs have not come yet: ask what is missing"
            )));
        };
        let files = examined.files.iter().map(|file| {
            let digest = examined.known.get(&file.blob).copied();
            Ok(ManifestFile {
                known: KnownDigests {
                    digest: digest.ok_or(Error::Stopped)?,
                    decoded: None,
                },
                media_type: ManifestFile::media_type_of(&file.path),
                ..file.clone()
            })
        });
        files.collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// The digests of a blob that is whole; `None` if it is not what its name says.
    fn hashes(
        &self,
        blob: &BlobDigest,
        length: u64,
        listener: &mut Listener<'_>,
    ) -> Result<Option<Hashes>, Error> {
        let name = layout::blob(blob);
        let read = self.place.open(&name);
        let read = read.and_then(|opened| Hashes::read(opened.content, listener));
        match read.map_err(Error::at(&self.place.within(&name))) {
            Ok(hashes) => {
                Ok(Some(hashes).filter(|hashes| hashes.blob == *blob && hashes.length == length))
            }
            Err(Error::Stopped) => Err(Error::Stopped),
            // Unreadable, or pruned meanwhile: it is sent again.
            Err(_) => Ok(None),
        }
    }
}
