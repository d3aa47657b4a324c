//! The last changes of files, for pages that ask what has changed since.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// The changes that are remembered. A page that has missed more loads again whatever they were.
const REMEMBERED: usize = 32;

/// The paths of one change that are told apart.
pub(super) const MOST_PATHS: usize = 64;

/// The changes since the start.
pub(super) struct Changes {
    log: watch::Sender<ChangeLog>,
    /// The number of this run, which no other has.
    run: u128,
}

/// The changes so far.
#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    last: VecDeque<Change>,
    /// The number of the last change.
    number: u64,
    has_ended: bool,
}

/// Files that changed together.
#[derive(Debug)]
struct Change {
    number: u64,
    at: Instant,
    /// The paths that they are served at; empty where that is not known of all.
    paths: Vec<String>,
}

/// A point between two changes, as a page names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// After the change with this number.
    Number(u64),
    /// Before a moment.
    Moment(Instant),
    /// In another run of the program.
    OtherRun,
}

/// The news for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// There are none.
    None,
    /// These paths have changed; an empty list is any.
    Changed(Vec<String>),
}

impl Changes {
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Changes {
            log: watch::Sender::new(ChangeLog::default()),
            run: now.unwrap_or(Duration::ZERO).as_nanos(),
        }
    }

    /// Adds a change of these paths; none is any.
    pub(super) fn add(&self, mut paths: Vec<String>) {
        if paths.len() > MOST_PATHS {
            paths.clear();
        }
        self.log.send_modify(|log| {
            log.number += 1;
            if log.last.len() == REMEMBERED {
                log.last.pop_front();
            }
            log.last.push_back(Change {
                number: log.number,
                at: Instant::now(),
                paths,
            });
        });
    }

    /// Ends all waiting.
    pub(super) fn end(&self) {
        self.log.send_modify(|log| log.has_ended = true);
    }

    /// A receiver, which is woken by each change.
    pub(super) fn subscribe(&self) -> watch::Receiver<ChangeLog> {
        self.log.subscribe()
    }

    /// The identifier of the point after the last change of a log.
    pub(super) fn id(&self, log: &ChangeLog) -> String {
        format!("{:x}-{}", self.run, log.number)
    }

    /// The point that an identifier names.
    pub(super) fn since(&self, id: &str) -> Since {
        let parts = id.split_once('-');
        let number = parts.filter(|(run, _)| *run == format!("{:x}", self.run));
        match number.and_then(|(_, number)| number.parse().ok()) {
            Some(number) => Since::Number(number),
            None => Since::OtherRun,
        }
    }
}

impl ChangeLog {
    /// True if nothing is to be waited for any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The news since a point.
    pub(super) fn news(&self, since: Since) -> News {
        let is_new = |change: &&Change| match since {
            Since::Number(number) => change.number > number,
            Since::Moment(moment) => change.at >= moment,
            Since::OtherRun => true,
        };
        let new: Vec<_> = self.last.iter().filter(is_new).collect();
        let is_missing = match since {
            Since::OtherRun => true,
            Since::Number(number) => {
                let first = self.last.front();
                first.is_some_and(|first| first.number > number.saturating_add(1))
            }
            Since::Moment(_) => false,
        };
        if is_missing || new.iter().any(|change| change.paths.is_empty()) {
            return News::Changed(Vec::new());
        }
        if new.is_empty() {
            return News::None;
        }
        let mut paths: Vec<_> = new.into_iter().flat_map(|change| &change.paths).collect();
        paths.sort_unstable();
        paths.dedup();
        News::Changed(paths.into_iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_hears_what_it_has_missed() {
        let changes = Changes::new();
        let news = |since| changes.subscribe().borrow().news(since);
        let changed =
            |paths: &[&str]| News::Changed(paths.iter().map(|path| (*path).to_owned()).collect());
        let before = Instant::now();
        assert_eq!(news(Since::Number(0)), News::None);
        assert_eq!(news(Since::Moment(before)), News::None);
        changes.add(vec!["/b.css".to_owned()]);
        changes.add(vec!["/a.css".to_owned(), "/b.css".to_owned()]);
        assert_eq!(news(Since::Number(0)), changed(&["/a.css", "/b.css"]));
        assert_eq!(news(Since::Number(2)), News::None);
        assert_eq!(news(Since::Moment(before)), changed(&["/a.css", "/b.css"]));
        let id = changes.id(&changes.subscribe().borrow());
        assert_eq!(changes.since(&id), Since::Number(2));
        for other in ["", "x", "1-2", "-", "é-1"] {
            assert_eq!(changes.since(other), Since::OtherRun);
        }
        assert_eq!(news(Since::OtherRun), changed(&[]));
        changes.add(Vec::new());
        assert_eq!(news(Since::Number(1)), changed(&[]));
        assert_eq!(news(Since::Number(3)), News::None);
    }

    #[test]
    fn what_is_forgotten_is_anything_and_memory_is_bounded() {
        let changes = Changes::new();
        for number in 0..10 * REMEMBERED {
            changes.add(vec![format!("/{number}")]);
        }
        let log = changes.subscribe();
        assert_eq!(log.borrow().last.len(), REMEMBERED);
        assert_eq!(log.borrow().news(Since::Number(1)), News::Changed(vec![]));
        let last = u64::try_from(10 * REMEMBERED - 1).unwrap();
        let expected = vec![format!("/{last}")];
        assert_eq!(
            log.borrow().news(Since::Number(last)),
            News::Changed(expected)
        );
        changes.add(vec!["/x".to_owned(); MOST_PATHS + 1]);
        assert_eq!(
            log.borrow().news(Since::Number(last + 1)),
            News::Changed(vec![])
        );
    }
}
