//! A store as it is changed.

#[cfg_attr(not(feature = "compress"), path = "writer/codings/absent.rs")]
mod codings;
pub(crate) mod deploy;
pub(crate) mod preview;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod remote;
mod rollback;
pub(crate) mod site_files;
mod tree;

use crate::error::Error;
use crate::files::bundle::Bundle;
use crate::files::current::Current;
use crate::files::journal::{Action, Journal, JournalEntry};
use crate::files::layout;
use crate::files::manifest::Manifest;
use crate::files::release_id::ReleaseId;
use crate::place::Changes;
use crate::store::Store;

/// The right to change a store.
///
/// Of a directory it is a lock: while it lives nobody else changes the store; when the process ends, however it does, the
/// lock is free. A bucket has none: there each change takes the place of just the release that was current when this
/// began, and fails if another one is by then.
#[derive(Debug)]
pub struct Writer {
    pub(crate) store: Store,
    changes: Box<dyn Changes>,
    pub(crate) current: Option<Current>,
    /// True if whatever is current is to be replaced.
    forces: bool,
    /// The lines of the journal.
    journal: Journal,
    /// The number of the last change that `current` has.
    seen: u64,
    /// The number of the last change, also of those that were interrupted.
    last_change: u64,
}

impl Writer {
    /// Takes the right to change a store, for what this word says.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody else has it: this one has lost, and nothing was done.
    pub fn lock(store: &Store, what: &str) -> Result<Self, Error> {
        let changes = store.place.change(what)?;
        let is_alone = changes.is_alone();
        let mut writer = Writer {
            store: store.clone(),
            changes,
            current: None,
            forces: false,
            journal: Journal::default(),
            seen: 0,
            last_change: 0,
        };
        writer.look()?;
        if is_alone {
            writer.clear_up()?;
        }
        Ok(writer)
    }

    /// Has the changes take the place of whatever is current then, in a bucket, too.
    #[must_use]
    pub fn forcing(self) -> Self {
        Writer {
            forces: true,
            ..self
        }
    }

    /// Reads what the store says of itself.
    fn look(&mut self) -> Result<(), Error> {
        let state = self.changes.state()?;
        self.journal = Journal::parse(&state.journal);
        let last = self.journal.entries.iter().map(|entry| entry.change).max();
        let last = last.unwrap_or(0);
        let current = state.current.as_deref();
        let current = current.map(|content| self.store.parse_current(content));
        (self.current, self.seen) = match current {
            Some(Ok((current, _))) => {
                let seen = current.change;
                (Some(current), seen)
            }
            // Whoever changes the store writes it anew.
            Some(Err(_)) => (None, last),
            // Before the first deploy has come to its end.
            None => (None, last.saturating_sub(1)),
        };
        self.last_change = last.max(self.seen);
        Ok(())
    }

    /// Takes the turn of this change, behind which nobody else's comes unseen. `expects` the release that was current when it
    /// began.
    ///
    /// # Errors
    /// [`Error::Overtaken`] if another one is.
    pub(crate) fn take_turn(&mut self, expects: bool) -> Result<(), Error> {
        if self.changes.is_alone() {
            return Ok(());
        }
        let of = |writer: &Writer| {
            let current = writer.current.as_ref();
            current.map(|current| current.release.clone())
        };
        let before = of(self);
        self.look()?;
        let now = of(self);
        if expects && !self.forces && now != before {
            return Err(overtaken(now.as_ref()));
        }
        self.clear_up()
    }

    /// Clears up after changes that were interrupted: those that the journal has, and `current` has not.
    fn clear_up(&mut self) -> Result<(), Error> {
        let (current, seen) = (self.current.clone(), self.seen);
        let is_current = |entry: &JournalEntry| {
            let current = current.as_ref();
            current.is_none_or(|current| current.release == entry.release)
        };
        let is_unseen = |entry: &&JournalEntry| {
            let makes_current = matches!(entry.action, Action::Deploy | Action::Rollback);
            // Somebody has closed that number so that the other one cannot come any more.
            let was_closed = entry.change == seen && makes_current && !is_current(entry);
            entry.change > seen || was_closed
        };
        let is_said = |entry: &JournalEntry| {
            self.journal
                .entries
                .iter()
                .any(|other| other.change == entry.change && other.action == Action::Interrupted)
        };
        let unseen = self.journal.entries.iter().filter(is_unseen);
        let unseen = unseen.filter(|entry| entry.action != Action::Interrupted);
        let unseen: Vec<_> = unseen.filter(|entry| !is_said(entry)).cloned().collect();
        if unseen.is_empty() {
            return Ok(());
        }
        if let Some(current) = &current
            && !self.changes.is_alone()
        {
            // Whoever is about to switch has seen another `current`, and loses.
            let closed = Current {
                release: current.release.clone(),
                change: self.last_change,
            };
            self.set_current(closed, None)?;
        }
        let mut named = Vec::new();
        for preview in self.store.each_preview()? {
            // Of one that is damaged whoever changes previews is told.
            named.extend(preview.ok().map(|preview| preview.release));
        }
        let is_gone = |entry: &&JournalEntry| match entry.action {
            // It was never current.
            Action::Deploy => self.current.is_some() && !is_current(entry),
            Action::Preview => !named.contains(&entry.release) && !self.was_before(entry),
            // What is being removed is not to be relied on.
            Action::Prune => !self.changes.is_alone(),
            Action::Rollback | Action::Interrupted => false,
        };
        let gone = unseen.iter().filter(is_gone);
        let gone: Vec<String> = gone.map(|entry| layout::manifest(&entry.release)).collect();
        self.changes.remove(&gone)?;
        let mut said: Vec<JournalEntry> = Vec::new();
        for entry in unseen {
            if !said.iter().any(|other| other.change == entry.change) {
                said.push(JournalEntry {
                    action: Action::Interrupted,
                    ..entry
                });
            }
        }
        self.append(said)
    }

    /// True if a change before this one has the same release.
    fn was_before(&self, entry: &JournalEntry) -> bool {
        let mut before = self.journal.entries.iter();
        before.any(|other| other.change < entry.change && other.release == entry.release)
    }

    fn append(&mut self, entries: Vec<JournalEntry>) -> Result<(), Error> {
        self.changes.append(&entries)?;
        self.journal.entries.extend(entries);
        Ok(())
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
        let entries = releases.iter().map(|release| JournalEntry {
            change,
            unix_seconds,
            action,
            release: release.clone(),
            previous: previous.clone(),
            who: who.to_owned(),
        });
        self.append(entries.collect())
    }

    /// Puts a manifest in its place.
    pub(crate) fn put_manifest(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let name = layout::manifest(&manifest.id());
        self.changes.put(&name, &manifest.to_text())
    }

    /// Makes a release the current one: the switch, one rename or one conditional request. With the one that is current
    /// already, whoever serves the store looks at all else anew; with another one nothing else may have changed under this number.
    pub(crate) fn switch(&mut self, release: ReleaseId, new: Option<&Bundle>) -> Result<(), Error> {
        let change = self.last_change + 1;
        self.set_current(Current { release, change }, new)
    }

    fn set_current(&mut self, current: Current, new: Option<&Bundle>) -> Result<(), Error> {
        self.changes.switch(&current, new)?;
        (self.last_change, self.seen) = (current.change, current.change);
        self.current = Some(current);
        Ok(())
    }
}

/// The error of who has lost to somebody after whom this release is current.
pub(crate) fn overtaken(now: Option<&ReleaseId>) -> Error {
    let now = now.map_or("no release", ReleaseId::as_str);
    Error::Overtaken(format!(
        "{now} has become current meanwhile: nothing was switched, look at it and deploy again"
    ))
}
