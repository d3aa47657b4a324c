//! A store of bytes by their hash: those that the program includes, and those that need not be made again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// A directory in `OUT_DIR`.
pub(crate) struct Store {
    directory: PathBuf,
    /// The names that this build uses.
    used: Mutex<BTreeSet<String>>,
}

impl Store {
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(|error| Error::at(directory, error))?;
        Ok(Store {
            directory: directory.to_owned(),
            used: Mutex::default(),
        })
    }

    /// The bytes that an earlier build kept under this name.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.directory.join(name)).ok()?;
        self.uses(name);
        Some(bytes)
    }

    /// Keeps `bytes` under a name that follows from them.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.uses(name);
        write(&self.directory.join(name), bytes)
    }

    /// Lets go of what this build did not use.
    pub(crate) fn sweep(&self) -> Result<(), Error> {
        let fails = |error: io::Error| Error::at(&self.directory, error);
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in fs::read_dir(&self.directory).map_err(fails)? {
            let entry = entry.map_err(fails)?;
            let is_used = entry
                .file_name()
                .to_str()
                .is_some_and(|name| used.contains(name));
            if !is_used {
                fs::remove_file(entry.path()).map_err(fails)?;
            }
        }
        Ok(())
    }

    fn uses(&self, name: &str) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(name.to_owned());
    }
}

/// Writes a file, complete from the start, unless it has these bytes: what is not touched is not
/// compiled again.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    // Two files of one tree may have the same bytes, and be written at once.
    let thread = format!("{:?}", std::thread::current().id());
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new-{thread}"));
    fs::write(&new, bytes)
        .and_then(|()| fs::rename(&new, path))
        .map_err(|error| Error::at(path, format!("it cannot be written: {error}")))
}
