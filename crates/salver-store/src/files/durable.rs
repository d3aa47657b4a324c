//! Writing so that a file is whole or not there, whatever ends the process or the power.
//!
//! A file is written under another name, synced, renamed and then its directory is synced.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::Error;

/// Writes a file under a name that nobody reads, and syncs it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().map_err(Error::at(path))
}

/// Syncs a file that was written and may be read.
pub(crate) fn sync(path: &Path) -> Result<(), Error> {
    // Windows syncs only for who may write; elsewhere nobody may any more.
    let mut options = File::options();
    let file = options.read(true).write(cfg!(windows)).open(path);
    file.and_then(|file| file.sync_all())
        .map_err(Error::at(path))
}

/// Puts a file that was synced in the place of what has the name `to`; its directory still has to be synced.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(Error::at(to))
}

/// Syncs the names in a directory.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    // Elsewhere a directory cannot be opened, and names are kept by the file system's journal.
    #[cfg(unix)]
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(Error::at(path))?;
    let _ = path;
    Ok(())
}

/// Makes a directory, if it is not there; true if it was not.
pub(crate) fn make_directory(path: &Path) -> Result<bool, Error> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
        Err(error) => Err(Error::at(path)(error)),
    }
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(path)(error)),
        _ => Ok(()),
    }
}

/// The text of a file of at most so many bytes; `None` if there is none.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>, Error> {
    let text = read_bytes(path, most)?.map(String::from_utf8).transpose();
    text.map_err(|_| {
        let what = "it is no text of UTF-8";
        Error::at(path)(io::Error::new(io::ErrorKind::InvalidData, what))
    })
}

/// The content of a file of at most so many bytes; `None` if there is none.
pub(crate) fn read_bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    let read = || {
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        match u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
            true => Ok(bytes),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long")),
        }
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::at(path)(error)),
    }
}

/// Takes the right to write from everybody, so that no tool that edits in place changes a blob by mistake.
pub(crate) fn keep_from_writing(file: &File) -> io::Result<()> {
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
