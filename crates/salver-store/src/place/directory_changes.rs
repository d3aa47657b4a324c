//! The change of a store in a directory: its lock, and files that are whole or not there.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::{Changes, Contents, StoreState};
use crate::error::Error;
use crate::event::Listener;
use crate::files::bundle::Bundle;
use crate::files::current::Current;
use crate::files::digest::{BlobDigest, Hashes};
use crate::files::durable::{
    keep_from_writing, make_directory, read_text, remove, rename, sync, sync_directory, write,
};
use crate::files::journal::{self, JournalEntry};
use crate::files::layout::{CURRENT, Layout, MANIFESTS};

/// The blobs that are written before they are synced: the first sync of a batch is that of most of it.
const BATCH: usize = 128;

/// The bytes of such a batch, from which on no blob is added.
const BATCH_BYTES: u64 = 64 * 1024 * 1024;

/// The lock of a store, and the right to change it. While it lives nobody else changes the store; when the process
/// ends, however it does, the lock is free.
#[derive(Debug)]
pub(super) struct DirectoryChanges {
    layout: Layout,
    lock: File,
    /// The number of the next new file.
    next_file: u64,
}

impl DirectoryChanges {
    /// Takes the lock, for what this word says, and sweeps up what a change that was interrupted has left unfinished.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody else has it.
    pub(super) fn lock(layout: &Layout, what: &str) -> Result<Self, Error> {
        let path = layout.lock();
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(Error::at(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = (&mut file).take(200).read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "somebody else".to_owned(),
                    holder => format!("`salver {}`", holder.escape_debug()),
                };
                return Err(Error::Busy(format!(
                    "{holder} is changing the store, and has won: nothing was switched, run this again when that has ended"
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Error::at(&path)(error)),
        }
        // Whoever comes meanwhile is told who has it; that it can be said is no condition.
        let said = format!("{what}` (process {})\n", std::process::id()).replace('`', "");
        let _ = file
            .set_len(0)
            .and_then(|()| file.write_all(said.as_bytes()));
        let new = layout.unfinished();
        for entry in fs::read_dir(&new).map_err(Error::at(&new))? {
            remove(&entry.map_err(Error::at(&new))?.path())?;
        }
        // What is seen was perhaps not synced by who wrote it.
        sync_directory(&layout.path(MANIFESTS))?;
        sync_directory(&layout.root)?;
        Ok(DirectoryChanges {
            layout: layout.clone(),
            lock: file,
            next_file: 0,
        })
    }

    /// The path of a new file, which nobody reads.
    fn new_file(&mut self) -> PathBuf {
        self.next_file += 1;
        self.layout.unfinished().join(self.next_file.to_string())
    }

    /// Syncs blobs that were written, and gives them their names.
    fn name(&self, batch: &[(BlobDigest, PathBuf)]) -> Result<(), Error> {
        for (_, new) in batch {
            sync(new)?;
        }
        for (blob, new) in batch {
            let path = self.layout.blob(blob);
            if let Some(directory) = path.parent() {
                make_directory(directory)?;
            }
            rename(new, &path)?;
        }
        Ok(())
    }
}

/// The end of the right: closing the file does not end it while a process that was just begun still has a duplicate.
impl Drop for DirectoryChanges {
    fn drop(&mut self) {
        // It ends with the last duplicate in any case.
        let _ = self.lock.unlock();
    }
}

impl Changes for DirectoryChanges {
    fn is_alone(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<StoreState, Error> {
        let journal = read_text(&self.layout.journal(), journal::MOST_BYTES)?;
        Ok(StoreState {
            current: self.layout.read_current()?,
            journal: journal.unwrap_or_default(),
        })
    }

    fn add_blobs(
        &mut self,
        blobs: &[(BlobDigest, u64)],
        contents: &dyn Contents,
        listener: &mut Listener<'_>,
    ) -> Result<(), Error> {
        let (mut batch, mut in_batch) = (Vec::new(), 0_u64);
        for (blob, length) in blobs {
            let new = self.new_file();
            copy(contents, blob, &new, listener)?;
            batch.push((*blob, new));
            in_batch = in_batch.saturating_add(*length);
            if batch.len() == BATCH || in_batch >= BATCH_BYTES {
                self.name(&std::mem::take(&mut batch))?;
                in_batch = 0;
            }
        }
        self.name(&batch)
    }

    fn settle(&mut self, blobs: &BTreeSet<BlobDigest>) -> Result<(), Error> {
        // Also the directories of blobs that were there: who wrote them may have been interrupted before.
        let mut directories: Vec<PathBuf> = Vec::new();
        for blob in blobs {
            directories.extend(self.layout.blob(blob).parent().map(PathBuf::from));
        }
        directories.dedup();
        for directory in &directories {
            sync_directory(directory)?;
        }
        sync_directory(&self.layout.blobs())
    }

    fn append(&mut self, entries: &[JournalEntry]) -> Result<(), Error> {
        let path = self.layout.journal();
        let is_new = !path.exists();
        append(&path, entries).map_err(Error::at(&path))?;
        match is_new {
            true => sync_directory(&self.layout.root),
            false => Ok(()),
        }
    }

    fn put(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let (new, path) = (self.new_file(), self.layout.path(name));
        let directory = path.parent().unwrap_or(&self.layout.root).to_owned();
        // An older version made the store.
        if make_directory(&directory)? {
            sync_directory(&self.layout.root)?;
        }
        write(&new, text.as_bytes())?;
        rename(&new, &path)?;
        sync_directory(&directory)
    }

    fn remove(&mut self, names: &[String]) -> Result<(), Error> {
        let mut directories = BTreeSet::new();
        for name in names {
            let path = self.layout.path(name);
            remove(&path)?;
            directories.extend(path.parent().map(PathBuf::from));
        }
        directories.iter().try_for_each(|path| sync_directory(path))
    }

    fn switch(&mut self, current: &Current, _: Option<&Bundle>) -> Result<(), Error> {
        // Whoever serves it has all of the release at hand, and reads this file all the time.
        self.put(CURRENT, &current.to_text())
    }
}

/// Adds lines at the end of a journal, and syncs them.
fn append(path: &Path, entries: &[JournalEntry]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path)?;
    let mut text = String::new();
    // A line that was cut off stays a line of its own.
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.push('\n');
        }
    }
    for entry in entries {
        text.push_str(&format!("{entry}\n"));
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Copies the content of a blob, which has to have this digest.
fn copy(
    contents: &dyn Contents,
    blob: &BlobDigest,
    new: &Path,
    listener: &mut Listener<'_>,
) -> Result<(), Error> {
    let (mut failure, mut hashes) = (None, None);
    let copied = contents.read(blob, &mut |reader| {
        let mut written = File::create(new)?;
        let tee = Tee {
            reader,
            written: &mut written,
            failure: &mut failure,
        };
        hashes = Some(Hashes::read(tee, listener)?);
        keep_from_writing(&written)
    });
    // What the disk of the store says is no fault of the file.
    if let Some(error) = failure {
        return Err(Error::at(new)(error));
    }
    copied?;
    match hashes {
        Some(hashes) if hashes.blob == *blob => Ok(()),
        _ => Err(contents.changed(blob)),
    }
}

/// A reader that writes what passes to a file.
struct Tee<'a> {
    reader: &'a mut dyn Read,
    written: &'a mut File,
    failure: &'a mut Option<io::Error>,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        match self.written.write_all(bytes) {
            Ok(()) => Ok(count),
            Err(error) => {
                let kind = error.kind();
                *self.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::journal::{Action, Journal};
    use crate::files::release_id::ReleaseId;
    use crate::store::Store;

    #[test]
    fn its_end_is_the_end_of_the_lock_whoever_has_a_duplicate() {
        let temp = tempfile::tempdir().unwrap();
        Store::open_or_create(temp.path()).unwrap();
        let root = temp.path().to_owned();
        let layout = Layout { root };
        let lock = || DirectoryChanges::lock(&layout, "deploy");
        let changes = lock().unwrap();
        let duplicate = changes.lock.try_clone().unwrap();
        assert!(matches!(lock(), Err(Error::Busy(_))));
        drop(changes);
        lock().unwrap();
        drop(duplicate);
    }

    #[test]
    fn a_line_that_was_cut_off_stays_one_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("journal");
        let entry = |change| JournalEntry {
            change,
            unix_seconds: 0,
            action: Action::Deploy,
            release: ReleaseId::new(0, &BlobDigest::of(b"")),
            previous: None,
            who: "ci".to_owned(),
        };
        append(&path, &[entry(1)]).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"2 2026-11-24T01:3").unwrap();
        append(&path, &[entry(2)]).unwrap();
        let journal = Journal::parse(&fs::read_to_string(&path).unwrap());
        assert_eq!(journal.entries, [entry(1), entry(2)]);
        assert_eq!(journal.damaged, 1);
    }
}
