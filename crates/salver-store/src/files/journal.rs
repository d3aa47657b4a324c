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

use crate::files::escape::{escape, unescape};
use crate::files::release_id::ReleaseId;
use crate::files::time;

/// The longest journal that is read, in bytes: a million changes or so.
pub(crate) const MOST_BYTES: u64 = 128 * 1024 * 1024;

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
    /// The journal that has this text.
    pub(crate) fn parse(text: &str) -> Self {
        let mut journal = Journal::default();
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n').and_then(JournalEntry::parse) {
                Some(entry) => journal.entries.push(entry),
                None if line.trim().is_empty() => {}
                None => journal.damaged += 1,
            }
        }
        journal
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
    fn what_was_cut_off_hides_nothing() {
        assert_eq!(Journal::parse(""), Journal::default());
        let (first, second) = (
            entry(1, Action::Deploy, "jo d\u{f6}\n"),
            entry(2, Action::Prune, "ci"),
        );
        let journal = Journal::parse(&format!("{first}\n2 2026-11-24T01:3\n{second}\n"));
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
