//! The file with the number of the process, and beside it what came of the last reload or upgrade.
//!
//! Both stay open: when the process has become another user it can still write them.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The longest reason that is written, in bytes.
const LONGEST: usize = 4096;

/// The state of a server's reloads, as its status file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// So many reloads and upgrades have ended, the last one well or not, with this to say.
    Ended {
        /// The number.
        number: u64,
        /// True if it went well.
        is_well: bool,
        /// What there is to say.
        text: String,
    },
    /// This one is under way.
    UnderWay(u64),
}

/// The two files of a process.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    pid: File,
    status: File,
    /// The number of the last reload or upgrade.
    number: u64,
}

/// The path of the status file that belongs to a file with the number of a process.
pub(crate) fn status_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".status");
    name.into()
}

impl PidFile {
    /// Opens both files and writes nothing yet: another process may still be the one. With `owner` they are that
    /// user's and group's from now on.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn open(path: &Path, owner: Option<(u32, u32)>) -> Result<Self, Failure> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let open = |path: &Path| {
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(false).mode(0o644);
            let file = options.open(path)?;
            if let Some((user, group)) = owner {
                fchown(&file, Some(user), Some(group))?;
            }
            Ok(file)
        };
        let failed = |path: &Path, error: io::Error| {
            Failure::Failed(format!(
                "{path:?} cannot be written: {error}; give another --pid-file"
            ))
        };
        let status = status_path(&path);
        let pid = open(&path).map_err(|error| failed(&path, error))?;
        let number = match read(&status) {
            Ok(Status::Ended { number, .. } | Status::UnderWay(number)) => number,
            Err(_) => 0,
        };
        Ok(PidFile {
            pid,
            status: open(&status).map_err(|error| failed(&status, error))?,
            number,
            path,
        })
    }

    /// Notes that this process is the one.
    pub(crate) fn take(&mut self) {
        let text = format!("{}\n", std::process::id());
        write(&mut self.pid, &text, &self.path);
    }

    /// Notes that a reload or an upgrade is under way.
    pub(crate) fn begin(&mut self) {
        self.number = self.number.saturating_add(1);
        let text = format!("{} under way\n", self.number);
        write(&mut self.status, &text, &status_path(&self.path));
    }

    /// Notes what came of it.
    pub(crate) fn end(&mut self, result: &Result<String, String>) {
        let (word, text) = match result {
            Ok(text) => ("done", text),
            Err(text) => ("failed", text),
        };
        let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let shown: String = shown.take(LONGEST).collect();
        let text = format!("{} {word} {shown}\n", self.number);
        write(&mut self.status, &text, &status_path(&self.path));
    }

    /// Removes both, or leaves them empty where the process may not.
    pub(crate) fn remove(self) {
        for (path, file) in [
            (status_path(&self.path), self.status),
            (self.path, self.pid),
        ] {
            if fs::remove_file(path).is_err() {
                let _ = file.set_len(0);
            }
        }
    }
}

/// Writes a file anew, with one write, so that nobody reads half of it.
fn write(file: &mut File, text: &str, path: &Path) {
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let written = file
        .rewind()
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.set_len(length));
    if let Err(error) = written {
        tracing::warn!("{path:?} cannot be written: {error}");
    }
}

/// Reads a status file.
///
/// # Errors
/// It is not there or says nothing.
pub(crate) fn read(path: &Path) -> io::Result<Status> {
    let text = fs::read_to_string(path)?;
    parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it says nothing"))
}

/// What a status file says; a line that is longer than what was written last ends where that does.
fn parse(text: &str) -> Option<Status> {
    let (line, _) = text.split_once('\n')?;
    let (number, rest) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    let (word, text) = rest.split_once(' ')?;
    match (word, text) {
        ("under", "way") => Some(Status::UnderWay(number)),
        ("done" | "failed", text) => Some(Status::Ended {
            number,
            is_well: word == "done",
            text: text.to_owned(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("salver.pid");
        let mut file = PidFile::open(&path, None).unwrap();
        let status = || read(&status_path(&path));
        assert!(status().is_err());
        file.take();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        file.begin();
        assert_eq!(status().unwrap(), Status::UnderWay(1));
        file.end(&Err("a long\nreason".to_owned()));
        let ended = |number, is_well, text: &str| Status::Ended {
            number,
            is_well,
            text: text.to_owned(),
        };
        assert_eq!(status().unwrap(), ended(1, false, "a long reason"));
        file.begin();
        file.end(&Ok("ok".to_owned()));
        assert_eq!(status().unwrap(), ended(2, true, "ok"));
        // A process that takes over counts on.
        let mut next = PidFile::open(&path, None).unwrap();
        next.begin();
        assert_eq!(status().unwrap(), Status::UnderWay(3));
        next.remove();
        assert!(!path.exists() && status().is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_is_said() {
        let line = PidFile::open(Path::new("/no/such/salver.pid"), None).unwrap_err();
        assert!(line.to_string().contains("/no/such/salver.pid"), "{line}");
    }

    #[test]
    fn nonsense_says_nothing() {
        for text in ["", "1", "1 done", "x done y\n", "1 odd y\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
