//! A directory of the file system as a [`Source`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_os::{Directory, Resolver, Symlinks};

use crate::source::directory_log::DirectoryLog;
use crate::source::{Metadata, Opened, Patience, Reader, Source, View, is_clean};
use crate::sync::Lock;

/// A [`Source`] of all files beneath one directory, and nothing outside of it.
///
/// The directory's path is resolved anew from time to time: if it is a symbolic link that now
/// leads elsewhere, the new tree is served.
#[derive(Debug)]
pub struct DirectorySource {
    path: PathBuf,
    symlinks: Symlinks,
    resolver: Resolver,
    reopen_after: Duration,
    current: Lock<(Arc<DirectoryView>, Instant)>,
    log: Arc<DirectoryLog>,
}

/// The time for which a resolution of the root serves further looks.
const RESOLVED_FOR: Duration = Duration::from_millis(10);

#[derive(Debug)]
struct DirectoryView(Directory, Arc<DirectoryLog>);

impl DirectorySource {
    /// Opens `path`. With `revalidate` zero every view resolves the path anew; else a resolution
    /// serves the looks of a moment, so that many at once do not cost as many.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory`, `PermissionDenied`.
    pub fn open(path: &Path, symlinks: Symlinks, revalidate: Duration) -> io::Result<Self> {
        Self::open_with(path, symlinks, revalidate, Resolver::Kernel)
    }

    /// Opens `path` as [`open`](Self::open) does, with a choice of resolver.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        path: &Path,
        symlinks: Symlinks,
        revalidate: Duration,
        resolver: Resolver,
    ) -> io::Result<Self> {
        // Absolute from here on: the working directory may change.
        let path = std::path::absolute(path)?;
        let directory = Directory::open(&path, symlinks, resolver, Patience::MayWait)?;
        let log = Arc::new(DirectoryLog::new(&path, symlinks));
        let view = Arc::new(DirectoryView(directory, Arc::clone(&log)));
        let current = Lock::new((view, Instant::now()));
        Ok(DirectorySource {
            path,
            symlinks,
            resolver,
            reopen_after: (revalidate / 4).min(RESOLVED_FOR),
            current,
            log,
        })
    }

    /// The same directory, whose log says each link that is refused, and not each once.
    pub(crate) fn with_log_of_each(self) -> Self {
        self.log.say_each();
        self
    }

    /// The path it was opened with, made absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Source for DirectorySource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let now = Instant::now();
        let (view, resolved) = self.current.hold().clone();
        if now.duration_since(resolved) < self.reopen_after {
            return Ok(view);
        }
        let directory = Directory::open(&self.path, self.symlinks, self.resolver, patience);
        self.log.looked(&directory);
        // A link that leads in circles leads to nothing.
        let directory = directory.map_err(|error| self.log.hide_escapes(b"", error))?;
        let view = Arc::new(DirectoryView(directory, Arc::clone(&self.log)));
        *self.current.hold() = (Arc::clone(&view), now);
        Ok(view)
    }
}

impl DirectoryView {
    /// What `look` gives for a path. One that is not [clean](is_clean) names nothing: the system would resolve dot
    /// segments, and take `a/` for a directory `a`.
    fn at<T>(&self, path: &[u8], look: impl FnOnce(&Directory) -> io::Result<T>) -> io::Result<T> {
        if !is_clean(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        look(&self.0).map_err(|error| self.1.hide_escapes(path, error))
    }
}

impl View for DirectoryView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.at(path, |directory| directory.stat(path, patience))
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let opened = self.at(path, |directory| directory.open_file(path, patience))?;
        Ok(Opened {
            metadata: opened.metadata,
            reader: Reader::File(Arc::new(opened.file)),
            local: opened.local,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.at(path, |directory| directory.list(path))
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        self.at(path, |directory| directory.names(path, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::conformance::{FILES, check, check_apart, check_changes};

    /// Two sources of the files that are wanted, each with its directory.
    fn sources(resolver: Resolver) -> [(DirectorySource, tempfile::TempDir); 2] {
        [(); 2].map(|()| {
            let temp = tempfile::tempdir().unwrap();
            for (path, content) in FILES {
                put(temp.path(), path, Some(content));
            }
            let (symlinks, revalidate) = (Symlinks::Beneath, Duration::ZERO);
            let source = DirectorySource::open_with(temp.path(), symlinks, revalidate, resolver);
            (source.unwrap(), temp)
        })
    }

    #[test]
    fn holds_to_what_every_source_must() {
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let [one, other] = sources(resolver);
            check(&one.0).unwrap();
            check_apart(&one.0, &other.0).unwrap();
        }
    }

    #[test]
    fn changes_as_every_source_must() {
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let [(source, temp), _] = sources(resolver);
            check_changes(&source, |path, content| put(temp.path(), path, content)).unwrap();
        }
    }

    /// Writes a file as a deployment does: complete from the start.
    fn put(root: &Path, path: &str, content: Option<&[u8]>) {
        let path = root.join(path);
        match content {
            Some(content) => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let new = root.join("new");
                std::fs::write(&new, content).unwrap();
                std::fs::rename(new, path).unwrap();
            }
            None => std::fs::remove_file(path).unwrap(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_root_that_is_a_link_is_followed_anew() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let link = temp.path().join("current");
        for release in ["one", "two"] {
            std::fs::create_dir(temp.path().join(release)).unwrap();
            std::fs::write(temp.path().join(release).join("v"), release).unwrap();
        }
        symlink("one", &link).unwrap();
        let source = DirectorySource::open(&link, Symlinks::Beneath, Duration::ZERO).unwrap();
        let read = |view: &Arc<dyn View>| {
            let opened = view.open(b"v", Patience::MayWait).unwrap();
            let mut buffer = [0; 3];
            opened
                .reader
                .read_at(&mut buffer, 0, Patience::MayWait)
                .unwrap();
            buffer
        };
        let before = source.view(Patience::MayWait).unwrap();
        symlink("two", temp.path().join("next")).unwrap();
        std::fs::rename(temp.path().join("next"), &link).unwrap();
        let after = source.view(Patience::MayWait).unwrap();
        assert_eq!(&read(&after), b"two");
        assert_eq!(&read(&before), b"one", "a view stays what it was");
    }
}
