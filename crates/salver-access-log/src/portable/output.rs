//! Where lines go: files, standard output and standard error. The writer waits for them; where that takes long, lines
//! are dropped and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::bell::Awaited;
use crate::outcome::Outcome;
use crate::settings::{Destination, Settings};

/// An open destination.
#[derive(Debug)]
pub(crate) enum Output {
    /// A file that lines are appended to.
    File {
        path: PathBuf,
        file: File,
    },
    StandardOutput,
    StandardError,
}

impl Output {
    /// Opens the destination.
    pub(crate) fn open(settings: &Settings) -> io::Result<Output> {
        match &settings.destination {
            Destination::File(path) => Ok(Output::File {
                path: path.clone(),
                file: open(path)?,
            }),
            Destination::StandardOutput => Ok(Output::StandardOutput),
            Destination::StandardError => Ok(Output::StandardError),
            Destination::UnixStream(_) | Destination::UnixDatagram(_) | Destination::Syslog(_) => {
                Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this system has files and standard output for it, and no sockets",
                ))
            }
        }
    }

    /// Gives it whole lines, or what is left of them.
    pub(crate) fn write(&mut self, lines: &[u8]) -> Outcome {
        let written = match self {
            Output::File { file, .. } => file.write(lines),
            Output::StandardOutput => at_once(&mut io::stdout().lock(), lines),
            Output::StandardError => io::stderr().write(lines),
        };
        match written {
            Ok(bytes) => Outcome::Taken { bytes, refused: 0 },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Outcome::Taken {
                bytes: 0,
                refused: 0,
            },
            Err(error) => Outcome::Failed {
                error,
                is_new: false,
            },
        }
    }

    /// Opens the file of that name anew; true if it did, so that what is written next must not begin in the
    /// midst of a line. The old one stays if that fails. Only files are opened anew.
    pub(crate) fn reopen(&mut self) -> io::Result<bool> {
        match self {
            Output::File { path, file } => {
                *file = open(path)?;
                Ok(true)
            }
            Output::StandardOutput | Output::StandardError => Ok(false),
        }
    }

    /// What to wait for when it is full: it never is.
    pub(crate) fn awaited(&self) -> Option<Awaited<'_>> {
        None
    }
}

/// Writes to what keeps lines back, and has it keep none.
fn at_once(output: &mut impl Write, lines: &[u8]) -> io::Result<usize> {
    let bytes = output.write(lines)?;
    output.flush()?;
    Ok(bytes)
}

/// The file, which others may rename or read meanwhile.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options.open(path)
}
