//! Opening files by relative paths, confined to one directory by the open itself.
//!
//! On Linux the kernel confines the walk (`openat2(2)` with `RESOLVE_BENEATH`), so that nothing
//! which is swapped meanwhile can lead outside. Where the kernel lacks it, or a sandbox forbids
//! it, the same rules are kept by walking component by component with `O_NOFOLLOW`.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_int;

#[cfg(target_os = "linux")]
use crate::file_calls::open_resolved;
use crate::file_calls::{At, each_name, error, is, open_at, read_link_at, stat_at};
use crate::locality::is_local;
use crate::opening::{OpenedFile, Resolver, Symlinks};
use crate::{Kind, Metadata, Patience};

/// An open directory beneath which files are opened.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    symlinks: Symlinks,
    resolver: Resolver,
    /// True if its file system needs nobody outside of this machine; if not, every call waits.
    local: bool,
}

/// A handle that names a directory without the right to list it, where the system has such.
#[cfg(target_os = "linux")]
const TRAVERSE: c_int = libc::O_PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE: c_int = libc::O_RDONLY;

/// `O_NONBLOCK`: a FIFO that is swapped in after the check is opened without a writer.
const READ: c_int = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;

/// The most links that a walk follows, as many as Linux does (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// `openat2` reports a rename that raced with the walk as EAGAIN (`openat2(2)`); such races end.
#[cfg(target_os = "linux")]
const RACE_RETRIES: usize = 16;

#[cfg(target_os = "linux")]
static OPENAT2: Openat2 = Openat2 {
    lacks: AtomicBool::new(false),
};

/// The availability of `openat2` to this process.
#[cfg(target_os = "linux")]
struct Openat2 {
    lacks: AtomicBool,
}

#[cfg(target_os = "linux")]
impl Openat2 {
    fn is_known_to_lack(&self) -> bool {
        self.lacks.load(Ordering::Relaxed)
    }

    /// True if `error`, of an `openat2`, says that there is none. ENOSYS does: older than Linux 5.6. EPERM
    /// may: a sandbox that does not know the call; or somebody denies this one file (a scanner that listens
    /// to `fanotify(7)`, a FUSE file system), which says nothing of others, and one such file must not have
    /// all of them walked to for as long as the process lives: a walk may always wait. So then the call is
    /// asked about what needs no permission: `probe` returns what that gave.
    fn lacks(&self, error: &io::Error, probe: impl FnOnce() -> Option<io::Error>) -> bool {
        let lacks = is(error, libc::ENOSYS)
            || is(error, libc::EPERM)
                && probe().is_some_and(|why| is(&why, libc::EPERM) || is(&why, libc::ENOSYS));
        if lacks {
            self.lacks.store(true, Ordering::Relaxed);
        }
        lacks
    }
}

impl Directory {
    /// Opens the directory at `path`, following symbolic links on the way to it.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied` and what else `open(2)` gives;
    /// `WouldBlock` if it would have to wait and must not.
    pub fn open(
        path: &Path,
        symlinks: Symlinks,
        resolver: Resolver,
        patience: Patience,
    ) -> io::Result<Self> {
        let flags = TRAVERSE | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let handle = unconfined(
            None,
            path.as_os_str().as_bytes(),
            flags,
            resolver,
            // A handle that only names a directory asks nobody, wherever it lies.
            MountCrossing::Any,
            patience,
        )?;
        let local = is_local(&handle, patience)?;
        Ok(Directory {
            handle,
            symlinks,
            resolver,
            local,
        })
    }

    /// Device and inode of the directory itself.
    ///
    /// # Errors
    /// What `fstat(2)` gives.
    pub fn metadata(&self) -> io::Result<Metadata> {
        Metadata::of(&self.handle)
    }

    /// The metadata of what `path` names. Nothing is opened for reading: a FIFO or a device notices nothing.
    ///
    /// `path` is relative and free of dot segments; empty names the directory itself.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`; ELOOP or EXDEV (see [`escapes`](Self::escapes))
    /// for a link that may not be followed; `WouldBlock` if it would have to wait and must not.
    pub fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.refuse_to_ask(patience)?;
        if self.walks() {
            refuse_to_wait(patience)?;
            return match self.walk(path)? {
                WalkEnd::Directory(handle) => Metadata::of(handle),
                WalkEnd::Entry { metadata, .. } => Ok(metadata),
            };
        }
        #[cfg(target_os = "linux")]
        {
            Metadata::of(self.open_at(path, libc::O_PATH | libc::O_CLOEXEC, patience)?)
        }
        #[cfg(not(target_os = "linux"))]
        {
            refuse_to_wait(patience)?;
            let stat = stat_at(Some(self.handle.as_fd()), or_dot(path), 0)?;
            Ok(Metadata::from_stat(&stat))
        }
    }

    /// Opens the regular file at `path` for reading.
    ///
    /// # Errors
    /// As [`stat`](Self::stat); `InvalidInput` if it is no regular file.
    pub fn open_file(&self, path: &[u8], patience: Patience) -> io::Result<OpenedFile> {
        self.refuse_to_ask(patience)?;
        let handle = self.open_at(path, READ, patience)?;
        let metadata = Metadata::of(&handle)?;
        if metadata.kind != Kind::File {
            return Err(not_a_file());
        }
        let local = match patience {
            // No mount was crossed.
            Patience::MustNotWait => self.local,
            Patience::MayWait => is_local(&handle, patience)?,
        };
        Ok(OpenedFile {
            file: File::from(handle),
            metadata,
            local,
        })
    }

    /// The names in the directory at `path`, without `.` and `..`, in no order. May wait.
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
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let handle = self.open_at(path, flags, Patience::MayWait)?;
        let mut names = Vec::new();
        each_name(handle, |name| {
            let goes_on = names.len() < most;
            if goes_on && name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            goes_on
        })?;
        Ok(names)
    }

    /// True if `error` says that a link led where it may not (EXDEV, ELOOP).
    pub fn escapes(error: &io::Error) -> bool {
        is(error, libc::EXDEV) || is(error, libc::ELOOP)
    }

    /// Refuses callers that must not wait where the file system is not local: a server may have to be asked.
    fn refuse_to_ask(&self, patience: Patience) -> io::Result<()> {
        if self.local {
            Ok(())
        } else {
            refuse_to_wait(patience)
        }
    }

    /// True if the kernel cannot confine a lookup here, or is not to: then the walk does.
    fn walks(&self) -> bool {
        #[cfg(target_os = "linux")]
        let lacks_openat2 = OPENAT2.is_known_to_lack();
        #[cfg(not(target_os = "linux"))]
        let lacks_openat2 = true;
        self.symlinks != Symlinks::Any && (self.resolver == Resolver::Walk || lacks_openat2)
    }

    fn open_at(&self, path: &[u8], flags: c_int, patience: Patience) -> io::Result<OwnedFd> {
        let (root, resolver) = (self.handle.as_fd(), self.resolver);
        if self.symlinks == Symlinks::Any {
            return unconfined(
                Some(root),
                path,
                flags,
                resolver,
                MountCrossing::One,
                patience,
            );
        }
        #[cfg(target_os = "linux")]
        if !self.walks() {
            let links = match self.symlinks {
                Symlinks::None => libc::RESOLVE_NO_SYMLINKS,
                Symlinks::Beneath | Symlinks::Any => libc::RESOLVE_NO_MAGICLINKS,
            };
            let confinement = libc::RESOLVE_BENEATH | links;
            match resolve(
                Some(root),
                path,
                flags,
                confinement,
                MountCrossing::One,
                patience,
            ) {
                Err(error) if lacks_openat2(&error) => {}
                result => return result,
            }
        }
        refuse_to_wait(patience)?;
        let (parent, name) = match self.walk(path)? {
            // Opening a device may have effects.
            WalkEnd::Entry { metadata, .. } if flags == READ && metadata.kind != Kind::File => {
                return Err(not_a_file());
            }
            WalkEnd::Directory(_) if flags == READ => return Err(not_a_file()),
            WalkEnd::Directory(handle) => (Some(handle), b".".to_vec()),
            WalkEnd::Entry { parent, name, .. } => (parent, name),
        };
        let parent = parent.as_ref().map_or(root, AsFd::as_fd);
        open_at(Some(parent), &name, flags | libc::O_NOFOLLOW)
    }

    /// Follows `path` one component at a time; no step follows a link by itself, so whatever is
    /// swapped meanwhile can only make the walk fail.
    fn walk(&self, path: &[u8]) -> io::Result<WalkEnd> {
        // Invariant: `stack` holds the directories from beneath the root to here; empty is the root.
        let mut stack: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        let mut rest: VecDeque<Vec<u8>> = components(path).collect();
        while let Some(name) = rest.pop_front() {
            if name == b".." {
                if stack.pop().is_none() {
                    return Err(error(libc::EXDEV));
                }
                continue;
            }
            let here = Some(stack.last().map_or(self.handle.as_fd(), AsFd::as_fd));
            let stat = stat_at(here, &name, libc::AT_SYMLINK_NOFOLLOW)?;
            match stat.st_mode & libc::S_IFMT {
                libc::S_IFLNK => {
                    links += 1;
                    if self.symlinks == Symlinks::None || links > MAX_LINKS {
                        return Err(error(libc::ELOOP));
                    }
                    let target = read_link_at(here, &name)?;
                    if target.starts_with(b"/") {
                        return Err(error(libc::EXDEV));
                    }
                    for component in components(&target).rev() {
                        rest.push_front(component);
                    }
                }
                libc::S_IFDIR => {
                    let flags = TRAVERSE | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
                    let next = open_at(here, &name, flags)?;
                    stack.push(next);
                }
                _ if rest.is_empty() => {
                    let metadata = Metadata::from_stat(&stat);
                    return Ok(WalkEnd::Entry {
                        parent: stack.pop(),
                        name,
                        metadata,
                    });
                }
                _ => return Err(error(libc::ENOTDIR)),
            }
        }
        match stack.pop() {
            Some(handle) => Ok(WalkEnd::Directory(handle)),
            None => Ok(WalkEnd::Directory(self.handle.try_clone()?)),
        }
    }
}

/// The mounts that a lookup may cross: one that must not wait crosses none, for beyond a server may have to
/// be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MountCrossing {
    One,
    Any,
}

/// The end of a walk.
enum WalkEnd {
    Directory(OwnedFd),
    /// Neither a directory nor a link; `parent` is `None` for the root.
    Entry {
        parent: Option<OwnedFd>,
        name: Vec<u8>,
        metadata: Metadata,
    },
}

fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .map(<[u8]>::to_vec)
}

fn or_dot(path: &[u8]) -> &[u8] {
    if path.is_empty() { b"." } else { path }
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn refuse_to_wait(patience: Patience) -> io::Result<()> {
    match patience {
        Patience::MayWait => Ok(()),
        Patience::MustNotWait => Err(error(libc::EAGAIN)),
    }
}

/// Opens without confinement: the way to a root, and everything under [`Symlinks::Any`].
fn unconfined(
    at: At<'_>,
    path: &[u8],
    flags: c_int,
    resolver: Resolver,
    mounts: MountCrossing,
    patience: Patience,
) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if patience == Patience::MustNotWait
        && resolver == Resolver::Kernel
        && !OPENAT2.is_known_to_lack()
    {
        let anywhere = 0;
        match resolve(at, path, flags, anywhere, mounts, patience) {
            Err(error) if lacks_openat2(&error) => {}
            result => return result,
        }
    }
    let _ = (resolver, mounts);
    refuse_to_wait(patience)?;
    open_at(at, or_dot(path), flags)
}

#[cfg(target_os = "linux")]
fn resolve(
    at: At<'_>,
    path: &[u8],
    flags: c_int,
    confinement: u64,
    mounts: MountCrossing,
    patience: Patience,
) -> io::Result<OwnedFd> {
    if patience == Patience::MustNotWait {
        let mut resolve = confinement | libc::RESOLVE_CACHED;
        if mounts == MountCrossing::One {
            resolve |= libc::RESOLVE_NO_XDEV;
        }
        return match open_resolved(at, or_dot(path), flags, resolve) {
            // A mount point or a link that leads outside: whoever may wait finds out which.
            Err(why) if is(&why, libc::EXDEV) => Err(error(libc::EAGAIN)),
            result => result,
        };
    }
    let mut left = RACE_RETRIES;
    loop {
        match open_resolved(at, or_dot(path), flags, confinement) {
            Err(why) if left > 0 && (is(&why, libc::EAGAIN) || is(&why, libc::EINTR)) => left -= 1,
            result => return result,
        }
    }
}

#[cfg(target_os = "linux")]
fn lacks_openat2(error: &io::Error) -> bool {
    OPENAT2.lacks(error, || {
        let flags = libc::O_PATH | libc::O_CLOEXEC;
        // From the caches alone: any other answer than these two comes from the call.
        open_resolved(None, b"/", flags, libc::RESOLVE_CACHED).err()
    })
}

#[cfg(test)]
mod tests;
