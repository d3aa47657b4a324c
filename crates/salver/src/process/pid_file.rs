//! The file with the number of the process, and beside it what came of the last reload or upgrade.
//!
//! Both stay open: when the process has become another user it can still write them.
//!
//! Their folder may be that user's, who then says what is in it, while root writes them and reads them. So neither is
//! opened through a link, none is given away that has another name elsewhere, and what a user's file says is believed of
//! that user's processes alone.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::failure::Failure;

/// No link is followed, and nothing is waited for at a FIFO.
const NO_LINK: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .bits()
    .cast_signed();

/// The longest text of a file with the number of a process, in bytes.
const LONGEST_NUMBER: u64 = 64;

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
            let file = options.custom_flags(NO_LINK).open(path)?;
            if let Some((user, group)) = owner {
                let found = file.metadata()?;
                if !found.is_file() || found.nlink() != 1 {
                    return Err(io::Error::other(
                        "it has another name elsewhere, or is no file",
                    ));
                }
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

/// The number of the process that a file names.
///
/// # Errors
/// It has none, or one of a process that is not its owner's: whoever may write a file could have root signal any process.
pub(crate) fn read_pid(path: &Path) -> Result<i32, Failure> {
    let failed = |error: io::Error| {
        let why = match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            true => "it is a link: name the file itself".to_owned(),
            false => error.to_string(),
        };
        Failure::Failed(format!("{path:?} cannot be read: {why}"))
    };
    let mut options = File::options();
    let file = options.read(true).custom_flags(NO_LINK).open(path);
    let file = file.map_err(failed)?;
    let owner = file.metadata().map_err(failed)?.uid();
    let mut text = String::new();
    let mut file = file.take(LONGEST_NUMBER);
    file.read_to_string(&mut text).map_err(failed)?;
    let number = text.trim().parse().ok().filter(|number: &i32| *number > 0);
    let number = number.ok_or_else(|| {
        Failure::Failed(format!(
            "{path:?} has no number of a process: is the server running?"
        ))
    })?;
    // A process that is not there is said by who signals it.
    let user = fs::metadata(format!("/proc/{number}")).map_or(owner, |found| found.uid());
    match owner == 0 || owner == user {
        true => Ok(number),
        false => Err(Failure::Failed(format!(
            "{path:?} is a file of user {owner}, and names process {number} of user {user}: give --pid if that is the server"
        ))),
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
mod tests;
