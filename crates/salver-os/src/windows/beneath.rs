//! Opening files by relative paths on Windows, confined to one directory.
//!
//! Every component is opened relative to the handle of the directory before it, and no open follows a link by itself, so
//! that whatever is swapped meanwhile can only make the walk fail. A file has one name here: the one that its directory
//! lists, in that case and in full.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_STOPPED_ON_SYMLINK;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_TRAVERSE,
};

use super::calls::{self, Purpose};
use super::name;
use super::reparse_point::{Target, target};
use crate::opening::{OpenedFile, Resolver, Symlinks};
use crate::{Kind, Metadata, Patience};

/// The most links that a walk follows.
const MAX_LINKS: usize = 40;

/// An open directory beneath which files are opened.
#[derive(Debug)]
pub struct Directory {
    handle: File,
    symlinks: Symlinks,
}

/// The end of a walk.
enum WalkEnd {
    Directory(File),
    Entry {
        /// The directory that has it; `None` for the root.
        parent: Option<File>,
        name: Vec<u16>,
        follow: bool,
    },
}

impl Directory {
    /// Opens the directory at `path`, following links on the way to it. There is one resolver here.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied` and what else the system gives; `WouldBlock` if it must not wait.
    pub fn open(
        path: &Path,
        symlinks: Symlinks,
        _: Resolver,
        patience: Patience,
    ) -> io::Result<Self> {
        refuse_to_wait(patience)?;
        let handle = OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        match Metadata::of(&handle)?.kind {
            Kind::Directory => Ok(Directory { handle, symlinks }),
            Kind::File | Kind::Other => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Volume and number of the directory itself.
    ///
    /// # Errors
    /// What the system gives.
    pub fn metadata(&self) -> io::Result<Metadata> {
        Metadata::of(&self.handle)
    }

    /// The metadata of what `path` names.
    ///
    /// `path` is relative and free of dot segments; empty names the directory itself.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`; what [`escapes`](Self::escapes) says of a link that may not be
    /// followed; `WouldBlock` if it must not wait.
    pub fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        refuse_to_wait(patience)?;
        match self.walk(path)? {
            WalkEnd::Directory(handle) => Metadata::of(handle),
            WalkEnd::Entry {
                parent,
                name,
                follow,
            } => {
                let parent = parent.as_ref().unwrap_or(&self.handle);
                let handle = calls::open(parent, &name, Purpose::Attributes, follow)?;
                plain(Metadata::with_reparse_point(&handle)?)
            }
        }
    }

    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// As [`stat`](Self::stat); `InvalidInput` if it is no regular file.
    pub fn open_file(&self, path: &[u8], patience: Patience) -> io::Result<OpenedFile> {
        refuse_to_wait(patience)?;
        let WalkEnd::Entry {
            parent,
            name,
            follow,
        } = self.walk(path)?
        else {
            return Err(not_a_file());
        };
        let parent = parent.as_ref().unwrap_or(&self.handle);
        let file = calls::open(parent, &name, Purpose::Content, follow)?;
        let metadata = plain(Metadata::with_reparse_point(&file)?)?;
        if metadata.kind != Kind::File {
            return Err(not_a_file());
        }
        Ok(OpenedFile {
            file,
            metadata,
            // The system does not say what is in memory.
            local: false,
        })
    }

    /// The names in the directory at `path`, without `.` and `..`, in no order. Those that nobody can ask for are left
    /// out. May wait.
    ///
    /// # Errors
    /// As [`stat`](Self::stat).
    pub fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path, usize::MAX)
    }

    /// The same, but no more than `most` of them; the rest is not read.
    ///
    /// # Errors
    /// As [`stat`](Self::stat).
    pub fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        let WalkEnd::Directory(directory) = self.walk(path)? else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let mut names = Vec::new();
        calls::list(&directory, |entry| {
            if names.len() == most {
                return false;
            }
            names.extend(name::entry(&entry.name));
            true
        })?;
        Ok(names)
    }

    /// True if `error` says that a link led where it may not.
    pub fn escapes(error: &io::Error) -> bool {
        error.raw_os_error() == escaped().raw_os_error()
    }

    fn walk(&self, path: &[u8]) -> io::Result<WalkEnd> {
        // Invariant: `stack` holds the directories from beneath the root to here; empty is the root.
        let mut stack: Vec<File> = Vec::new();
        let mut links = 0;
        let mut rest: VecDeque<Vec<u8>> = path
            .split(|&byte| byte == b'/')
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        while let Some(text) = rest.pop_front() {
            if text == b".." {
                if stack.pop().is_none() {
                    return Err(escaped());
                }
                continue;
            }
            let name = name::component(&text).ok_or(io::ErrorKind::NotFound)?;
            let here = stack.last().unwrap_or(&self.handle);
            let entry = calls::find(here, &name)?;
            if entry.name != name {
                // Another case, or a short name.
                return Err(io::ErrorKind::NotFound.into());
            }
            let follow = entry.is_reparse_point() && self.symlinks == Symlinks::Any;
            if entry.is_reparse_point() && !follow {
                links += 1;
                if self.symlinks == Symlinks::None || links > MAX_LINKS {
                    return Err(escaped());
                }
                let link = calls::open(here, &name, Purpose::Attributes, false)?;
                let read = calls::reparse_point(&link).map_err(|_| escaped())?;
                let Target::Relative(parts) = target(&read) else {
                    return Err(escaped());
                };
                for part in parts.into_iter().rev() {
                    rest.push_front(part.into_bytes());
                }
            } else if entry.is_directory() {
                let next = calls::open(here, &name, Purpose::Directory, follow)?;
                if !follow {
                    plain(Metadata::with_reparse_point(&next)?)?;
                }
                stack.push(next);
            } else if rest.is_empty() {
                return Ok(WalkEnd::Entry {
                    parent: stack.pop(),
                    name,
                    follow,
                });
            } else {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        match stack.pop() {
            Some(handle) => Ok(WalkEnd::Directory(handle)),
            None => Ok(WalkEnd::Directory(self.handle.try_clone()?)),
        }
    }
}

/// The metadata, unless a link was swapped in between look and open: it was opened itself then.
fn plain((metadata, is_reparse_point): (Metadata, bool)) -> io::Result<Metadata> {
    match is_reparse_point {
        true => Err(escaped()),
        false => Ok(metadata),
    }
}

fn escaped() -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(ERROR_STOPPED_ON_SYMLINK).unwrap_or(i32::MAX))
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn refuse_to_wait(patience: Patience) -> io::Result<()> {
    match patience {
        Patience::MayWait => Ok(()),
        Patience::MustNotWait => Err(io::ErrorKind::WouldBlock.into()),
    }
}

#[cfg(test)]
mod tests;
