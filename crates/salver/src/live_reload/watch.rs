//! The watch over directories: what the system tells of changes, gathered into one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use salver_assets::is_hidden;

use super::changes::{Changes, MOST_PATHS};
use crate::failure::Failure;

/// The silence after which files that changed are told: an editor writes several at once, a build many.
const SILENCE: Duration = Duration::from_millis(50);

/// The time after which they are told without that.
const LONGEST: Duration = Duration::from_millis(500);

/// The watch; it ends when dropped.
pub(super) struct Watch {
    #[expect(dead_code, reason = "watches while it lives")]
    watcher: RecommendedWatcher,
}

/// What is known of some changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Gathered {
    paths: BTreeSet<String>,
    /// True if there may be more than these.
    is_anything: bool,
}

/// A directory that is watched.
struct Root {
    /// The path that it is served at, with a slash at its end.
    prefix: String,
    directory: PathBuf,
}

impl Watch {
    /// Watches directories, each with the path that it is served at, and adds what changes to `changes`.
    pub(super) fn start(
        roots: &[(String, PathBuf)],
        changes: Arc<Changes>,
    ) -> Result<Watch, Failure> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            let error = error.to_string();
            Failure::Failed(format!(
                "{what} cannot be watched for live reload: {}: serve fewer directories{}",
                error.escape_debug(),
                match cfg!(target_os = "linux") {
                    true => ", or raise fs.inotify.max_user_watches",
                    false => "",
                }
            ))
        };
        let (sender, events) = channel();
        let mut watcher =
            notify::recommended_watcher(sender).map_err(|error| failed("a directory", &error))?;
        let mut watched = Vec::new();
        for (prefix, path) in roots {
            let what = format!("{path:?}");
            // The system tells of changes by the path that a link leads to.
            let directory = path.canonicalize().map_err(|error| failed(&what, &error))?;
            let all = watcher.watch(&directory, RecursiveMode::Recursive);
            all.map_err(|error| failed(&what, &error))?;
            watched.push(Root {
                prefix: prefix.clone(),
                directory,
            });
        }
        let thread = std::thread::Builder::new().name("salver-watch".to_owned());
        thread
            .spawn(move || gather(&events, &watched, &changes))
            .map_err(|error| failed("a directory", &error))?;
        Ok(Watch { watcher })
    }
}

/// Tells of changes until the watch ends.
fn gather(events: &Receiver<notify::Result<Event>>, roots: &[Root], changes: &Changes) {
    while let Ok(event) = events.recv() {
        let mut gathered = Gathered::default();
        gathered.add(event, roots);
        if gathered == Gathered::default() {
            continue;
        }
        let end = Instant::now() + LONGEST;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match events.recv_timeout(SILENCE.min(left)) {
                Ok(event) => gathered.add(event, roots),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            if left.is_zero() {
                break;
            }
        }
        changes.add(match gathered.is_anything {
            true => Vec::new(),
            false => gathered.paths.into_iter().collect(),
        });
    }
}

impl Gathered {
    fn add(&mut self, event: notify::Result<Event>, roots: &[Root]) {
        let Ok(event) = event else {
            self.is_anything = true;
            return;
        };
        if event.need_rescan() {
            self.is_anything = true;
            return;
        }
        let is_change = match event.kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => true,
        };
        if !is_change {
            return;
        }
        for path in &event.paths {
            self.paths.extend(served_at(path, roots));
        }
        if self.paths.len() > MOST_PATHS {
            self.is_anything = true;
            self.paths.clear();
        }
    }
}

/// The paths that a file is served at. Nobody is told of hidden files, and of those that editors make for a moment.
fn served_at(path: &Path, roots: &[Root]) -> Vec<String> {
    let paths = roots.iter().filter_map(|root| {
        let relative = path.strip_prefix(&root.directory).ok()?;
        let relative = relative.to_string_lossy();
        // The paths of URLs have slashes everywhere.
        let relative = relative.replace(std::path::MAIN_SEPARATOR, "/");
        if is_hidden(relative.as_bytes()) || relative.ends_with('~') {
            return None;
        }
        Some(format!("{}{relative}", root.prefix))
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Flag, MetadataKind};

    fn roots() -> Vec<Root> {
        let root = |prefix: &str, directory: &str| Root {
            prefix: prefix.to_owned(),
            directory: directory.into(),
        };
        vec![root("/", "/srv/a"), root("/more/", "/srv/a/b")]
    }

    #[test]
    fn files_are_told_by_the_paths_that_they_are_served_at() {
        let check = |path: &str, expected: &[&str]| {
            assert_eq!(served_at(Path::new(path), &roots()), expected, "{path}");
        };
        check("/srv/a/x y.css", &["/x y.css"]);
        check("/srv/a/b/c", &["/b/c", "/more/c"]);
        check("/srv/other", &[]);
        check("/srv/a/.git/index", &[]);
        check("/srv/a/b/.x.swp", &[]);
        check("/srv/a/page.html~", &[]);
    }

    #[test]
    fn reading_is_no_change_and_what_is_lost_is_anything() {
        let check = |event: Event, paths: &[&str], is_anything| {
            let mut gathered = Gathered::default();
            gathered.add(Ok(event), &roots());
            let expected = Gathered {
                paths: paths.iter().map(|path| (*path).to_owned()).collect(),
                is_anything,
            };
            assert_eq!(gathered, expected);
        };
        let of = |kind| Event::new(kind).add_path("/srv/a/x".into());
        check(of(EventKind::Create(CreateKind::File)), &["/x"], false);
        check(
            of(EventKind::Access(notify::event::AccessKind::Any)),
            &[],
            false,
        );
        let touched = ModifyKind::Metadata(MetadataKind::Any);
        check(of(EventKind::Modify(touched)), &[], false);
        check(
            Event::new(EventKind::Other).set_flag(Flag::Rescan),
            &[],
            true,
        );
        let mut many = Event::new(EventKind::Any);
        for number in 0..=MOST_PATHS {
            many = many.add_path(format!("/srv/a/{number}").into());
        }
        check(many, &[], true);
    }
}
