//! The folder of the tier: files that are whole or not there, which one process at a time writes into.
//!
//! Nothing is synced: what power loss leaves half written is found out by its hash, and comes from the store again.

use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::tier::name::Name;

/// The name of the file that whoever uses the folder holds a lock on.
const LOCK: &str = "lock";

/// What the names of files begin with that are not whole yet.
const UNFINISHED: &str = ".new-";

/// The folder, as long as this process may use it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Locked until it is closed: by the end of the process at the latest, however that comes.
    _lock: File,
}

/// A file that was found: its name, its length, and its time.
pub(super) type FoundFile = (Name, u64, SystemTime);

impl Folder {
    /// The folder at a path, which is made for its owner alone; `None` if another process uses it.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        make(path)?;
        let lock = options().truncate(false).open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Folder {
                path: path.to_owned(),
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The files that are ours by their names. What was left behind unfinished is removed; others are not touched.
    pub(super) fn files(&self) -> Vec<FoundFile> {
        let mut found = Vec::new();
        for number in 0..=u8::MAX {
            let folder = format!("{number:02x}");
            let Ok(entries) = fs::read_dir(self.path.join(&folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let file = entry.file_name();
                let Some(file) = file.to_str() else { continue };
                if file.starts_with(UNFINISHED) {
                    let _ = fs::remove_file(entry.path());
                }
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file);
                if let (Some(name), Some(metadata)) = (Name::parse(&folder, file), metadata)
                    && let Ok(time) = metadata.modified()
                {
                    found.push((name, metadata.len(), time));
                }
            }
        }
        found
    }

    /// The bytes of a file, if it has no more than `most`, and its time.
    pub(super) fn read(&self, name: Name, most: usize) -> io::Result<(Vec<u8>, SystemTime)> {
        let path = self.path.join(name.path());
        // No link is followed, and nothing is opened that could wait for somebody to write into it.
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        if length > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::with_capacity(length);
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut bytes)?;
        Ok((bytes, metadata.modified()?))
    }

    /// Puts a file of these parts in the place of what has this name. Where that fails nothing is left of it.
    pub(super) fn write(&self, name: Name, parts: &[&[u8]], time: SystemTime) -> io::Result<()> {
        let path = self.path.join(name.path());
        let Some(folder) = path.parent() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let unfinished = folder.join(format!("{UNFINISHED}{}", std::process::id()));
        let written = match write_new(&unfinished, parts, time) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(folder)?;
                write_new(&unfinished, parts, time)
            }
            written => written,
        };
        let written = written.and_then(|()| fs::rename(&unfinished, &path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Sets the time of a file.
    pub(super) fn date(&self, name: Name, time: SystemTime) -> io::Result<()> {
        let file = OpenOptions::new()
            .write(true)
            .open(self.path.join(name.path()))?;
        file.set_times(FileTimes::new().set_modified(time))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: Name) {
        let _ = fs::remove_file(self.path.join(name.path()));
    }
}

/// Makes a folder and those above it; what is made only its owner may enter.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The most bytes that are copied to be written at once.
const AT_ONCE: usize = 64 * 1024;

/// The options by which files are written, for their owner alone.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn write_new(path: &Path, parts: &[&[u8]], time: SystemTime) -> io::Result<()> {
    // Most files are written at once.
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let file = options().truncate(true).open(path)?;
    let mut file = BufWriter::with_capacity(length.min(AT_ONCE) + 1, file);
    for part in parts {
        file.write_all(part)?;
    }
    let file = file.into_inner()?;
    file.set_times(FileTimes::new().set_modified(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_uses_it_at_a_time_and_the_next_finds_what_is_there() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("a/b");
        let folder = Folder::open(&path).unwrap().unwrap();
        assert!(Folder::open(&path).unwrap().is_none());
        let (name, other) = (Name::of(b"a"), Name::of(b"b"));
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        folder.write(name, &[b"one", b"two"], time).unwrap();
        folder.write(name, &[b"on", b"ly"], time).unwrap();
        assert_eq!(folder.read(name, 4).unwrap(), (b"only".to_vec(), time));
        assert!(folder.read(name, 3).is_err() && folder.read(other, 9).is_err());
        assert_eq!(folder.files(), [(name, 4, time)]);
        let later = time + std::time::Duration::from_secs(60);
        folder.date(name, later).unwrap();
        let beside = path.join(name.path());
        let beside = beside.parent().unwrap();
        fs::write(beside.join(format!("{UNFINISHED}1")), b"half").unwrap();
        fs::write(beside.join("others.txt"), b"of others").unwrap();
        drop(folder);
        let folder = Folder::open(&path).unwrap().unwrap();
        assert_eq!(folder.files(), [(name, 4, later)]);
        assert!(beside.join("others.txt").exists());
        assert_eq!(fs::read_dir(beside).unwrap().count(), 2);
        folder.remove(name);
        folder.remove(name);
        assert_eq!(folder.files(), []);
    }

    #[test]
    #[cfg(unix)]
    fn no_link_is_followed() {
        let outer = tempfile::tempdir().unwrap();
        let folder = Folder::open(outer.path()).unwrap().unwrap();
        let name = Name::of(b"a");
        folder.write(name, &[b"x"], SystemTime::now()).unwrap();
        let path = outer.path().join(name.path());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(folder.files(), []);
        assert!(folder.read(name, 1 << 20).is_err());
    }
}
