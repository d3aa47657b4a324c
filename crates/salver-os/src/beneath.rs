//! From a relative path to an open file, confined to one directory by the open itself.
//!
//! On Linux the kernel confines the walk (`openat2(2)` with `RESOLVE_BENEATH`), so that nothing
//! which is swapped meanwhile can lead outside. Where the kernel lacks it, or a sandbox forbids
//! it, the same rules are kept by walking component by component with `O_NOFOLLOW`.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{Kind, Metadata, Patience};

/// Which symbolic links a walk may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// None, wherever in the path.
    None,
    /// Those whose target, at every step, stays beneath the directory. Absolute targets do not.
    #[default]
    Beneath,
    /// All. The directory is then not a confinement.
    Any,
}

/// Who walks the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolver {
    /// The kernel where it can, else [`Resolver::Walk`].
    #[default]
    Kernel,
    /// Component by component in this process; cannot promise not to wait.
    Walk,
}

/// An open directory beneath which files are opened.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    symlinks: Symlinks,
    resolver: Resolver,
}

/// A handle that names a directory without the right to list it, where the system has such.
#[cfg(target_os = "linux")]
const TRAVERSE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE: OFlags = OFlags::RDONLY;

/// `O_NONBLOCK`: a FIFO that is swapped in after the check is opened without a writer.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// As many as Linux follows (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// `openat2` reports a rename that raced with the walk as EAGAIN (`openat2(2)`); such races end.
#[cfg(target_os = "linux")]
const RACE_RETRIES: usize = 16;

#[cfg(target_os = "linux")]
static KERNEL_LACKS_OPENAT2: AtomicBool = AtomicBool::new(false);

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
        let flags = TRAVERSE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = unconfined(
            rustix::fs::CWD,
            path.as_os_str().as_bytes(),
            flags,
            resolver,
            patience,
        )?;
        Ok(Directory {
            handle,
            symlinks,
            resolver,
        })
    }

    /// Device and inode of the directory itself.
    ///
    /// # Errors
    /// What `fstat(2)` gives.
    pub fn metadata(&self) -> io::Result<Metadata> {
        Metadata::of(&self.handle)
    }

    /// What `path` names. Nothing is opened for reading: a FIFO or a device notices nothing.
    ///
    /// `path` is relative and free of dot segments; empty names the directory itself.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`; ELOOP or EXDEV (see [`escapes`](Self::escapes))
    /// for a link that may not be followed; `WouldBlock` if it would have to wait and must not.
    pub fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        if self.walks() && self.symlinks != Symlinks::Any {
            refuse_to_wait(patience)?;
            return match self.walk(path)? {
                Place::Directory(handle) => Metadata::of(handle),
                Place::Entry { metadata, .. } => Ok(metadata),
            };
        }
        #[cfg(target_os = "linux")]
        {
            Metadata::of(self.open_at(path, OFlags::PATH | OFlags::CLOEXEC, patience)?)
        }
        #[cfg(not(target_os = "linux"))]
        {
            refuse_to_wait(patience)?;
            let stat = rustix::fs::statat(&self.handle, or_dot(path), AtFlags::empty())?;
            Ok(Metadata::from_stat(&stat))
        }
    }

    /// Opens the regular file at `path` for reading, with what `fstat` says of the open handle.
    ///
    /// # Errors
    /// As [`stat`](Self::stat); `InvalidInput` if it is no regular file.
    pub fn open_file(&self, path: &[u8], patience: Patience) -> io::Result<(File, Metadata)> {
        let handle = if self.walks() && self.symlinks != Symlinks::Any {
            refuse_to_wait(patience)?;
            match self.walk(path)? {
                Place::Directory(_) => return Err(not_a_file()),
                Place::Entry { metadata, .. } if metadata.kind != Kind::File => {
                    return Err(not_a_file());
                }
                Place::Entry { parent, name, .. } => rustix::fs::openat(
                    parent.as_ref().map_or(self.handle.as_fd(), AsFd::as_fd),
                    OsStr::from_bytes(&name),
                    READ | OFlags::NOFOLLOW,
                    Mode::empty(),
                )?,
            }
        } else {
            self.open_at(path, READ, patience)?
        };
        let metadata = Metadata::of(&handle)?;
        if metadata.kind != Kind::File {
            return Err(not_a_file());
        }
        Ok((File::from(handle), metadata))
    }

    /// The names in the directory at `path`, without `.` and `..`, in no order. May wait.
    ///
    /// # Errors
    /// As [`stat`](Self::stat).
    pub fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = if self.walks() && self.symlinks != Symlinks::Any {
            match self.walk(path)? {
                Place::Entry { .. } => return Err(Errno::NOTDIR.into()),
                Place::Directory(handle) => rustix::fs::openat(&handle, ".", flags, Mode::empty())?,
            }
        } else {
            self.open_at(path, flags, Patience::MayWait)?
        };
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    /// Whether `error` says that a link led where it may not (EXDEV, ELOOP).
    pub fn escapes(error: &io::Error) -> bool {
        let code = error.raw_os_error();
        code == Some(Errno::XDEV.raw_os_error()) || code == Some(Errno::LOOP.raw_os_error())
    }

    fn walks(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            self.resolver == Resolver::Walk || KERNEL_LACKS_OPENAT2.load(Ordering::Relaxed)
        }
        #[cfg(not(target_os = "linux"))]
        {
            true
        }
    }

    #[cfg(target_os = "linux")]
    fn open_at(&self, path: &[u8], flags: OFlags, patience: Patience) -> io::Result<OwnedFd> {
        use rustix::fs::ResolveFlags;
        let confinement = match self.symlinks {
            Symlinks::None => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            Symlinks::Beneath => ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
            Symlinks::Any => {
                return unconfined(self.handle.as_fd(), path, flags, self.resolver, patience);
            }
        };
        match resolve(self.handle.as_fd(), path, flags, confinement, patience) {
            Err(error) if lacks_openat2(&error) => {
                KERNEL_LACKS_OPENAT2.store(true, Ordering::Relaxed);
                refuse_to_wait(patience)?;
                match self.walk(path)? {
                    Place::Directory(handle) => {
                        Ok(rustix::fs::openat(&handle, ".", flags, Mode::empty())?)
                    }
                    Place::Entry { parent, name, .. } => Ok(rustix::fs::openat(
                        parent.as_ref().map_or(self.handle.as_fd(), AsFd::as_fd),
                        OsStr::from_bytes(&name),
                        flags | OFlags::NOFOLLOW,
                        Mode::empty(),
                    )?),
                }
            }
            result => result,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_at(&self, path: &[u8], flags: OFlags, patience: Patience) -> io::Result<OwnedFd> {
        unconfined(self.handle.as_fd(), path, flags, self.resolver, patience)
    }

    /// Follows `path` one component at a time; no step follows a link by itself, so whatever is
    /// swapped meanwhile can only make the walk fail.
    fn walk(&self, path: &[u8]) -> io::Result<Place> {
        // Invariant: `stack` holds the directories from beneath the root to here; empty is the root.
        let mut stack: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        let mut rest: VecDeque<Vec<u8>> = components(path).collect();
        while let Some(name) = rest.pop_front() {
            if name == b".." {
                if stack.pop().is_none() {
                    return Err(Errno::XDEV.into());
                }
                continue;
            }
            let here = stack.last().map_or(self.handle.as_fd(), AsFd::as_fd);
            let stat =
                rustix::fs::statat(here, OsStr::from_bytes(&name), AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if self.symlinks == Symlinks::None || links > MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target =
                        rustix::fs::readlinkat(here, OsStr::from_bytes(&name), Vec::new())?;
                    let target = target.as_bytes();
                    if target.starts_with(b"/") {
                        return Err(Errno::XDEV.into());
                    }
                    for component in components(target).rev() {
                        rest.push_front(component);
                    }
                }
                FileType::Directory => {
                    let flags = TRAVERSE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let next =
                        rustix::fs::openat(here, OsStr::from_bytes(&name), flags, Mode::empty())?;
                    stack.push(next);
                }
                _ if rest.is_empty() => {
                    let metadata = Metadata::from_stat(&stat);
                    return Ok(Place::Entry {
                        parent: stack.pop(),
                        name,
                        metadata,
                    });
                }
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        match stack.pop() {
            Some(handle) => Ok(Place::Directory(handle)),
            None => Ok(Place::Directory(self.handle.try_clone()?)),
        }
    }
}

/// Where a walk ended.
enum Place {
    Directory(OwnedFd),
    /// No directory and no link; `parent` is `None` for the root.
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

fn or_dot(path: &[u8]) -> &OsStr {
    OsStr::from_bytes(if path.is_empty() { b"." } else { path })
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn refuse_to_wait(patience: Patience) -> io::Result<()> {
    match patience {
        Patience::MayWait => Ok(()),
        Patience::MustNotWait => Err(Errno::AGAIN.into()),
    }
}

/// Opens without confinement: the way to a root, and everything under [`Symlinks::Any`].
fn unconfined(
    at: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    resolver: Resolver,
    patience: Patience,
) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if patience == Patience::MustNotWait
        && resolver == Resolver::Kernel
        && !KERNEL_LACKS_OPENAT2.load(Ordering::Relaxed)
    {
        match resolve(at, path, flags, rustix::fs::ResolveFlags::empty(), patience) {
            Err(error) if lacks_openat2(&error) => {
                KERNEL_LACKS_OPENAT2.store(true, Ordering::Relaxed);
            }
            result => return result,
        }
    }
    let _ = resolver;
    refuse_to_wait(patience)?;
    Ok(rustix::fs::openat(at, or_dot(path), flags, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn resolve(
    at: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    confinement: rustix::fs::ResolveFlags,
    patience: Patience,
) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    if patience == Patience::MustNotWait {
        let cached = confinement | ResolveFlags::CACHED;
        return Ok(openat2(at, or_dot(path), flags, Mode::empty(), cached)?);
    }
    let mut left = RACE_RETRIES;
    loop {
        match openat2(at, or_dot(path), flags, Mode::empty(), confinement) {
            Err(Errno::AGAIN | Errno::INTR) if left > 0 => left -= 1,
            result => return Ok(result?),
        }
    }
}

/// ENOSYS: older than Linux 5.6. EPERM: a sandbox that does not know the call.
#[cfg(target_os = "linux")]
fn lacks_openat2(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(Errno::NOSYS.raw_os_error()) || code == Some(Errno::PERM.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    struct Tree {
        temp: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let root = temp.path().join("root");
            std::fs::create_dir_all(root.join("sub/deep")).unwrap();
            std::fs::write(temp.path().join("secret"), "secret").unwrap();
            std::fs::write(root.join("a.txt"), "a").unwrap();
            std::fs::write(root.join("sub/b.txt"), "b").unwrap();
            symlink("a.txt", root.join("link")).unwrap();
            symlink("../a.txt", root.join("sub/up")).unwrap();
            symlink("../../secret", root.join("sub/out")).unwrap();
            symlink("../secret", root.join("escape")).unwrap();
            symlink(temp.path().join("secret"), root.join("absolute")).unwrap();
            symlink("sub", root.join("subdir")).unwrap();
            symlink("loop", root.join("loop")).unwrap();
            symlink("gone", root.join("dangling")).unwrap();
            Tree { temp }
        }

        fn directory(&self, symlinks: Symlinks, resolver: Resolver) -> Directory {
            let root = self.temp.path().join("root");
            Directory::open(&root, symlinks, resolver, Patience::MayWait).unwrap()
        }
    }

    /// What opening gives: the content, or a word for the error.
    fn read(directory: &Directory, path: &str) -> String {
        match directory.open_file(path.as_bytes(), Patience::MayWait) {
            Ok((mut file, metadata)) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert_eq!(metadata.identity.length, text.len() as u64);
                let seen = directory.stat(path.as_bytes(), Patience::MayWait).unwrap();
                assert_eq!(seen, metadata, "{path}");
                text
            }
            Err(error) if Directory::escapes(&error) => "escapes".into(),
            Err(error) => format!("{:?}", error.kind()),
        }
    }

    #[test]
    fn opens_stay_beneath_whoever_walks() {
        let tree = Tree::new();
        let check = |symlinks, path: &str, expected: &str| {
            for resolver in [Resolver::Kernel, Resolver::Walk] {
                let directory = tree.directory(symlinks, resolver);
                assert_eq!(
                    read(&directory, path),
                    expected,
                    "{path} {symlinks:?} {resolver:?}"
                );
            }
        };
        for symlinks in [Symlinks::None, Symlinks::Beneath, Symlinks::Any] {
            check(symlinks, "a.txt", "a");
            check(symlinks, "sub/b.txt", "b");
            check(symlinks, "nothing", "NotFound");
            check(symlinks, "sub/nothing", "NotFound");
            check(symlinks, "a.txt/b", "NotADirectory");
            check(symlinks, "sub", "InvalidInput");
            check(symlinks, "", "InvalidInput");
            check(symlinks, "loop", "escapes");
        }
        for path in ["link", "sub/up", "subdir/b.txt"] {
            check(Symlinks::None, path, "escapes");
            check(
                Symlinks::Beneath,
                path,
                if path == "subdir/b.txt" { "b" } else { "a" },
            );
        }
        for path in ["sub/out", "escape", "absolute"] {
            check(Symlinks::None, path, "escapes");
            check(Symlinks::Beneath, path, "escapes");
            check(Symlinks::Any, path, "secret");
        }
        check(Symlinks::Beneath, "subdir/up", "a");
        check(Symlinks::Beneath, "dangling", "NotFound");
        check(Symlinks::Beneath, "../secret", "escapes");
    }

    #[test]
    fn a_fifo_neither_blocks_nor_opens() {
        let tree = Tree::new();
        let fifo = tree.temp.path().join("root/fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let directory = tree.directory(Symlinks::Beneath, resolver);
            assert_eq!(read(&directory, "fifo"), "InvalidInput");
            let metadata = directory.stat(b"fifo", Patience::MayWait).unwrap();
            assert_eq!(metadata.kind, Kind::Other);
        }
    }

    #[test]
    fn what_must_not_wait_is_answered_or_put_off() {
        let tree = Tree::new();
        let walk = tree.directory(Symlinks::Beneath, Resolver::Walk);
        let error = walk.stat(b"a.txt", Patience::MustNotWait).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let kernel = tree.directory(Symlinks::Beneath, Resolver::Kernel);
        kernel.stat(b"a.txt", Patience::MayWait).unwrap();
        match kernel.stat(b"a.txt", Patience::MustNotWait) {
            Ok(metadata) => assert_eq!(metadata.identity.length, 1),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }

    #[test]
    fn a_directory_lists_its_names() {
        let tree = Tree::new();
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let directory = tree.directory(Symlinks::Beneath, resolver);
            let mut names = directory.list(b"sub").unwrap();
            names.sort();
            assert_eq!(names, [&b"b.txt"[..], b"deep", b"out", b"up"]);
            assert!(directory.list(b"").unwrap().contains(&b"a.txt".to_vec()));
            assert!(directory.list(b"a.txt").is_err());
        }
    }
}
