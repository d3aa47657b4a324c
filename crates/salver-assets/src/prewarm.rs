//! Prewarming: loading files before they are asked for.

use std::time::{Duration, Instant};

use salver_semantics::{HttpDate, RequestFields, RequestPath, encode_path};

use crate::config::MountTarget;
use crate::conventions::{is_rule_file, page_path};
use crate::engine::{Engine, Now, Step};
use crate::path::is_hidden;
use crate::request::Request;
use crate::resource::load::{Load, Outcome, RetryLater};
use crate::resource::locate::is_coded;
use crate::source::{Identity, Kind, Metadata, Patience, View};

/// The result of prewarming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prewarmed {
    /// The files that were looked at.
    pub files: u64,
    /// The bytes that the cache holds afterwards.
    pub bytes: u64,
    /// True if the cache was full before the trees were done.
    pub full: bool,
}

/// The tenths of the budget that are filled at most; the rest is for what is asked for.
const FILL_TENTHS: usize = 9;

/// The cost of an entry besides its content, about, in bytes.
const HEADS: u64 = 8192;

/// The `Accept-Encoding` of a browser; the smallest coding is chosen.
const ACCEPT: &[u8] = b"br, zstd, gzip";

/// The time for which files that are not at rest are waited for, all together, once the others are loaded:
/// empty files, which must be seen empty for a while, and files that were written just now. A file that is
/// written all the time is left to the first request for it.
const REST_WITHIN: Duration = Duration::from_millis(250);

/// The most files that are not at rest which are tried again.
const MOST_UNSETTLED: usize = 4096;

/// A file that was not at rest, and the moment at which it may be.
struct UnsettledFile {
    due: Instant,
    load: Load,
}

/// A directory to be looked at.
struct WalkedDirectory {
    /// The path relative to its tree.
    path: Vec<u8>,
    /// The directories that lead to it, and it itself.
    above: Vec<Identity>,
}

impl Engine {
    /// Walks all trees and loads each file in the coding that a browser would get, until nine
    /// tenths of the cache are full, or all that it has for files. Waits for the disk: not for an event loop.
    /// Nothing without a cache, and while it is paused. The counters take each file for a request.
    pub fn prewarm(&self) -> Prewarmed {
        self.prewarm_where(b"/")
    }

    /// The same, for the files whose path begins with `prefix` alone: `/blog/`, or one file's path.
    pub fn prewarm_prefix(&self, prefix: &RequestPath<'_>) -> Prewarmed {
        self.prewarm_where(prefix.as_bytes())
    }

    fn prewarm_where(&self, wanted: &[u8]) -> Prewarmed {
        let mut done = Prewarmed::default();
        let mut unsettled = Vec::new();
        if !self.config().cache || self.is_paused() {
            return done;
        }
        let tenths = self.config().cache_size / 10 * FILL_TENTHS;
        // What digests and the making of codings may take is not for entries: the first would leave for the last.
        let budget = tenths.min(self.shared.pool.memory.budget());
        let budget = u64::try_from(budget).unwrap_or(u64::MAX);
        for (prefix, mount) in self.mounts().iter().filter(|(_, mount)| mount.cached) {
            if let MountTarget::File(_) = mount.target {
                let warmed = prefix.starts_with(wanted) && self.warm(prefix, &mut unsettled);
                done.files += u64::from(warmed);
                continue;
            }
            let Ok(view) = mount.source.view(Patience::MayWait) else {
                continue;
            };
            let root = view.stat(b"", Patience::MayWait);
            let mut directories = vec![WalkedDirectory {
                path: Vec::new(),
                above: root.iter().map(|root| root.identity).collect(),
            }];
            while let Some(directory) = directories.pop().filter(|_| !done.full) {
                let WalkedDirectory { path, above } = &directory;
                let own = match &**path {
                    b"" => [prefix, &b"/"[..]].concat(),
                    path => [prefix, b"/", path, b"/"].concat(),
                };
                if !own.starts_with(wanted) && !wanted.starts_with(&own) {
                    continue;
                }
                let has_rules = mount.conventions().is_some();
                for (path, length) in self.children(&*view, path, above, &mut directories) {
                    if has_rules && is_rule_file(&path) {
                        continue;
                    }
                    let path = [prefix, b"/", &path].concat();
                    if !path.starts_with(wanted) && !self.is_index(&path, wanted) {
                        continue;
                    }
                    let expected = HEADS.saturating_add(self.kept(length));
                    done.full = self.statistics().bytes.saturating_add(expected) > budget;
                    if done.full {
                        break;
                    }
                    let path = match mount.clean_urls {
                        Some(policy) => page_path(&path, policy),
                        None => &path,
                    };
                    done.files += u64::from(self.warm(path, &mut unsettled));
                }
            }
        }
        done.files += self.warm_unsettled(unsettled);
        done.bytes = self.statistics().bytes;
        done
    }

    /// Tries files that were not at rest again, each when it may be; returns the number that were loaded.
    fn warm_unsettled(&self, mut unsettled: Vec<UnsettledFile>) -> u64 {
        let end = Instant::now() + REST_WITHIN;
        let mut files = 0;
        while let Some(due) = unsettled.iter().map(|file| file.due).min() {
            if due > end {
                // Whoever has asked for one of them meanwhile waits for its load.
                let awaited = unsettled
                    .into_iter()
                    .filter_map(|UnsettledFile { due, load }| {
                        let load = load.give_up()?;
                        Some(UnsettledFile { due, load })
                    });
                unsettled = awaited.collect();
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let now = Instant::now();
            let (ready, later): (Vec<_>, Vec<_>) =
                unsettled.into_iter().partition(|file| file.due <= now);
            unsettled = later;
            for file in ready {
                files += u64::from(self.perform(file.load, &mut unsettled));
            }
        }
        files
    }

    /// Performs a load, and returns whether it is over. One of a file that is not at rest is kept for later.
    fn perform(&self, load: Load, unsettled: &mut Vec<UnsettledFile>) -> bool {
        let performed = match unsettled.len() < MOST_UNSETTLED {
            true => load.perform_without_sleeping(Instant::now()),
            false => Ok(match load.perform(Patience::MayWait, Instant::now()) {
                Ok(outcome) => outcome,
                Err(_) => Outcome::overloaded(),
            }),
        };
        match performed {
            Ok(outcome) => {
                self.finish(load, outcome);
                true
            }
            Err(RetryLater { after }) => {
                let due = Instant::now() + after;
                unsettled.push(UnsettledFile { due, load });
                false
            }
        }
    }

    /// The paths of the files in a directory as they would be asked for, and their lengths; its
    /// directories are added to the list, but for those that it lies in: links can lead in circles.
    fn children(
        &self,
        view: &dyn View,
        directory: &[u8],
        above: &[Identity],
        directories: &mut Vec<WalkedDirectory>,
    ) -> Vec<(Vec<u8>, u64)> {
        let mut names = view.list(directory).unwrap_or_default();
        names.sort();
        let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
        let mut files = Vec::new();
        let index = &self.config().index;
        let index = index
            .iter()
            .find(|index| names.iter().any(|n| n == index.as_bytes()));
        for name in &names {
            let path = [directory, slash, name].concat();
            if is_hidden(&path) && !self.config().dotfiles {
                continue;
            }
            let Ok(Metadata { kind, identity }) = view.stat(&path, Patience::MayWait) else {
                continue;
            };
            match kind {
                Kind::Directory => {
                    let mut known = above.iter();
                    // Trees in memory number no directories, and have no links.
                    if identity.inode == 0 || !known.any(|known| known.is_same_file(&identity)) {
                        let above = [above, &[identity]].concat();
                        directories.push(WalkedDirectory { path, above });
                    }
                }
                Kind::File if index.is_some_and(|index| index.as_bytes() == &**name) => {
                    files.push(([directory, slash].concat(), identity.length));
                }
                // Siblings come with their originals.
                Kind::File if !is_coded(name) => files.push((path, identity.length)),
                _ => {}
            }
        }
        files
    }

    /// True if `file` is what answers the directory.
    fn is_index(&self, directory: &[u8], file: &[u8]) -> bool {
        let name = file.strip_prefix(directory).unwrap_or_default();
        let index = &self.config().index;
        directory.ends_with(b"/") && index.iter().any(|index| index.as_bytes() == name)
    }

    /// The part of a file's length that would be kept.
    fn kept(&self, length: u64) -> u64 {
        Some(length)
            .filter(|length| *length <= self.keep_up_to())
            .unwrap_or(0)
    }

    /// Loads one path, and returns whether it was new. The mount that has it may be another one, that keeps
    /// nothing.
    fn warm(&self, path: &[u8], unsettled: &mut Vec<UnsettledFile>) -> bool {
        if !self.shared.is_cached(path) {
            return false;
        }
        let mut encoded = String::new();
        encode_path(path, &mut encoded);
        let fields = RequestFields {
            accept_encoding: Some(ACCEPT.into()),
            ..RequestFields::default()
        };
        let request = Request {
            fields,
            ..Request::get(encoded.as_bytes())
        };
        let instant = Instant::now();
        let now = Now {
            instant,
            date: HttpDate::from_unix_seconds(0),
        };
        match self.begin(&request, now) {
            // Nobody waits on behalf of this walk.
            Step::Load(load, pending) => {
                drop(pending);
                self.perform(load, unsettled)
            }
            Step::Respond(_) | Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => false,
        }
    }
}
