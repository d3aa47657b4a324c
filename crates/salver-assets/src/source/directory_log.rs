//! The log lines of a directory: links that are refused, and that it has gone or is there again.
//!
//! To who asks both look as if there were nothing (404); who runs the server must learn why.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use salver_os::{Directory, Symlinks};

use crate::error::is_absence;
use crate::log::{LogThrottle, PATHS, quoted};

/// The log of one directory.
#[derive(Debug)]
pub(crate) struct DirectoryLog {
    path: PathBuf,
    symlinks: Symlinks,
    log: LogThrottle,
    began: Instant,
    /// True if the log says that the directory has gone, and not yet that it is there again.
    has_gone: AtomicBool,
}

impl DirectoryLog {
    pub(crate) fn new(path: &Path, symlinks: Symlinks) -> Self {
        DirectoryLog {
            path: path.to_owned(),
            symlinks,
            log: LogThrottle::default(),
            began: Instant::now(),
            has_gone: AtomicBool::new(false),
        }
    }

    /// Says each refusal from now on, and not each once.
    pub(crate) fn say_each(&self) {
        self.log.say_each();
    }

    /// An error for a link that may not be followed: as if nothing were there. The log says it once for each
    /// path. Strangers choose those, but only of links that are there.
    pub(crate) fn hide_escapes(&self, path: &[u8], error: io::Error) -> io::Error {
        if !Directory::escapes(&error) {
            return error;
        }
        let (log, now) = (&self.log, self.began.elapsed());
        if log.first(&log.refused, now, path) {
            let why = match self.symlinks {
                Symlinks::None => "a link on the way is not followed, as none is".to_owned(),
                _ => format!("a link on the way leads out of {:?}, or nowhere", self.path),
            };
            tracing::warn!(
                "{}: answering as if it were not there: {why}{}",
                quoted(path),
                self.log.limit(PATHS)
            );
        }
        io::ErrorKind::NotFound.into()
    }

    /// Notes the result of looking for the directory itself.
    pub(crate) fn looked<T>(&self, found: &io::Result<T>) {
        match found {
            Ok(_) => {
                if self.has_gone.swap(false, Ordering::Relaxed) {
                    tracing::warn!("{:?}: is back", self.path);
                }
            }
            Err(error) if is_absence(error) => {
                let is_news = !self.has_gone.load(Ordering::Relaxed);
                if is_news
                    && self.log.gone.permits(self.began.elapsed())
                    && !self.has_gone.swap(true, Ordering::Relaxed)
                {
                    tracing::warn!(
                        "{:?}: has gone ({error}): all beneath it is answered 404 until it \
                         returns",
                        self.path
                    );
                }
            }
            Err(_) => {}
        }
    }
}
