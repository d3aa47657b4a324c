//! The check of a whole store: every blob is read, and what is damaged is named with all that it is of.

use std::collections::{BTreeMap, HashSet};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::bundle::Bundle;
use crate::files::current::Current;
use crate::files::digest::BlobDigest;
use crate::files::layout::BLOBS;
use crate::files::preview::Preview;
use crate::files::release_id::ReleaseId;
use crate::place::DigestFile;
use crate::store::Store;
use crate::store::blobs::BlobState;

/// Files of releases.
type ReleaseFiles = Vec<(ReleaseId, Box<[u8]>)>;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fsck {
    /// The number of releases that were looked at.
    pub releases: usize,
    /// The number of blobs that they name.
    pub blobs: usize,
    /// The bytes of these.
    pub bytes: u64,
    /// The number of blobs that no release names: `salver prune` removes them.
    pub unnamed: usize,
    /// What is wrong with the files of the store themselves, one line each.
    pub faults: Vec<String>,
    /// The blobs that are damaged.
    pub damaged: Vec<Damaged>,
}

/// A blob that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Its name.
    pub blob: BlobDigest,
    /// What is wrong with it.
    pub damage: Damage,
    /// The releases and paths that it is of.
    pub files: ReleaseFiles,
}

/// What is wrong with a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is not there.
    Missing,
    /// It has this length, and should have the other.
    Length(u64, u64),
    /// Its content is not what its name says.
    Content,
    /// It cannot be read, for this reason.
    Unreadable(String),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::Missing => f.write_str("it is missing"),
            Damage::Length(is, should) => write!(f, "it has {is} bytes instead of {should}"),
            Damage::Content => f.write_str("its content is not what its name says"),
            Damage::Unreadable(why) => write!(f, "it cannot be read: {why}"),
        }
    }
}

impl Fsck {
    /// True if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && self.damaged.is_empty()
    }
}

impl Store {
    /// Reads the whole store. It takes no lock: deploys go on meanwhile, and what a prune removes is no damage.
    ///
    /// # Errors
    /// The store cannot be listed. What is wrong in it is no error, but what this is for.
    pub fn fsck(&self, listener: &mut Listener<'_>) -> Result<Fsck, Error> {
        let mut found = Fsck::default();
        let mut named: BTreeMap<BlobDigest, (u64, ReleaseFiles)> = BTreeMap::new();
        let mut is_listed_whole = true;
        let ids = self.ids()?;
        for id in &ids {
            let manifest = match self.manifest(id) {
                Ok(manifest) => manifest,
                Err(_) if !self.has(id)? => continue,
                Err(error) => {
                    is_listed_whole = false;
                    found.faults.push(error.to_string());
                    continue;
                }
            };
            found.releases += 1;
            for file in manifest.files() {
                let (_, files) = named
                    .entry(file.blob)
                    .or_insert_with(|| (file.length, Vec::new()));
                files.push((id.clone(), file.path.clone()));
            }
        }
        let bytes = named
            .values()
            .fold(0_u64, |sum, (length, _)| sum.saturating_add(*length));
        listener(Event::Expected(bytes));
        (found.blobs, found.bytes) = (named.len(), bytes);
        for (blob, (length, files)) in &named {
            let damage = match self.examine(blob, *length, listener)? {
                BlobState::Whole => continue,
                BlobState::Missing => Damage::Missing,
                BlobState::Length(is) => Damage::Length(is, *length),
                BlobState::Content => Damage::Content,
                BlobState::Unreadable(why) => Damage::Unreadable(why),
            };
            // A release that was pruned meanwhile needs nothing.
            let left: HashSet<ReleaseId> = self.ids()?.into_iter().collect();
            let files: Vec<_> = files
                .iter()
                .filter(|(id, _)| left.contains(id))
                .cloned()
                .collect();
            if !files.is_empty() {
                found.damaged.push(Damaged {
                    blob: *blob,
                    damage,
                    files,
                });
            }
        }
        match self.faults_of_current() {
            Ok(faults) => found.faults.extend(faults),
            Err(error) => found.faults.push(error.to_string()),
        }
        for preview in self.each_preview()? {
            match preview {
                Ok(Preview { name, release, .. }) if !self.has(&release)? => {
                    found.faults.push(format!(
                        "the preview {name} has the release {release}, which has no manifest: deploy it anew"
                    ));
                }
                Ok(_) => {}
                Err(error) => found.faults.push(error.to_string()),
            }
        }
        if is_listed_whole {
            let blobs = self.place.digest_files(BLOBS)?.into_iter();
            let is_named = |file: &DigestFile| {
                file.digest
                    .is_some_and(|digest| named.contains_key(&digest))
            };
            found.unnamed = blobs.filter(|file| !is_named(file)).count();
        }
        Ok(found)
    }

    /// What is wrong with the current release, and with what follows its name, where something does.
    fn faults_of_current(&self) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        let Some(content) = self.place.current()? else {
            if self.had_a_current()? {
                let what = "no release is current: `salver rollback STORE ID` makes one so";
                faults.push(what.to_owned());
            }
            return Ok(faults);
        };
        let (Current { release, .. }, bundle) = self.parse_current(&content)?;
        if !self.has(&release)? {
            faults.push(format!(
                "the current release {release} has no manifest: `salver rollback STORE ID` goes to another"
            ));
        }
        if !bundle.is_empty() && Bundle::parse(bundle, &release).is_none() {
            faults.push(format!(
                "what follows the name of the current release {release} is damaged, and not used: the next deploy or rollback \
                 puts it anew"
            ));
        }
        Ok(faults)
    }

    /// True if a release was current once. Before, a deploy may have been interrupted just before its end.
    fn had_a_current(&self) -> Result<bool, Error> {
        let journal = self.read_journal()?;
        Ok(journal.entries.iter().any(|entry| entry.previous.is_some()))
    }
}
