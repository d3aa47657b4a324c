//! A file that can be made cold again: on the disk, and out of the page cache.

use std::fs::File;
use std::io::IoSliceMut;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::commands::bench::scratch::ScratchDirectory;
use crate::failure::Failure;

/// Longer than the engine waits for a file that has just been written to be at rest.
const REST: Duration = Duration::from_millis(200);

/// The name of the file.
pub(super) const NAME: &str = "cold.bin";

/// The file, in a folder of its own, which is removed with it.
#[derive(Debug)]
pub(super) struct ColdFile {
    scratch: ScratchDirectory,
    file: File,
    /// True if its file system lets it be cold.
    cools: bool,
    /// Its bytes.
    pub(super) content: Vec<u8>,
}

impl ColdFile {
    /// Makes one of `length` bytes in a folder of `directory`.
    pub(super) fn make(directory: &Path, length: u64) -> Result<ColdFile, Failure> {
        let scratch = ScratchDirectory::new(directory)?;
        let content = scratch.random_file(NAME, length)?;
        std::thread::sleep(REST);
        let file = File::open(scratch.path().join(NAME)).map_err(|error| {
            Failure::Failed(format!("a file that was just made is gone: {error}"))
        })?;
        drop_pages(&file);
        let cools = is_cold(&file);
        // What the question has set off is over when all is read: it is read to the end here, so
        // that nothing is under way when the pages are dropped.
        let _ = std::fs::read(scratch.path().join(NAME));
        Ok(ColdFile {
            scratch,
            file,
            cools,
            content,
        })
    }

    /// The folder that holds it, and nothing else.
    pub(super) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Takes it out of the page cache; whether that can be. File systems that are memory keep it.
    pub(super) fn cool(&self) -> bool {
        drop_pages(&self.file);
        self.cools
    }
}

fn drop_pages(file: &File) {
    // What refuses is found by the question.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// True if the file is not in the page cache. Asking makes some kernels read ahead (Linux 6.18 does),
/// so it may be there a moment later: ask before what is measured, not right before it.
fn is_cold(file: &File) -> bool {
    let mut byte = [0];
    let mut into = [IoSliceMut::new(&mut byte)];
    let found = preadv2(file, &mut into, 0, ReadWriteFlags::NOWAIT);
    matches!(found, Err(Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cooling_harms_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cold = ColdFile::make(directory.path(), 12_345).unwrap();
        for _ in 0..2 {
            cold.cool();
            assert!(std::fs::read(cold.folder().join(NAME)).unwrap() == cold.content);
        }
    }
}
