//! Watching: what is known to be done, and what says that something may have changed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant, SystemTime};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use salver_coding::ContentCoding;

use super::finding::{FileResult, Kind};
use super::original::Version;
use super::siblings::sibling_path;
use super::tree::{Tree, TreeFile};
use crate::failure::Failure;

/// The silence after which changes are looked at: a build writes many files.
const SILENCE: Duration = Duration::from_millis(200);

/// The time after which they are looked at without that.
const LONGEST: Duration = Duration::from_secs(2);

/// The watch over a directory; it ends when dropped.
pub(super) struct Watch {
    #[expect(dead_code, reason = "watches while it lives")]
    watcher: RecommendedWatcher,
}

impl Watch {
    /// Watches a directory, and wakes by `wake` when files change that are no siblings.
    pub(super) fn start(root: &Path, wake: SyncSender<()>) -> Result<Watch, Failure> {
        let failed = |error: notify::Error| {
            let error = error.to_string();
            Failure::Failed(format!(
                "{root:?} cannot be watched: {}: watch a smaller directory, or raise fs.inotify.max_user_watches",
                error.escape_debug()
            ))
        };
        let react = move |event: notify::Result<Event>| {
            if is_change(&event) {
                // If it is full somebody is woken already.
                let _ = wake.try_send(());
            }
        };
        let mut watcher = notify::recommended_watcher(react).map_err(failed)?;
        watcher
            .watch(root, RecursiveMode::Recursive)
            .map_err(failed)?;
        Ok(Watch { watcher })
    }

    /// Waits until something has changed and it has been quiet for a moment; false if the end has come.
    pub(super) fn wait(&self, woken: &Receiver<()>, is_ended: &AtomicBool) -> bool {
        let is_ended = || is_ended.load(Ordering::Relaxed);
        if is_ended() || woken.recv().is_err() {
            return false;
        }
        let end = Instant::now() + LONGEST;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if is_ended() {
                return false;
            }
            match woken.recv_timeout(SILENCE.min(left)) {
                Ok(()) if !left.is_zero() => {}
                Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return !is_ended();
                }
            }
        }
    }
}

/// True if files may have changed of which siblings are made. What this program writes itself is none of it.
fn is_change(event: &notify::Result<Event>) -> bool {
    let Ok(event) = event else {
        return true;
    };
    if event.need_rescan() {
        return true;
    }
    match event.kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => return false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => {}
    }
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b".") || ContentCoding::of_file_name(name).is_some()
    };
    !event.paths.iter().all(is_ours)
}

/// The files that are done.
#[derive(Debug, Default)]
pub(super) struct Known {
    files: HashMap<PathBuf, KnownFile>,
    /// The siblings that this process made.
    made: HashSet<PathBuf>,
    /// What was said already.
    said: HashSet<String>,
}

#[derive(Debug)]
struct KnownFile {
    result: FileResult,
    /// The siblings that are right; `None` if the file is looked at again in any case.
    siblings: Option<Vec<(PathBuf, Version)>>,
}

impl Known {
    /// Those files that are not as they were when they were done; those that are gone are forgotten.
    pub(super) fn changed(&mut self, files: Vec<TreeFile>) -> Vec<TreeFile> {
        let mut before = std::mem::take(&mut self.files);
        let mut changed = Vec::new();
        for file in files {
            if let Some(known) = before.remove(&file.path) {
                let is_as_it_was = known.is_as(&file);
                self.files.insert(file.path.clone(), known);
                if is_as_it_was {
                    continue;
                }
            }
            changed.push(file);
        }
        changed
    }

    /// True if this line is said for the first time.
    pub(super) fn is_news(&mut self, line: &str) -> bool {
        self.said.insert(line.to_owned())
    }

    /// Remembers a file that is done.
    pub(super) fn done(&mut self, root: &Path, mut result: FileResult) {
        let mut siblings = Some(Vec::new());
        for sibling in &mut result.siblings {
            let path = sibling_path(&result.path, sibling.coding);
            let at = root.join(&path);
            if sibling.is_new {
                self.made.insert(path);
            } else {
                sibling.is_new = self.made.contains(&path);
            }
            let version = fs::symlink_metadata(&at).ok();
            let version = version.map(|metadata| (at, Version::of(&metadata)));
            siblings = siblings.zip(version).map(|(mut all, version)| {
                all.push(version);
                all
            });
        }
        let failed = result.findings.iter().any(|one| one.kind == Kind::Failed);
        if failed || result.version.is_young(SystemTime::now()) {
            siblings = None;
        }
        let path = result.path.clone();
        self.files.insert(path, KnownFile { result, siblings });
    }

    /// All that is known, in the order of paths.
    pub(super) fn results(self) -> Vec<FileResult> {
        let results = self.files.into_values().map(|known| known.result);
        let mut results: Vec<_> = results.collect();
        results.sort_by(|one, other| one.path.cmp(&other.path));
        results
    }

    /// Removes those orphaned siblings that this process made, and gives them.
    pub(super) fn remove_orphans(&mut self, root: &Path, tree: &Tree) -> BTreeSet<PathBuf> {
        let mut removed = BTreeSet::new();
        for path in &tree.orphans {
            if self.made.remove(path) && fs::remove_file(root.join(path)).is_ok() {
                removed.insert(path.clone());
            }
        }
        removed
    }
}

impl KnownFile {
    fn is_as(&self, file: &TreeFile) -> bool {
        let is_there = |(path, version): &(PathBuf, Version)| version.is_at(path);
        let are_there = self
            .siblings
            .as_ref()
            .is_some_and(|all| all.iter().all(is_there));
        are_there && self.result.version == file.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, CreateKind, Flag, MetadataKind};

    #[test]
    fn siblings_and_what_is_being_written_are_no_change() {
        let check = |event: Event, expected: bool| {
            assert_eq!(is_change(&Ok(event.clone())), expected, "{event:?}");
        };
        let of = |kind, path: &str| Event::new(kind).add_path(path.into());
        let created = EventKind::Create(CreateKind::File);
        check(of(created, "/srv/a.js"), true);
        check(of(created, "/srv/a.js.br"), false);
        check(of(created, "/srv/a.js.gz"), false);
        check(of(created, "/srv/.salver-compress-x1"), false);
        check(
            of(created, "/srv/.salver-compress-x1").add_path("/srv/a.js".into()),
            true,
        );
        check(of(EventKind::Access(AccessKind::Any), "/srv/a.js"), false);
        let touched = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        check(of(touched, "/srv/a.js"), false);
        check(
            of(
                EventKind::Remove(notify::event::RemoveKind::File),
                "/srv/a.js",
            ),
            true,
        );
        check(
            of(EventKind::Other, "/srv/a.br").set_flag(Flag::Rescan),
            true,
        );
        assert!(is_change(&Err(notify::Error::generic("lost"))));
    }
}
