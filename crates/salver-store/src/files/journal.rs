//! The journal of a store: who changed what when. Lines are added at its end, synced, and never changed.
//!
//! ```text
//! 17 2026-11-24T01:35:10Z deploy 20261124-013510-3f9a1c2b 20261123-090000-77af00d1 jo
//! ```
//!
//! A line has the number of the change, its time, what was done, the release, the one that was current before (`-` if
//! none), and who did it. It is written *before* the change is seen: one whose number is greater than that of `current`
//! belongs to a change that was interrupted, and whoever changes the store next says so in a line.

use std::collections::HashSet;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};

use crate::error::Error;
use crate::files::durable::{read_text, sync_directory};
use crate::files::escape::{escape, unescape};
use crate::files::layout::Layout;
use crate::files::release_id::ReleaseId;
use crate::files::time;

/// The longest journal that is read, in bytes: a million changes or so.
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// The longest name of who did something, in bytes.
const LONGEST_NAME: usize = 128;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A release was made and became current.
    Deploy,
    /// A release that was there became current.
    Rollback,
    /// A release was made and got a name of its own for a time; the current one stayed.
    Preview,
    /// A release was removed.
    Prune,
    /// What the line before says did not come to its end.
    Interrupted,
}

impl Action {
    const ALL: [(Action, &'static str); 5] = [
        (Action::Deploy, "deploy"),
        (Action::Rollback, "rollback"),
        (Action::Preview, "preview"),
        (Action::Prune, "prune"),
        (Action::Interrupted, "interrupted"),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        let mut all = Action::ALL.iter();
        all.find_map(|(action, name)| (*action == self).then_some(*name))
            .unwrap_or_default()
    }
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The number of the change.
    pub change: u64,
    /// Its time, in seconds since 1970.
    pub unix_seconds: i64,
    /// What was done.
    pub action: Action,
    /// The release that it was done with.
    pub release: ReleaseId,
    /// The release that was current before.
    pub previous: Option<ReleaseId>,
    /// Who did it.
    pub who: String,
}

impl fmt::Display for JournalEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous = self.previous.as_ref().map_or("-", ReleaseId::as_str);
        let end = self.who.floor_char_boundary(LONGEST_NAME);
        let who = self.who.get(..end).filter(|who| !who.is_empty());
        write!(
            f,
            "{} {} {} {} {previous} {}",
            self.change,
            time::written(self.unix_seconds),
            self.action.name(),
            self.release,
            escape(who.unwrap_or("?").as_bytes())
        )
    }
}

impl JournalEntry {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let change = words.next()?.parse().ok()?;
        let unix_seconds = time::read(words.next()?)?;
        let action = words.next()?;
        let mut actions = Action::ALL.iter();
        let action = actions.find_map(|(known, name)| (*name == action).then_some(*known))?;
        let release = ReleaseId::parse(words.next()?)?;
        let previous = match words.next()? {
            "-" => None,
            previous => Some(ReleaseId::parse(previous)?),
        };
        let entry = JournalEntry {
            change,
            unix_seconds,
            action,
            release,
            previous,
            who: String::from_utf8(unescape(words.next()?)?).ok()?,
        };
        words.next().is_none().then_some(entry)
    }
}

/// What a journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Its lines, oldest first.
    pub(crate) entries: Vec<JournalEntry>,
    /// The number of lines that are none: the power failed while they were written.
    pub(crate) damaged: usize,
}

impl Journal {
    pub(crate) fn read(layout: &Layout) -> Result<Self, Error> {
        let text = read_text(&layout.journal(), MOST_BYTES)?.unwrap_or_default();
        let mut journal = Journal::default();
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n').and_then(JournalEntry::parse) {
                Some(entry) => journal.entries.push(entry),
                None if line.trim().is_empty() => {}
                None => journal.damaged += 1,
            }
        }
        Ok(journal)
    }

    /// The releases that were previews and never current.
    pub(crate) fn previews_alone(&self) -> HashSet<ReleaseId> {
        let of = |is_one: fn(Action) -> bool| {
            let entries = self
                .entries
                .iter()
                .filter(move |entry| is_one(entry.action));
            entries.map(|entry| (entry.change, &entry.release))
        };
        let interrupted: HashSet<_> = of(|action| action == Action::Interrupted).collect();
        let current = of(|action| matches!(action, Action::Deploy | Action::Rollback));
        let current: HashSet<_> = current
            .filter(|change| !interrupted.contains(change))
            .map(|(_, release)| release)
            .collect();
        let previews = of(|action| action == Action::Preview).map(|(_, release)| release);
        previews
            .filter(|release| !current.contains(release))
            .cloned()
            .collect()
    }

    /// Adds lines at the end, and syncs them.
    pub(crate) fn append(layout: &Layout, entries: &[JournalEntry]) -> Result<(), Error> {
        let path = layout.journal();
        let is_new = !path.exists();
        let written = || {
            let mut options = OpenOptions::new();
            let mut file = options.read(true).append(true).create(true).open(&path)?;
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
        };
        written().map_err(Error::at(&path))?;
        match is_new {
            true => sync_directory(&layout.root),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest::BlobDigest;
    use proptest::prelude::*;

    fn entry(change: u64, action: Action, who: &str) -> JournalEntry {
        let id = |seconds| ReleaseId::new(seconds, &BlobDigest::of(b""));
        JournalEntry {
            change,
            unix_seconds: 1_764_000_000,
            action,
            release: id(1_764_000_000),
            previous: (change > 1).then(|| id(0)),
            who: who.to_owned(),
        }
    }

    #[test]
    fn lines_stay_and_what_was_cut_off_hides_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let layout = Layout {
            root: temp.path().to_owned(),
        };
        assert_eq!(Journal::read(&layout).unwrap(), Journal::default());
        let first = entry(1, Action::Deploy, "jo d\u{f6}\n");
        Journal::append(&layout, std::slice::from_ref(&first)).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(layout.journal())
            .unwrap();
        file.write_all(b"2 2026-11-24T01:3").unwrap();
        let second = entry(2, Action::Prune, "ci");
        Journal::append(&layout, std::slice::from_ref(&second)).unwrap();
        let journal = Journal::read(&layout).unwrap();
        assert_eq!(journal.entries, [first, second]);
        assert_eq!(journal.damaged, 1);
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_written(change in any::<u64>(), who in "\\PC{1,30}") {
            for (action, _) in Action::ALL {
                let entry = entry(change, action, &who);
                prop_assert_eq!(JournalEntry::parse(&entry.to_string()), Some(entry));
            }
        }

        #[test]
        fn nothing_panics(line in "\\PC*") {
            let _ = JournalEntry::parse(&line);
        }
    }
}
