//! Invalidation: what is cached of paths, of all beneath a prefix, and of groups, is compared anew.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use salver_semantics::RequestPath;

use crate::config::{Mount, MountMatch};
use crate::conventions::{HEADERS, HTML, REDIRECTS};
use crate::engine::Engine;
use crate::events::{self, Event};
use crate::path::{file_name, path_of_key};
use crate::resource::entry::CacheEntry;
use crate::resource::locate::original;

impl Engine {
    /// Invalidates everything that is cached, open files and digests included, but for made codings, which belong to
    /// a content and are never wrong; of engines [beside](Self::beside) it the
    /// open files and digests alone, which cost them no more than to open and read again.
    ///
    /// Here and below: a request that comes afterwards looks at the disk. What is being loaded
    /// at the moment still answers those who wait for it already, and nobody else: it is not kept.
    /// Returns the number of entries that went.
    pub fn clear(&self) -> usize {
        let shared = &*self.shared;
        // First of all, so that no load which begins from then on is told what was known before; then those that began
        // before, so that none puts back what is let go of. So it is below, too.
        self.invalidate_in_sources(b"");
        shared.flights.forget(|_| true);
        let entries = shared.pool.memory.take(|entry| shared.has(entry)).len();
        shared.pool.open_files.clear();
        shared.pool.digests.clear();
        shared.tell(|| Event::Cleared { entries });
        entries
    }

    /// Invalidates what is cached of the file or directory at `path`, in all its roles: the file that is a
    /// directory's index (`/blog/index.html` is `/blog/`, and the other way round), the coded sibling of
    /// another (`/app.js.br` is `/app.js`), what was not there; and of its open files. The next request for
    /// any of them looks at the disk.
    ///
    /// A file that appears at other paths, too (in two mounts, by a link), has to be named at each.
    pub fn invalidate(&self, path: &RequestPath<'_>) -> usize {
        // By rules a file may answer at any path, and so may what is being loaded.
        let entries = self.invalidate_files(std::slice::from_ref(path), |_| true);
        self.shared.tell(|| Event::Invalidated {
            path: events::path(path.as_bytes()),
            entries,
        });
        entries
    }

    /// Invalidates what is cached of many files, as [`invalidate`](Self::invalidate) does of one, in one pass: for who is told
    /// of changes one after the other. What is being loaded meanwhile at other paths goes on for whoever asks there,
    /// and is not kept if by rules it has sent one of these files.
    ///
    /// Each event of them has the number of all entries.
    pub fn invalidate_all(&self, paths: &[RequestPath<'_>]) -> usize {
        let entries = self.invalidate_files(paths, |is_one| is_one);
        for path in paths {
            self.shared.tell(|| Event::Invalidated {
                path: events::path(path.as_bytes()),
                entries,
            });
        }
        entries
    }

    /// Invalidates what is cached of files. Where they may answer at any path, loads are outdated of which `is_outdated` says so
    /// by whether they are at one of their own.
    fn invalidate_files(
        &self,
        paths: &[RequestPath<'_>],
        is_outdated: impl Fn(bool) -> bool,
    ) -> usize {
        let shared = &*self.shared;
        // By either a file may answer at other paths.
        let has_rules = shared.has_rules() || self.negotiates();
        let have_listings = shared.mounts.have_listings();
        let mut keys = HashSet::new();
        for path in paths {
            let path = path.as_bytes();
            let of_path = keys_of(path, &shared.config.index);
            if has_rules {
                // With clean URLs it may be the page there.
                let pages = of_path.iter().filter_map(|key| key.strip_suffix(HTML));
                keys.extend(pages.flat_map(|page| [page.to_vec(), [page, b"/"].concat()]));
            }
            if have_listings {
                // It stands in the listing of the directory that it is in.
                let own = path.strip_suffix(b"/").unwrap_or(path);
                keys.extend(own.strip_suffix(file_name(own)).map(<[u8]>::to_vec));
            }
            keys.extend(of_path);
        }
        let keys = Arc::new(keys);
        for path in &*keys {
            self.invalidate_in_source(path);
        }
        let is_one = |key: &[u8]| keys.contains(path_of_key(key).0);
        let gone = match has_rules {
            false => {
                shared.flights.forget(|load| is_one(&load.path));
                let gone = keys
                    .iter()
                    .filter_map(|key| shared.pool.memory.remove(shared.key(key)));
                gone.collect()
            }
            true => {
                shared.changes.note(Arc::clone(&keys));
                shared
                    .flights
                    .forget(|load| is_outdated(is_one(&load.path)));
                let is_of = |entry: &CacheEntry| {
                    shared.has(entry) && (is_one(&entry.key) || self.sends_one(entry, &keys))
                };
                shared.pool.memory.take(is_of)
            }
        };
        self.let_go(gone, |path| keys.contains(path))
    }

    /// True if an entry sends a file that has changed since a load began by which this was the latest change, as far as is known.
    pub(crate) fn has_changed_since(&self, change: u64, entry: &CacheEntry) -> bool {
        let changes = self.shared.changes.since(change);
        changes.is_none_or(|changes| changes.iter().any(|paths| self.sends_one(entry, paths)))
    }

    /// Invalidates what is cached at all paths that begin with `prefix`: `/blog/`, say, which stands for
    /// `/blog` as well.
    pub fn invalidate_prefix(&self, prefix: &RequestPath<'_>) -> usize {
        let shared = &*self.shared;
        let prefix = prefix.as_bytes();
        self.invalidate_in_sources(prefix);
        shared.flights.forget(|load| is_beneath(&load.path, prefix));
        let is_gone = |entry: &CacheEntry| shared.has(entry) && is_beneath(&entry.key, prefix);
        let gone = shared.pool.memory.take(is_gone);
        let entries = self.let_go(gone, |path| path.starts_with(prefix));
        shared.tell(|| Event::InvalidatedPrefix {
            prefix: events::path(prefix),
            entries,
        });
        entries
    }

    /// Has what is cached at all paths that begin with `prefix` compared when it is asked for next, as if its time had come: for who
    /// knows that much there may have changed, and not what. Nothing is let go of, and what may be sent
    /// while it is compared is.
    pub fn make_due(&self, prefix: &RequestPath<'_>) {
        let prefix = prefix.as_bytes();
        self.for_sources(prefix, |mount, relative| mount.source.make_due(relative));
        self.make_entries_due(prefix);
    }

    /// Has what is cached there made anew if the rules of the tree have changed, of whose files sources were told by
    /// [`invalidate_all`](Self::invalidate_all). No other file is asked for.
    pub fn make_rules_due(&self, prefix: &RequestPath<'_>) {
        let prefix = prefix.as_bytes();
        self.for_sources(prefix, |_, _| ());
        self.make_entries_due(prefix);
    }

    /// Has entries beneath a prefix compared when they are asked for next.
    fn make_entries_due(&self, prefix: &[u8]) {
        let shared = &*self.shared;
        shared.flights.forget(|load| is_beneath(&load.path, prefix));
        shared.pool.memory.visit(|_, entry| {
            if shared.has(entry) && is_beneath(&entry.key, prefix) {
                entry.confirm(Duration::ZERO);
            }
        });
    }

    /// Invalidates what is cached of answers that are in a group, by a field `Cache-Groups` that rules give them (RFC 9875).
    /// Of what a source knows and the cache has not, nobody can tell which is in it: all of that is compared before it
    /// is sent again.
    pub fn invalidate_group(&self, group: &[u8]) -> usize {
        let shared = &*self.shared;
        self.invalidate_in_sources(b"");
        // Nobody knows yet what comes of them.
        shared.flights.forget(|_| true);
        let is_gone = |entry: &CacheEntry| {
            let ruling = entry.rules.ruling.as_ref();
            shared.has(entry) && ruling.is_some_and(|ruling| ruling.is_in_group(group))
        };
        let gone = shared.pool.memory.take(is_gone);
        let entries = self.let_go(gone, |_| true);
        shared.tell(|| Event::InvalidatedGroup {
            group: events::path(group),
            entries,
        });
        entries
    }

    /// True if an entry sends the file that would be asked for at one of these paths.
    fn sends_one(&self, entry: &CacheEntry, paths: &HashSet<Vec<u8>>) -> bool {
        let mounts = &self.shared.mounts;
        let number = mounts.number_of(path_of_key(&entry.key).0);
        let representations = entry.resource.representations();
        number.zip(representations).is_some_and(|(number, of)| {
            let is_one = |path: &[u8]| paths.contains(&*mounts.path_of(number, path));
            let wanted = self.config().negotiate.iter();
            let mut alternatives = wanted.filter_map(|found| found.path_for(&of.found.path));
            is_one(&of.found.path) || alternatives.any(|path| is_one(&path))
        })
    }

    /// Lets go of the open files and digests of removed entries; returns the number of entries. Of files at the paths that
    /// are told the sources know already.
    fn let_go(&self, entries: Vec<Arc<CacheEntry>>, is_told: impl Fn(&[u8]) -> bool) -> usize {
        let shared = &*self.shared;
        let mut of_others = HashSet::new();
        for entry in &entries {
            let Some(representations) = entry.resource.representations() else {
                continue;
            };
            for representation in &representations.list {
                shared.pool.open_files.forget(&representation.identity);
                shared
                    .pool
                    .digests
                    .forget(&representation.identity, representation.coding.plain());
            }
            let (path, _) = path_of_key(&entry.key);
            let Some(number) = shared.mounts.number_of(path) else {
                continue;
            };
            // By rules it may lie at another path.
            if !is_told(&shared.mounts.path_of(number, &representations.found.path))
                && let Some(mount) = shared.mounts.get(number)
            {
                let all = representations.list.iter();
                all.for_each(|representation| mount.source.invalidate(&representation.path));
                of_others.insert(&entry.key);
            }
        }
        // Of these the sources were told last, so that what has come since may be what they knew before.
        if !of_others.is_empty() {
            shared.flights.forget(|load| of_others.contains(&load.path));
            for key in of_others {
                shared.pool.memory.remove(shared.key(key));
            }
        }
        entries.len()
    }

    /// Has the source of a path of the site compare what it knows of that, and of what would be coded siblings.
    fn invalidate_in_source(&self, path: &[u8]) {
        let mounts = &self.shared.mounts;
        let MountMatch::Within(number, relative) = mounts.find_mount(path) else {
            return;
        };
        let Some(mount) = mounts.get(number) else {
            return;
        };
        let path = relative.strip_suffix(b"/").unwrap_or(&relative);
        mount.source.invalidate(path);
        if [HEADERS, REDIRECTS]
            .iter()
            .any(|name| name.as_bytes() == path)
        {
            self.make_due_rules_of(number);
        }
        for coding in &self.config().precompressed {
            let extension = coding.extension().unwrap_or_default();
            mount
                .source
                .invalidate(&[path, extension.as_bytes()].concat());
        }
    }

    /// Has all sources compare what they know of paths of the site that begin so.
    fn invalidate_in_sources(&self, prefix: &[u8]) {
        self.for_sources(prefix, |mount, relative| {
            mount.source.invalidate_prefix(relative);
        });
    }

    /// Tells the source of each mount with paths of the site that begin so, by what they begin with there, and has its rules
    /// compared.
    fn for_sources(&self, prefix: &[u8], tell: impl Fn(&Mount, &[u8])) {
        for (number, (own, mount)) in self.shared.mounts.iter().enumerate() {
            let own = [own, b"/"].concat();
            let relative = match own.starts_with(prefix) {
                true => Some(&b""[..]),
                false => prefix.strip_prefix(&*own),
            };
            if let Some(relative) = relative {
                tell(mount, relative);
                self.make_due_rules_of(number);
            }
        }
    }

    fn make_due_rules_of(&self, mount: usize) {
        if let Some(rules) = self.shared.rules(mount) {
            rules.make_due();
        }
    }
}

/// True if a path begins with a prefix; `/blog/` stands for `/blog` as well.
fn is_beneath(path: &[u8], prefix: &[u8]) -> bool {
    path.starts_with(prefix) || prefix.strip_suffix(b"/").is_some_and(|own| own == path)
}

/// The paths at which an answer depends on the file or directory at `path`.
fn keys_of(path: &[u8], index: &[String]) -> Vec<Vec<u8>> {
    let own = path.strip_suffix(b"/").unwrap_or(path);
    let mut keys = vec![own.to_vec(), [own, b"/"].concat()];
    for name in index {
        keys.push([own, b"/", name.as_bytes()].concat());
    }
    let original = original(own);
    keys.extend(original.map(<[u8]>::to_vec));
    for file in [Some(own), original].into_iter().flatten() {
        let name = file_name(file);
        if index.iter().any(|index| index.as_bytes() == name)
            && let Some(directory) = file.strip_suffix(name)
        {
            keys.push(directory.to_vec());
            keys.extend(directory.strip_suffix(b"/").map(<[u8]>::to_vec));
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_roles_of_a_file() {
        fn check(path: &str, expected: &[&str]) {
            let index = ["index.html".to_owned(), "home.html".to_owned()];
            let keys = keys_of(path.as_bytes(), &index);
            let mut keys: Vec<_> = keys
                .iter()
                .map(|key| std::str::from_utf8(key).unwrap())
                .filter(|key| !key.ends_with(".html") || expected.contains(key))
                .collect();
            keys.sort_unstable();
            assert_eq!(keys, expected, "{path}");
        }
        check("/a.js", &["/a.js", "/a.js/"]);
        check("/a.js.br", &["/a.js", "/a.js.br", "/a.js.br/"]);
        let directory = ["/b", "/b/", "/b/home.html", "/b/index.html"];
        check("/b", &directory);
        check("/b/", &directory);
        let index = ["/b", "/b/", "/b/index.html", "/b/index.html/"];
        check("/b/index.html", &index);
        check(
            "/b/index.html.gz",
            &[
                "/b",
                "/b/",
                "/b/index.html",
                "/b/index.html.gz",
                "/b/index.html.gz/",
            ],
        );
        check("/", &["", "/", "/home.html", "/index.html"]);
        check("/index.html", &["", "/", "/index.html", "/index.html/"]);
    }
}
