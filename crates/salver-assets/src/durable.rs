//! The directory of files that are whole or not there, whatever ends the process or the power.
//!
//! A file is written under a name that nobody reads, synced and renamed, and then the directory is synced. Several processes
//! may write into one directory.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of files begin with that are not whole yet.
pub(crate) const UNFINISHED: &str = ".new-";

/// A directory for its owner alone, into which files are put.
#[derive(Debug)]
pub(crate) struct DurableDirectory {
    path: PathBuf,
    /// What the names of unfinished files have that no other process has: not its number, which is 1 in each container.
    mark: u64,
    /// The number of the next file that is written.
    next: AtomicU64,
}

impl DurableDirectory {
    /// The directory at this path. Touches nothing.
    pub(crate) fn new(path: PathBuf) -> Self {
        DurableDirectory {
            path,
            mark: RandomState::new().hash_one(std::process::id()),
            next: AtomicU64::new(0),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it and those above it; what is made only its owner may enter.
    pub(crate) fn make(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.path)
    }

    /// Puts a file in the place of what has this name. Where that fails nothing is left of it.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.unfinished();
        let put = write_synced(&unfinished, bytes)
            .and_then(|()| fs::rename(&unfinished, self.path.join(name)));
        if put.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        put?;
        self.sync()
    }

    /// The path of a file that is written next.
    fn unfinished(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mark = self.mark;
        self.path.join(format!("{UNFINISHED}{mark:016x}-{number}"))
    }

    /// Makes what was renamed outlive a loss of power.
    fn sync(&self) -> io::Result<()> {
        // Windows syncs directories by itself.
        #[cfg(unix)]
        fs::File::open(&self.path)?.sync_all()?;
        Ok(())
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_processes_write_the_same_file() {
        let [one, other] = [(); 2].map(|()| DurableDirectory::new(PathBuf::new()));
        assert_ne!(one.unfinished(), other.unfinished());
        assert_ne!(one.unfinished(), one.unfinished());
    }

    #[test]
    fn a_file_is_put_or_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DurableDirectory::new(folder.path().join("a/b"));
        assert!(directory.put("file", b"lost").is_err());
        directory.make().unwrap();
        directory.put("file", b"first").unwrap();
        directory.put("file", b"second").unwrap();
        assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"second");
        // A directory that is not empty cannot be replaced.
        fs::create_dir_all(directory.path().join("full/of")).unwrap();
        assert!(directory.put("full", b"lost").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
