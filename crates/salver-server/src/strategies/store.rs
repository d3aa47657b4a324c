//! The files that are sent, on disk and in memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use salver_os::{Directory, Patience, Resolver, Symlinks};

use super::{MeasureError, unless_stopped};

/// The files of one length have at most so many bytes together, if they are more than one.
pub const TOGETHER: u64 = 4 * 1024 * 1024;

/// And are no more than so many.
const MOST_FILES: u64 = 64;

/// All files.
pub(super) struct Store {
    /// The directory that they are opened from.
    pub(super) root: Directory,
    pub(super) lengths: Vec<Length>,
}

/// The files of one length.
pub(super) struct Length {
    pub(super) size: u64,
    pub(super) files: Vec<Stored>,
}

/// One file.
pub(super) struct Stored {
    /// Relative to the root.
    pub(super) path: String,
    pub(super) file: File,
    /// Head and content in one piece.
    pub(super) bytes: Vec<u8>,
    /// How much of that is the head.
    pub(super) head: usize,
    pub(super) size: u64,
}

impl Stored {
    pub(super) fn head(&self) -> &[u8] {
        self.bytes.get(..self.head).unwrap_or_default()
    }

    pub(super) fn content(&self) -> &[u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }
}

impl Store {
    /// Writes the files into `directory`.
    pub(super) fn new(
        directory: &Path,
        sizes: &[u64],
        stop: &AtomicBool,
    ) -> Result<Self, MeasureError> {
        let mut lengths = Vec::new();
        for &size in sizes {
            unless_stopped(stop)?;
            lengths.push(Length::new(directory, size).map_err(MeasureError::Files)?);
        }
        let wait = Patience::MayWait;
        let root = Directory::open(directory, Symlinks::Beneath, Resolver::Kernel, wait);
        Ok(Store {
            root: root.map_err(MeasureError::Files)?,
            lengths,
        })
    }
}

impl Length {
    fn new(directory: &Path, size: u64) -> io::Result<Self> {
        // As deep as files of a site are.
        let folder = format!("assets/{size}");
        std::fs::create_dir_all(directory.join(&folder))?;
        let count = (TOGETHER / size).clamp(1, MOST_FILES);
        let files = (0..count).map(|number| {
            let path = format!("{folder}/{number}.bin");
            let head = head(size);
            let length = usize::try_from(size).map_err(io::Error::other)?;
            let mut bytes = Vec::with_capacity(head.len() + length);
            bytes.extend_from_slice(head.as_bytes());
            bytes.resize(head.len() + length, b'x');
            let content = bytes.get(head.len()..).unwrap_or_default();
            File::create_new(directory.join(&path))?.write_all(content)?;
            Ok(Stored {
                file: File::open(directory.join(&path))?,
                path,
                head: head.len(),
                bytes,
                size,
            })
        });
        let files = files.collect::<io::Result<_>>()?;
        Ok(Length { size, files })
    }
}

/// As long as heads are.
fn head(size: u64) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n\
         Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Content-Type: application/octet-stream\r\n\
         Content-Length: {size}\r\n\
         Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         ETag: \"0123456789abcdef0123456789abcdef\"\r\n\
         Accept-Ranges: bytes\r\n\
         Cache-Control: no-cache\r\n\r\n"
    )
}
