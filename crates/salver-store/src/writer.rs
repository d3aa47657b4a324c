//! A store that is locked, as it is changed.

#[cfg_attr(not(feature = "compress"), path = "writer/codings/absent.rs")]
mod codings;
pub(crate) mod deploy;
mod incoming;
pub(crate) mod preview;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod remote;
mod rollback;
pub(crate) mod site_files;
mod tree;

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use crate::error::Error;
use crate::files::current::Current;
use crate::files::durable::{remove, rename, sync_directory, write};
use crate::files::journal::{Action, Journal, JournalEntry};
use crate::files::manifest::Manifest;
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The lock of a store, and the right to change it. While it lives nobody else changes the store; when the process
/// ends, however it does, the lock is free.
#[derive(Debug)]
pub struct Writer {
    pub(crate) store: Store,
    #[expect(dead_code, reason = "locked while it lives")]
    lock: File,
    pub(crate) current: Option<Current>,
    /// The number of the last change, also of those that were interrupted.
    last_change: u64,
    /// The number of the next new file.
    next_file: u64,
}

impl Writer {
    /// Takes the lock of a store, which who changes it needs, for what this word says.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody else has it: this one has lost, and nothing was done.
    pub fn lock(store: &Store, what: &str) -> Result<Self, Error> {
        let path = store.layout.lock();
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
        Writer::begin(store.clone(), file)
    }

    /// Sweeps up what was left by a change that was interrupted.
    fn begin(store: Store, lock: File) -> Result<Self, Error> {
        let layout = &store.layout;
        let new = layout.unfinished();
        for entry in fs::read_dir(&new).map_err(Error::at(&new))? {
            remove(&entry.map_err(Error::at(&new))?.path())?;
        }
        let journal = Journal::read(layout)?;
        let last = journal.entries.iter().map(|entry| entry.change).max();
        let last = last.unwrap_or(0);
        let (current, seen) = match store.read_current() {
            Ok(Some(current)) => {
                let seen = current.change;
                (Some(current), seen)
            }
            // Before the first deploy has come to its end.
            Ok(None) => (None, last.saturating_sub(1)),
            // Whoever changes the store writes it anew.
            Err(Error::Damaged(_)) => (None, last),
            Err(error) => return Err(error),
        };
        let mut named = Vec::new();
        for preview in store.each_preview()? {
            // Of one that is damaged whoever changes previews is told.
            named.extend(preview.ok().map(|preview| preview.release));
        }
        let mut interrupted: Vec<JournalEntry> = Vec::new();
        for entry in journal.entries.iter().filter(|entry| entry.change > seen) {
            let is_unknown = match entry.action {
                // It was never current.
                Action::Deploy => current.is_some(),
                Action::Preview => {
                    let is_of_before = |other: &JournalEntry| {
                        other.change < entry.change && other.release == entry.release
                    };
                    !named.contains(&entry.release) && !journal.entries.iter().any(is_of_before)
                }
                Action::Rollback | Action::Prune | Action::Interrupted => false,
            };
            if is_unknown {
                remove(&layout.manifest(&entry.release))?;
            }
            let is_said = |other: &JournalEntry| {
                other.change == entry.change && other.action == Action::Interrupted
            };
            if !journal.entries.iter().chain(&interrupted).any(is_said) {
                interrupted.push(JournalEntry {
                    action: Action::Interrupted,
                    ..entry.clone()
                });
            }
        }
        if !interrupted.is_empty() {
            Journal::append(layout, &interrupted)?;
        }
        // What is seen was perhaps not synced by who wrote it.
        sync_directory(&layout.manifests())?;
        sync_directory(&layout.root)?;
        Ok(Writer {
            last_change: last.max(seen),
            current,
            store,
            lock,
            next_file: 0,
        })
    }

    /// The path of a new file, which nobody reads.
    pub(crate) fn new_file(&mut self) -> PathBuf {
        self.next_file += 1;
        self.store
            .layout
            .unfinished()
            .join(self.next_file.to_string())
    }

    /// Notes a change in the journal, before it is seen. The number is the same for all of one change.
    pub(crate) fn note(
        &mut self,
        action: Action,
        releases: &[ReleaseId],
        (who, unix_seconds): (&str, i64),
    ) -> Result<(), Error> {
        let change = self.last_change + 1;
        let previous = self.current.as_ref().map(|current| current.release.clone());
        let entries: Vec<JournalEntry> = releases
            .iter()
            .map(|release| JournalEntry {
                change,
                unix_seconds,
                action,
                release: release.clone(),
                previous: previous.clone(),
                who: who.to_owned(),
            })
            .collect();
        Journal::append(&self.store.layout, &entries)
    }

    /// Puts a manifest in its place, synced.
    pub(crate) fn put_manifest(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let new = self.new_file();
        write(&new, manifest.to_text().as_bytes())?;
        rename(&new, &self.store.layout.manifest(&manifest.id()))?;
        sync_directory(&self.store.layout.manifests())
    }

    /// Makes a release the current one: the switch, one rename. With the one that is current already, whoever serves
    /// the store looks at all else anew.
    pub(crate) fn switch(&mut self, release: ReleaseId) -> Result<(), Error> {
        let current = Current {
            release,
            change: self.last_change + 1,
        };
        let new = self.new_file();
        write(&new, current.to_text().as_bytes())?;
        rename(&new, &self.store.layout.current())?;
        sync_directory(&self.store.layout.root)?;
        self.last_change = current.change;
        self.current = Some(current);
        Ok(())
    }
}
