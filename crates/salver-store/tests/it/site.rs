//! A directory that is deployed, and the store that it goes to.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use salver_assets::Symlinks;
use salver_store::{DeployOptions, Deployed, Error, Event, Fsck, ReleaseId, Store, Writer};

pub(crate) struct Site {
    temp: tempfile::TempDir,
    /// The time of what is done next, in seconds since 1970.
    pub(crate) now: u64,
}

impl Site {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let site = Site {
            temp,
            now: 1_764_000_000,
        };
        fs::create_dir(site.directory()).unwrap();
        files
            .iter()
            .for_each(|(path, content)| site.put(path, content));
        site
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.temp.path().join("site")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.temp.path().join("store")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open_or_create(&self.path()).unwrap()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.directory().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.now)
    }

    pub(crate) fn options(&self) -> DeployOptions {
        DeployOptions {
            symlinks: Symlinks::Beneath,
            dotfiles: false,
            coding_threads: None,
            who: "jo".to_owned(),
            now: self.time(),
        }
    }

    pub(crate) fn try_deploy(&self) -> Result<Deployed, Error> {
        let mut writer = Writer::lock(&self.store(), "deploy")?;
        writer.deploy(&self.directory(), &self.options(), &mut |_| true)
    }

    pub(crate) fn deploy(&self) -> Deployed {
        self.try_deploy().unwrap()
    }

    /// Deploys, and gives what was noted.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut listen = |event: Event<'_>| {
            if let Event::Note(note) = event {
                notes.push(note.to_owned());
            }
            true
        };
        let mut writer = Writer::lock(&self.store(), "deploy").unwrap();
        let deployed = writer.deploy(&self.directory(), &self.options(), &mut listen);
        deployed.unwrap();
        notes
    }

    pub(crate) fn rollback(&self, id: Option<&ReleaseId>) -> Result<ReleaseId, Error> {
        Writer::lock(&self.store(), "rollback")?.rollback(id, "jo", self.time())
    }

    pub(crate) fn fsck(&self) -> Fsck {
        self.store().fsck(&mut |_| true).unwrap()
    }

    /// The paths of a release.
    pub(crate) fn paths(&self, id: &ReleaseId) -> Vec<String> {
        let manifest = self.store().manifest(id).unwrap();
        let files = manifest.files().iter();
        files
            .map(|file| file.path.escape_ascii().to_string())
            .collect()
    }

    /// All files of the store among its blobs.
    pub(crate) fn blobs(&self) -> Vec<PathBuf> {
        let mut blobs = Vec::new();
        for directory in fs::read_dir(self.path().join("blobs")).unwrap() {
            let names = fs::read_dir(directory.unwrap().path()).unwrap();
            blobs.extend(names.map(|name| name.unwrap().path()));
        }
        blobs.sort();
        blobs
    }
}
