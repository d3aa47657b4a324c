//! Resolving a path by rules and conventions: which file answers for it, or what else does. Nothing is read.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use salver_rules::{Compat, Route};

use crate::config::{Mount, MountMatch};
use crate::conventions::{HTML, NOT_FOUND_PAGE, TrailingSlash, is_rule_file};
use crate::error::{Stop, is_absence};
use crate::path::{file_name, is_hidden};
use crate::resource::directory_listing::DirectoryListing;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::{CacheEntry, EntryRules, Resource};
use crate::resource::locate::{Found, FoundFile, locate};
use crate::resource::ruling::Ruling;
use crate::resource::tree_rules::RulesInForce;
use crate::source::{Kind, Patience, View};

/// The findings of a look.
pub(super) struct Looked {
    pub(super) view: Arc<dyn View>,
    /// The number of the mount in whose tree the file is.
    pub(super) mount: usize,
    pub(super) found: Found,
    /// The rules by which it was found.
    pub(super) rules: EntryRules,
    /// The rules in force, for requests to be judged by.
    pub(super) in_force: Option<Arc<RulesInForce>>,
    /// The moment since which this is known to hold: of the look, or of the comparison of the rules.
    pub(super) began: Duration,
}

impl Looked {
    /// True if `entry` was made by the same rules.
    pub(super) fn is_by_rules_of(&self, entry: &CacheEntry) -> bool {
        entry.rules.generation == self.rules.generation
    }

    /// The resource where there is no file.
    pub(super) fn without_file(&self) -> Resource {
        match &self.found {
            Found::Directory => Resource::Directory,
            Found::Redirect => Resource::Redirect,
            Found::Moved(path) => Resource::Moved(path.clone()),
            Found::Error {
                status, is_absent, ..
            } => Resource::Error {
                status: *status,
                is_absent: *is_absent,
                page: None,
            },
            Found::ByRequest => match &self.in_force {
                Some(rules) => Resource::ByRequest(Arc::clone(rules)),
                None => Resource::Missing,
            },
            Found::Listing(listing) => Resource::Listing(Arc::clone(listing)),
            Found::Missing | Found::File(_) => Resource::Missing,
        }
    }
}

/// The result of resolving a path, and the tree that its file is in.
pub(super) struct Resolved {
    pub(super) view: Arc<dyn View>,
    /// The number of the mount.
    pub(super) mount: usize,
    pub(super) found: Found,
}

/// A file of the site: its tree, the number of its mount, and its path there.
type FileOfSite = (Arc<dyn View>, usize, FoundFile);

/// A tree in which a path is looked up.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) shared: &'a EngineState,
    pub(super) view: &'a Arc<dyn View>,
    /// The number of its mount.
    pub(super) number: usize,
    pub(super) mount: &'a Mount,
    pub(super) patience: Patience,
}

impl Tree<'_> {
    /// Resolves the path `relative` to this tree by `ruling`, if there are rules.
    pub(super) fn resolve(
        &self,
        relative: &[u8],
        ruling: Option<&Ruling>,
    ) -> Result<Resolved, Stop> {
        let own = |found| Resolved {
            view: Arc::clone(self.view),
            mount: self.number,
            found,
        };
        let route = ruling.and_then(|ruling| ruling.route.as_ref());
        let file_goes_before = match route {
            None | Some(Route::Preflight { .. }) => true,
            Some(Route::Redirect { unless_file, .. } | Route::Rewrite { unless_file, .. }) => {
                *unless_file
            }
            Some(Route::Deny { .. }) => false,
        };
        if file_goes_before {
            let found = self.look(relative)?;
            if route.is_none() || self.is_file(&found, relative)? {
                return match found {
                    Found::Missing => match self.listing(relative)? {
                        Some(listing) => Ok(own(Found::Listing(Arc::new(listing)))),
                        None => self.error(404, relative, ruling, true),
                    },
                    found => Ok(own(found)),
                };
            }
        }
        match route {
            Some(Route::Redirect { .. }) => Ok(own(Found::Redirect)),
            Some(Route::Rewrite { status, paths, .. }) => {
                for path in paths {
                    if let Some((view, mount, file)) = self.file_at(path)? {
                        let found = match *status {
                            200 => Found::File(file),
                            status => Found::Error {
                                status,
                                is_absent: false,
                                page: Some(file),
                            },
                        };
                        return Ok(Resolved { view, mount, found });
                    }
                }
                self.error(404, relative, ruling, true)
            }
            Some(Route::Deny { status }) => self.error(*status, relative, ruling, false),
            None | Some(Route::Preflight { .. }) => self.error(404, relative, ruling, true),
        }
    }

    /// Looks up a path of this tree.
    fn look(&self, relative: &[u8]) -> Result<Found, Stop> {
        let found = self.locate(relative)?;
        match self.mount.clean_urls {
            None => Ok(found),
            Some(policy) => self.clean(relative, found, policy),
        }
    }

    /// The entries of the directory at a path that asks for one, if this tree lists them.
    fn listing(&self, relative: &[u8]) -> Result<Option<DirectoryListing>, Stop> {
        let directory = match relative {
            b"" => Some(relative),
            _ => relative.strip_suffix(b"/"),
        };
        let Some(directory) = directory.filter(|_| self.mount.listing().is_some()) else {
            return Ok(None);
        };
        let hides_dotfiles = !self.shared.config.dotfiles;
        let hides_rules = self.mount.conventions().is_some();
        let is_shown =
            |path: &[u8]| !(hides_dotfiles && is_hidden(path) || hides_rules && is_rule_file(path));
        if self.shared.memory_is_full() && self.patience == Patience::MayWait {
            return Err(Stop::Io(io::ErrorKind::OutOfMemory.into()));
        }
        let (contents, patience) = (&self.shared.pool.contents, self.patience);
        DirectoryListing::read(&**self.view, directory, is_shown, contents, patience)
    }

    /// Looks up a path of this tree, of which files of rules are no part.
    fn locate(&self, relative: &[u8]) -> Result<Found, Stop> {
        let found = locate(&**self.view, relative, &self.shared.config, self.patience)?;
        let hides = self.mount.conventions().is_some();
        Ok(match found {
            Found::File(file) if hides && is_rule_file(&file.path) => Found::Missing,
            found => found,
        })
    }

    /// True if what was found is a file, which goes before a route that says so. A folder is one by its index.
    fn is_file(&self, found: &Found, relative: &[u8]) -> Result<bool, Stop> {
        Ok(match found {
            Found::Directory => {
                matches!(self.locate(&[relative, b"/"].concat())?, Found::File(_))
            }
            Found::Missing => false,
            _ => true,
        })
    }

    /// The file at a path of the site, with its tree: in another mount perhaps.
    fn file_at(&self, path: &[u8]) -> Result<Option<FileOfSite>, Stop> {
        let mounts = &self.shared.mounts;
        let (number, relative) = match mounts.find_mount(path) {
            MountMatch::Within(number, relative) => (number, relative),
            MountMatch::Redirect => match mounts.number_of(path) {
                Some(number) => (number, Vec::new()),
                None => return Ok(None),
            },
            MountMatch::Nowhere => return Ok(None),
        };
        if !self.shared.config.dotfiles && is_hidden(&relative) {
            return Ok(None);
        }
        let Some(mount) = mounts.get(number) else {
            return Ok(None);
        };
        let other;
        let view = if number == self.number {
            self.view
        } else {
            other = match mount.source.view(self.patience) {
                Err(error) if is_absence(&error) => return Ok(None),
                view => view?,
            };
            &other
        };
        let tree = Tree {
            view,
            number,
            mount,
            ..*self
        };
        let mut found = tree.locate(&relative)?;
        if found == Found::Directory {
            found = tree.locate(&[&relative, &b"/"[..]].concat())?;
        }
        if found == Found::Missing && mount.clean_urls.is_some() {
            found = match tree.page(&relative)? {
                Some(page) => Found::File(page),
                None => Found::Missing,
            };
        }
        Ok(match found {
            Found::File(file) => Some((Arc::clone(view), number, file)),
            _ => None,
        })
    }

    /// The answer of an error: with the page that rules name for it, or with the nearest `404.html`.
    fn error(
        &self,
        status: u16,
        relative: &[u8],
        ruling: Option<&Ruling>,
        is_absent: bool,
    ) -> Result<Resolved, Stop> {
        let named = ruling.and_then(|ruling| ruling.page(status));
        let mut page = match named {
            Some(path) => self.file_at(path)?,
            None => None,
        };
        if page.is_none() && status == 404 && self.mount.conventions().is_some() {
            let nearest = self.nearest_page(relative)?;
            page = nearest.map(|file| (Arc::clone(self.view), self.number, file));
        }
        let (view, mount, page) = match page {
            Some((view, mount, page)) => (view, mount, Some(page)),
            None => (Arc::clone(self.view), self.number, None),
        };
        let found = match page {
            None if is_absent && status == 404 => Found::Missing,
            page => Found::Error {
                status,
                is_absent,
                page,
            },
        };
        Ok(Resolved { view, mount, found })
    }

    /// The `404.html` in the deepest directory that leads to a path. Only directories that are there are looked into:
    /// a path may be long.
    fn nearest_page(&self, relative: &[u8]) -> Result<Option<FoundFile>, Stop> {
        let mut nearest = None;
        let mut directory = Vec::new();
        let mut segments = relative.split(|&byte| byte == b'/').peekable();
        loop {
            let page = [&directory[..], NOT_FOUND_PAGE].concat();
            if let Found::File(file) = self.locate(&page)? {
                nearest = Some(file);
            }
            let Some(segment) = segments.next() else {
                break;
            };
            if segments.peek().is_none() || segment.is_empty() {
                break;
            }
            directory.extend_from_slice(segment);
            match self.view.stat(&directory, self.patience) {
                Ok(metadata) if metadata.kind == Kind::Directory => directory.push(b'/'),
                Ok(_) => break,
                Err(error) if is_absence(&error) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(nearest)
    }

    /// The page at a path without its ending.
    fn page(&self, path: &[u8]) -> Result<Option<FoundFile>, Stop> {
        if path.is_empty() || path.ends_with(b"/") {
            return Ok(None);
        }
        Ok(match self.locate(&[path, HTML].concat())? {
            Found::File(file) => Some(file),
            _ => None,
        })
    }

    /// The index of a directory.
    fn index(&self, path: &[u8]) -> Result<Option<FoundFile>, Stop> {
        let directory = match path {
            b"" => Vec::new(),
            path => [path, b"/"].concat(),
        };
        Ok(match self.locate(&directory)? {
            Found::File(file) => Some(file),
            _ => None,
        })
    }

    /// What answers for a path with clean URLs, where `found` is what is there.
    fn clean(&self, relative: &[u8], found: Found, policy: TrailingSlash) -> Result<Found, Stop> {
        let (path, has_slash) = match relative.strip_suffix(b"/") {
            Some(path) => (path, true),
            None => (relative, relative.is_empty()),
        };
        if path.is_empty() {
            return Ok(found);
        }
        let moved = |path: &[u8], slash: bool| Ok(moved(path, slash));
        // Where a page and a folder have one path, the hosts differ.
        let page_first = self
            .mount
            .conventions()
            .is_some_and(|conventions| conventions.compat == Compat::Cloudflare);
        if has_slash {
            return match (found, policy) {
                (Found::File(_), TrailingSlash::Never) => moved(path, false),
                (Found::File(file), _) => Ok(Found::File(file)),
                (found, policy) => match (self.page(path)?, policy) {
                    (None, _) => Ok(found),
                    (Some(page), TrailingSlash::Always) => Ok(Found::File(page)),
                    (Some(_), _) => moved(path, false),
                },
            };
        }
        let page = || self.page(path);
        match found {
            Found::File(file) => match self.clean_path_of(path)? {
                Some((path, slash)) => moved(
                    path,
                    slash && policy != TrailingSlash::Never || policy == TrailingSlash::Always,
                ),
                None => Ok(Found::File(file)),
            },
            Found::Directory => {
                let index = self.index(path)?;
                match (index, policy) {
                    (Some(_), _) if page_first && let Some(page) = page()? => {
                        self.at_page(path, page, policy)
                    }
                    (Some(index), TrailingSlash::Never) => Ok(Found::File(index)),
                    (Some(_), _) => Ok(Found::Directory),
                    (None, _) => match page()? {
                        Some(page) => self.at_page(path, page, policy),
                        None => Ok(Found::Directory),
                    },
                }
            }
            Found::Missing => match page()? {
                Some(page) => self.at_page(path, page, policy),
                None => Ok(Found::Missing),
            },
            found => Ok(found),
        }
    }

    /// The answer at the path of a page without its ending and without a slash.
    fn at_page(&self, path: &[u8], page: FoundFile, policy: TrailingSlash) -> Result<Found, Stop> {
        // `/blog/index` would be a second path of `/blog/`.
        if let Some((path, slash)) = self.clean_path_of(&page.path)?
            && slash
        {
            return Ok(moved(path, policy != TrailingSlash::Never));
        }
        Ok(match policy {
            TrailingSlash::Always => moved(path, true),
            TrailingSlash::Auto | TrailingSlash::Never => Found::File(page),
        })
    }

    /// The clean path of the page in the file at `path`, and true if it is that of a folder; `None` if it is the
    /// file's own: because it is no page, or because something else has that path.
    fn clean_path_of<'p>(&self, path: &'p [u8]) -> Result<Option<(&'p [u8], bool)>, Stop> {
        let name = file_name(path);
        let Some(stem) = path.strip_suffix(HTML) else {
            return Ok(None);
        };
        let first = self.shared.config.index.first();
        if first.is_some_and(|index| index.as_bytes() == name) {
            let folder = path.strip_suffix(name).unwrap_or_default();
            return Ok(Some((folder.strip_suffix(b"/").unwrap_or(folder), true)));
        }
        if file_name(stem).is_empty() || name == NOT_FOUND_PAGE {
            return Ok(None);
        }
        let is_taken = match self.locate(stem)? {
            Found::Missing => false,
            Found::Directory => self.index(stem)?.is_some(),
            _ => true,
        };
        Ok((!is_taken).then_some((stem, false)))
    }
}

/// A redirect to a path of the tree, with a slash or without; the root has the one of its own.
fn moved(path: &[u8], slash: bool) -> Found {
    let end: &[u8] = if slash && !path.is_empty() { b"/" } else { b"" };
    Found::Moved([path, end].concat())
}
