//! Files that a measurement makes for itself, in a folder that is removed however it ends.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use salver_bench::ui::JobProgress;
use tempfile::TempDir;

use super::{Watch, failure, unless_interrupted};
use crate::failure::Failure;

/// For so long after a file was written the engine takes it for one that may change again, and
/// copies what it would otherwise send from the page cache: the default of
/// [`settle_time`](salver_assets::Config::settle_time), and a little.
const REST: Duration = Duration::from_millis(10_500);

/// Those who watch are told so often while nothing is measured.
const TICK: Duration = Duration::from_millis(250);

/// A folder for files of random bytes.
#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    /// Where it was asked for, for people.
    directory: PathBuf,
    folder: TempDir,
}

impl ScratchDirectory {
    /// A new folder in `directory`.
    ///
    /// # Errors
    /// That nothing can be made there.
    pub(crate) fn new(directory: &Path) -> Result<ScratchDirectory, Failure> {
        if !directory.is_dir() {
            return Err(Failure::Misused(format!(
                "{} is no directory: give one of the file system that will be served from",
                directory.display()
            )));
        }
        let folder = tempfile::Builder::new()
            .prefix("salver-bench-")
            .tempdir_in(directory);
        Ok(ScratchDirectory {
            folder: folder.map_err(|error| failed(directory, &error))?,
            directory: directory.to_owned(),
        })
    }

    /// Waits until files that have just been made have been at rest for long enough.
    ///
    /// # Errors
    /// That `watch` ended it.
    pub(super) fn rest(&self, watch: Watch<'_>) -> Result<(), Failure> {
        let made = Instant::now();
        let mut going = JobProgress {
            what: "until the files have been at rest for 10 s".to_owned(),
            ..JobProgress::default()
        };
        while let Some(left) = REST.checked_sub(made.elapsed()) {
            going.now.warming_up = true;
            going.now.elapsed_seconds = made.elapsed().as_secs_f64();
            going.now.of_seconds = REST.as_secs_f64();
            unless_interrupted(watch(&going)).map_err(failure)?;
            std::thread::sleep(left.min(TICK));
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of `length` random bytes, which no file system compresses or keeps elsewhere,
    /// and waits until it is on the disk. Gives the bytes.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn random_file(&self, name: &str, length: u64) -> Result<Vec<u8>, Failure> {
        self.write(name, length)
            .map_err(|error| failed(&self.directory, &error))
    }

    fn write(&self, name: &str, length: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let source = File::open("/dev/urandom")?;
        source.take(length).read_to_end(&mut bytes)?;
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        // An hour old: nobody takes it for one that is still being written.
        file.set_modified(SystemTime::now() - Duration::from_secs(3600))?;
        file.sync_all()?;
        Ok(bytes)
    }
}

fn failed(directory: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!(
        "cannot make files in {}: {error}; give a directory that can be written to",
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_random_and_goes_with_the_folder() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = ScratchDirectory::new(directory.path()).unwrap();
        let bytes = scratch.random_file("a/b.bin", 12_345).unwrap();
        let found = std::fs::read(scratch.path().join("a/b.bin")).unwrap();
        assert!(found == bytes && found.len() == 12_345);
        assert_ne!(found[..100], found[100..200]);
        assert_eq!(scratch.random_file("empty", 0), Ok(Vec::new()));
        drop(scratch);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn where_nothing_can_be_made_is_said() {
        let failure = ScratchDirectory::new(Path::new("/proc")).unwrap_err();
        let line = failure.to_string();
        assert!(
            line.contains("/proc") && line.contains("can be written to"),
            "{line}"
        );
    }
}
