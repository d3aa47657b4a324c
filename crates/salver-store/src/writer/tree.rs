//! The files of a directory that is deployed, by the rules of the server.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salver_assets::source::{Identity, Kind, Metadata, Opened};
use salver_assets::{DirectorySource, Patience, Source, Symlinks, View, is_hidden};

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::manifest::{LONGEST_PATH, MOST_FILES};

const WAIT: Patience = Patience::MayWait;

/// A directory and what a server would show of it.
pub(crate) struct Tree {
    root: PathBuf,
    view: Arc<dyn View>,
    /// Relative paths, sorted by their bytes.
    pub(crate) files: Vec<TreeFile>,
}

/// A file of the directory.
#[derive(Clone, Debug)]
pub(crate) struct TreeFile {
    pub(crate) path: Vec<u8>,
    pub(crate) identity: Identity,
}

impl Tree {
    /// Finds all files; `dotfiles`: also those that begin with a dot. What no server would show either is passed over,
    /// with a note.
    pub(crate) fn walk(
        root: &Path,
        symlinks: Symlinks,
        dotfiles: bool,
        listener: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let open = || DirectorySource::open(root, symlinks, Duration::ZERO)?.view(WAIT);
        let view = open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Misused(format!(
                "{root:?} does not exist: build the site first, or correct the path"
            )),
            io::ErrorKind::NotADirectory => Error::Misused(format!(
                "{root:?} is no directory: give that of the built site"
            )),
            _ => Error::at(root)(error),
        })?;
        let mut tree = Tree {
            root: root.to_owned(),
            view,
            files: Vec::new(),
        };
        let top = tree.view.stat(b"", WAIT).map_err(Error::at(root))?;
        tree.walk_into(b"", &mut vec![top], dotfiles, listener)?;
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        if tree.files.is_empty() {
            return Err(Error::Misused(format!(
                "{root:?} holds no files: build the site first, or correct the path"
            )));
        }
        Ok(tree)
    }

    /// `above` are the directories that lead to this one, and this one.
    fn walk_into(
        &mut self,
        directory: &[u8],
        above: &mut Vec<Metadata>,
        dotfiles: bool,
        listener: &mut Listener<'_>,
    ) -> Result<(), Error> {
        let names = self.view.list(directory);
        let mut names = names.map_err(Error::at(&self.within(directory)))?;
        names.sort();
        for name in names {
            let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
            let path = [directory, slash, &name].concat();
            if is_hidden(&path) && !dotfiles {
                continue;
            }
            let mut pass_over = |why: &str| {
                let note = format!("{:?}: passed over, {why}", self.within(&path));
                listener(Event::Note(&note));
            };
            let metadata = match self.view.stat(&path, WAIT) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    pass_over("it is a link that leads nowhere, or outside of the directory");
                    continue;
                }
                metadata => metadata.map_err(Error::at(&self.within(&path)))?,
            };
            match metadata.kind {
                Kind::File if path.len() > LONGEST_PATH || self.files.len() == MOST_FILES => {
                    return Err(Error::Misused(format!(
                        "{:?}: a release has at most {MOST_FILES} files, of paths of {LONGEST_PATH} bytes: leave some out",
                        self.within(&path)
                    )));
                }
                Kind::File => self.files.push(TreeFile {
                    path,
                    identity: metadata.identity,
                }),
                Kind::Directory if is_among(&metadata, above) => {
                    return Err(Error::Misused(format!(
                        "{:?}: this link leads back to a directory that it lies in: remove it",
                        self.within(&path)
                    )));
                }
                Kind::Directory => {
                    above.push(metadata);
                    self.walk_into(&path, above, dotfiles, listener)?;
                    above.pop();
                }
                Kind::Other => pass_over("it is neither a file nor a directory"),
            }
        }
        Ok(())
    }

    /// What `read` makes of the content of a file, which must not change meanwhile.
    pub(crate) fn read<T>(
        &self,
        file: &TreeFile,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, Error> {
        self.read_from(file, 0, read)
    }

    /// The same from an offset on.
    pub(crate) fn read_from<T>(
        &self,
        file: &TreeFile,
        offset: u64,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, Error> {
        let path = self.within(&file.path);
        let opened = self.view.open(&file.path, WAIT);
        let opened = opened.map_err(Error::at(&path))?;
        let mut reader = OpenedReader { opened, offset };
        let value = read(&mut reader).map_err(Error::at(&path))?;
        let now = reader.opened.reader.metadata().map_err(Error::at(&path))?;
        let is_same = reader.opened.metadata.identity == file.identity
            && now.is_none_or(|now| now.identity == file.identity);
        match is_same {
            true => Ok(value),
            false => Err(self.changed(file)),
        }
    }

    /// The error of a file that has another content than it had when it was read first.
    pub(crate) fn changed(&self, file: &TreeFile) -> Error {
        Error::Misused(format!(
            "{:?} was changed while it was read: deploy again when the build has ended",
            self.within(&file.path)
        ))
    }

    pub(crate) fn within(&self, path: &[u8]) -> PathBuf {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            self.root.join(std::ffi::OsStr::from_bytes(path))
        }
        #[cfg(not(unix))]
        self.root.join(String::from_utf8_lossy(path).as_ref())
    }
}

/// The bytes of an opened file, one after the other.
struct OpenedReader {
    opened: Opened,
    offset: u64,
}

impl Read for OpenedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.opened.reader.read_at(buffer, self.offset, WAIT)?;
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}

fn is_among(directory: &Metadata, above: &[Metadata]) -> bool {
    let mut above = above.iter();
    above.any(|known| known.identity.is_same_file(&directory.identity))
}
