//! The files of a directory, by the rules of the server.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salver_assets::source::{Kind, Metadata};
use salver_assets::{DirectorySource, Patience, Source, Symlinks, View, is_hidden};

use crate::error::Error;

const WAIT: Patience = Patience::MayWait;

/// An open directory.
pub(crate) struct SourceDirectory {
    path: PathBuf,
    view: Arc<dyn View>,
}

/// The files that a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Relative, sorted by their bytes.
    pub(crate) files: Vec<String>,
    /// The files that no server would serve either, and why.
    pub(crate) passed_over: Vec<String>,
}

/// A file's bytes, and when it was last modified.
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) modified_unix_seconds: i64,
}

impl SourceDirectory {
    pub(crate) fn open(path: &Path, symlinks: Symlinks) -> Result<Self, Error> {
        let open = || DirectorySource::open(path, symlinks, Duration::ZERO)?.view(WAIT);
        let view = open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let from = std::env::current_dir().unwrap_or_default();
                let what = format!(
                    "there is no such directory in {from:?}; build the site first, or correct the path in build.rs"
                );
                Error::at(path, what)
            }
            io::ErrorKind::NotADirectory => {
                Error::at(path, "it is no directory; correct the path in build.rs")
            }
            _ => Error::at(path, error),
        })?;
        let path = path.to_owned();
        Ok(SourceDirectory { path, view })
    }

    /// The files that a server would show, with their siblings; `dotfiles`: also what begins with a
    /// dot.
    pub(crate) fn walk(&self, dotfiles: bool) -> Result<Walked, Error> {
        let mut walked = Walked::default();
        let root = self.view.stat(b"", WAIT);
        let root = root.map_err(|error| self.error(b"", error))?;
        self.walk_into(b"", &mut vec![root], dotfiles, &mut walked)?;
        walked.files.sort();
        Ok(walked)
    }

    /// `above` are the directories that lead to this one, and this one.
    fn walk_into(
        &self,
        directory: &[u8],
        above: &mut Vec<Metadata>,
        dotfiles: bool,
        walked: &mut Walked,
    ) -> Result<(), Error> {
        let names = self.view.list(directory);
        let mut names = names.map_err(|error| self.error(directory, error))?;
        names.sort();
        for name in names {
            let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
            let path = [directory, slash, &name].concat();
            if is_hidden(&path) && !dotfiles {
                continue;
            }
            let metadata = match self.view.stat(&path, WAIT) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let why = "it is a link that leads nowhere, or outside of the directory";
                    walked.passed_over.push(self.say(&path, why));
                    continue;
                }
                result => result.map_err(|error| self.error(&path, error))?,
            };
            match metadata.kind {
                Kind::File => walked.files.push(String::from_utf8(path).map_err(|error| {
                    let why = "its name is not UTF-8; rename it, or leave it out of the directory";
                    Error::at(&self.within(error.as_bytes()), why)
                })?),
                Kind::Directory if is_among(&metadata, above) => {
                    let why = "this link leads back to a directory that it lies in; remove it";
                    return Err(Error::at(&self.within(&path), why));
                }
                Kind::Directory => {
                    above.push(metadata);
                    self.walk_into(&path, above, dotfiles, walked)?;
                    above.pop();
                }
                Kind::Other => {
                    let why = "it is neither a file nor a directory";
                    walked.passed_over.push(self.say(&path, why));
                }
            }
        }
        Ok(())
    }

    /// All of a file, in one version.
    pub(crate) fn read(&self, path: &str) -> Result<FileBytes, Error> {
        let fails = |error: io::Error| self.error(path.as_bytes(), error);
        let opened = self.view.open(path.as_bytes(), WAIT).map_err(fails)?;
        let identity = opened.metadata.identity;
        let mut bytes = Vec::with_capacity(usize::try_from(identity.length).unwrap_or(0));
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            match opened.reader.read_at(&mut buffer, offset, WAIT) {
                Ok(0) => break,
                Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fails(error)),
            }
        }
        let after = opened.reader.metadata().map_err(fails)?;
        let is_whole = u64::try_from(bytes.len()) == Ok(identity.length);
        if !is_whole || after.is_some_and(|after| after.identity != identity) {
            let why = "it was changed while it was read; build again when it is finished";
            return Err(Error::at(&self.within(path.as_bytes()), why));
        }
        Ok(FileBytes {
            bytes,
            modified_unix_seconds: identity.modified.seconds,
        })
    }

    /// The warning about the file at `path`, quoted.
    pub(crate) fn say(&self, path: &[u8], what: &str) -> String {
        format!("{:?}: passed over, {what}", self.within(path))
    }

    pub(crate) fn within(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() {
            return self.path.clone();
        }
        self.path.join(of_system(path))
    }

    fn error(&self, path: &[u8], error: io::Error) -> Error {
        let path = self.within(path);
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                let what = "it may not be read; make it readable, or leave it out of the directory";
                Error::at(&path, what)
            }
            _ => Error::at(&path, error),
        }
    }
}

fn is_among(directory: &Metadata, above: &[Metadata]) -> bool {
    let mut above = above.iter();
    above.any(|known| known.identity.is_same_file(&directory.identity))
}

/// A path of the tree as the system has it.
#[cfg(unix)]
fn of_system(path: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(path.to_vec())
}

/// A path of the tree as the system has it: elsewhere a source names no file whose name is not UTF-8.
#[cfg(not(unix))]
fn of_system(path: &[u8]) -> OsString {
    String::from_utf8_lossy(path).into_owned().into()
}
