//! A store on a disk, as it is read.

pub(crate) mod blobs;
pub(crate) mod diff;
pub(crate) mod fsck;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::files::current::{self, Current};
use crate::files::digest::BlobDigest;
use crate::files::durable::{make_directory, read_text, rename, sync_directory, write};
use crate::files::journal::{Action, Journal, JournalEntry};
use crate::files::layout::{DIRECTORIES, FORMAT, Layout};
use crate::files::manifest::{self, Manifest};
use crate::files::preview::{self, Preview, PreviewName};
use crate::files::release_id::ReleaseId;

/// The shortest part of a release's name by which it can be named.
const SHORTEST_PART: usize = 4;

/// A store of releases.
///
/// Reading takes no lock: whatever has its name in a store is whole.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) layout: Layout,
}

/// A release as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its name.
    pub id: ReleaseId,
    /// True if it is the one that is served.
    pub is_current: bool,
    /// The moment at which it was made, in seconds since 1970.
    pub created_unix_seconds: i64,
    /// The number of its files.
    pub files: usize,
    /// The bytes of all its files.
    pub bytes: u64,
    /// The bytes of what no other release has, which removing it would free.
    pub bytes_alone: u64,
    /// Who deployed it, if the journal says so.
    pub who: Option<String>,
}

impl Store {
    /// The store at a path.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match Store::at(path)? {
            (store, true) => Ok(store),
            (_, false) => Err(no_store(path)),
        }
    }

    /// The store at a path, or the one that the first deploy is going to make there: of nothing, or of an empty directory.
    ///
    /// # Errors
    /// There is something else.
    pub(crate) fn open_or_awaited(path: &Path) -> Result<Self, Error> {
        let (store, is_there) = Store::at(path)?;
        match is_there || store.layout.is_vacant()? {
            true => Ok(store),
            false => Err(no_store(path)),
        }
    }

    /// The store at a path, and whether there is one.
    fn at(path: &Path) -> Result<(Self, bool), Error> {
        let root = std::path::absolute(path).map_err(Error::at(path))?;
        let store = Store {
            layout: Layout { root },
        };
        let most = u64::try_from(FORMAT.1.len()).unwrap_or(u64::MAX);
        match read_text(&store.layout.format(), most)? {
            Some(text) if text == FORMAT.1 => Ok((store, true)),
            Some(_) => Err(Error::Misused(format!(
                "{path:?} is a store of another version of Salver: use that one"
            ))),
            None => Ok((store, false)),
        }
    }

    /// The store at a path, which is made if there is nothing, or an empty directory.
    ///
    /// # Errors
    /// There is something else, or it cannot be made.
    pub fn open_or_create(path: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(path).map_err(Error::at(path))?;
        let layout = Layout { root };
        if layout.format().exists() {
            return Store::open(path);
        }
        fs::create_dir_all(&layout.root).map_err(Error::at(&layout.root))?;
        if !layout.is_vacant()? {
            return Err(Error::Misused(format!(
                "{path:?} is neither empty nor a store: give another directory, which need not exist"
            )));
        }
        for name in DIRECTORIES {
            make_directory(&layout.root.join(name))?;
        }
        let new = layout.unfinished().join(FORMAT.0);
        write(&new, FORMAT.1.as_bytes())?;
        // Last: what has it has all else.
        rename(&new, &layout.format())?;
        sync_directory(&layout.root)?;
        if let Some(parent) = layout.root.parent() {
            sync_directory(parent)?;
        }
        Ok(Store { layout })
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.layout.root
    }

    /// The current release; `None` before the first deploy.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn current(&self) -> Result<Option<ReleaseId>, Error> {
        Ok(self.read_current()?.map(|current| current.release))
    }

    pub(crate) fn read_current(&self) -> Result<Option<Current>, Error> {
        let path = self.layout.current();
        let Some(text) = read_text(&path, current::MOST_BYTES)? else {
            return Ok(None);
        };
        match Current::parse(&text) {
            Some(current) => Ok(Some(current)),
            None => Err(Error::Damaged(format!(
                "{path:?} names no release: `salver rollback STORE ID` names one anew"
            ))),
        }
    }

    /// The names of all releases, oldest first.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn ids(&self) -> Result<Vec<ReleaseId>, Error> {
        let directory = self.layout.manifests();
        let mut ids = Vec::new();
        for entry in fs::read_dir(&directory).map_err(Error::at(&directory))? {
            let name = entry.map_err(Error::at(&directory))?.file_name();
            ids.extend(name.to_str().and_then(ReleaseId::parse));
        }
        ids.sort();
        Ok(ids)
    }

    /// True if there is a release of this name.
    pub(crate) fn has(&self, id: &ReleaseId) -> bool {
        self.layout.manifest(id).exists()
    }

    /// The previews, by name, those included that have expired and are not pruned yet.
    ///
    /// # Errors
    /// One of them is damaged, or cannot be read.
    pub fn previews(&self) -> Result<Vec<Preview>, Error> {
        self.each_preview()?.into_iter().collect()
    }

    /// Each preview, or what is wrong with it.
    pub(crate) fn each_preview(&self) -> Result<Vec<Result<Preview, Error>>, Error> {
        let directory = self.layout.previews();
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // An older version made the store.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::at(&directory)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(Error::at(&directory))?.file_name();
            names.extend(name.to_str().and_then(PreviewName::parse));
        }
        names.sort();
        Ok(names
            .into_iter()
            .filter_map(|name| self.preview(name).transpose())
            .collect())
    }

    /// The preview of this name; `None` if there is none.
    fn preview(&self, name: PreviewName) -> Result<Option<Preview>, Error> {
        let path = self.layout.preview(&name);
        let Some(text) = read_text(&path, preview::MOST_BYTES)? else {
            return Ok(None);
        };
        match Preview::parse(name, &text) {
            Some(preview) => Ok(Some(preview)),
            None => Err(Error::Damaged(format!(
                "{path:?} names no release: `salver deploy DIR --to STORE --preview NAME` writes it anew, or remove it"
            ))),
        }
    }

    /// The release of which this is the name, the name of a preview, or a part of four characters at least with which no
    /// other's begins or ends.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn find(&self, text: &str) -> Result<ReleaseId, Error> {
        if let Some(name) = PreviewName::parse(text)
            && let Some(preview) = self.preview(name)?
        {
            return Ok(preview.release);
        }
        let ids = self.ids()?;
        let is_named =
            |id: &&ReleaseId| id.as_str().starts_with(text) || id.as_str().ends_with(text);
        let mut found = ids.iter().filter(is_named);
        let text = text.escape_debug();
        match (found.next(), found.next()) {
            (Some(only), None) if text.clone().count() >= SHORTEST_PART => Ok(only.clone()),
            (Some(_), Some(_)) => Err(Error::Misused(format!(
                "{text} is the name of several releases: give more of it"
            ))),
            _ => Err(Error::Misused(format!(
                "there is no release {text}: `salver releases STORE` lists them"
            ))),
        }
    }

    /// The manifest of a release.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn manifest(&self, id: &ReleaseId) -> Result<Manifest, Error> {
        let path = self.layout.manifest(id);
        let Some(text) = read_text(&path, manifest::MOST_BYTES)? else {
            return Err(Error::Misused(format!(
                "there is no release {id}: `salver releases STORE` lists them"
            )));
        };
        let damaged = |what: String| {
            Error::Damaged(format!(
                "{path:?}: {what}: go to another release by `salver rollback STORE ID`, or deploy anew"
            ))
        };
        let manifest = Manifest::parse(&text).map_err(|error| damaged(error.to_string()))?;
        match manifest.is_named(id) {
            true => Ok(manifest),
            false => Err(damaged("it is of another release".to_owned())),
        }
    }

    /// All releases, oldest first.
    ///
    /// # Errors
    /// One of them is damaged, or cannot be read.
    pub fn releases(&self) -> Result<Vec<Release>, Error> {
        let current = self.current()?;
        let journal = Journal::read(&self.layout)?;
        let mut manifests = Vec::new();
        for id in self.ids()? {
            let manifest = self.manifest(&id)?;
            manifests.push((id, manifest));
        }
        // For each blob the number of the only release that has it.
        let mut owners: HashMap<BlobDigest, (Option<usize>, u64)> = HashMap::new();
        for (number, (_, manifest)) in manifests.iter().enumerate() {
            for file in manifest.files() {
                let owner = owners
                    .entry(file.blob)
                    .or_insert((Some(number), file.length));
                if owner.0 != Some(number) {
                    owner.0 = None;
                }
            }
        }
        let mut alone = vec![0_u64; manifests.len()];
        for (owner, length) in owners.into_values() {
            if let Some(sum) = owner.and_then(|number| alone.get_mut(number)) {
                *sum = sum.saturating_add(length);
            }
        }
        let who = |id: &ReleaseId| {
            let mut entries = journal.entries.iter().rev();
            let entry = entries.find(|entry| {
                matches!(entry.action, Action::Deploy | Action::Preview) && entry.release == *id
            });
            entry.map(|entry| entry.who.clone())
        };
        let list = manifests
            .iter()
            .zip(alone)
            .map(|((id, manifest), alone)| Release {
                id: id.clone(),
                is_current: current.as_ref() == Some(id),
                created_unix_seconds: manifest.created_unix_seconds(),
                files: manifest.files().len(),
                bytes: manifest.bytes(),
                bytes_alone: alone,
                who: who(id),
            });
        Ok(list.collect())
    }

    /// What was done with the store, oldest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn journal(&self) -> Result<Vec<JournalEntry>, Error> {
        Ok(Journal::read(&self.layout)?.entries)
    }

    /// The bytes of all blobs, which releases share.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn blob_bytes(&self) -> Result<u64, Error> {
        let mut bytes = 0_u64;
        for (path, _) in self.blobs()? {
            match fs::symlink_metadata(&path) {
                Ok(metadata) => bytes = bytes.saturating_add(metadata.len()),
                // It was pruned meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::at(&path)(error)),
            }
        }
        Ok(bytes)
    }

    /// The files among the blobs, with the digests that their names say.
    pub(crate) fn blobs(&self) -> Result<Vec<(std::path::PathBuf, Option<BlobDigest>)>, Error> {
        let mut found = Vec::new();
        let root = self.layout.blobs();
        for directory in fs::read_dir(&root).map_err(Error::at(&root))? {
            let directory = directory.map_err(Error::at(&root))?.path();
            let names = match fs::read_dir(&directory) {
                Ok(names) => names,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    found.push((directory, None));
                    continue;
                }
                Err(error) => return Err(Error::at(&directory)(error)),
            };
            for name in names {
                let path = name.map_err(Error::at(&directory))?.path();
                let name = path.file_name().and_then(|name| name.to_str());
                let digest =
                    name.and_then(|name| crate::files::layout::digest_of(&directory, name));
                found.push((path, digest));
            }
        }
        Ok(found)
    }
}

fn no_store(path: &Path) -> Error {
    Error::Misused(format!(
        "{path:?} is no store: `salver deploy DIR --to STORE` makes one"
    ))
}
