//! The tree that is looked at: the fingerprinted files in it. What has not changed is not listed again.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::time::Duration;

use salver_os::Patience;
use salver_semantics::{ContentCoding, IMMUTABLE, cache_control};

use crate::error::is_absence;
use crate::path::is_hidden;
use crate::source::identity::changed_within;
use crate::source::{Identity, Kind, View};

/// The most names of a tree that are looked at.
const MOST_NAMES: usize = 200_000;

/// The longest path that is looked at, in bytes; it is also what ends a circle of links.
const LONGEST_PATH: usize = 1024;

/// The names beside a file that are looked at, where its own leaves a doubt, as many as by `Cache-Control`.
const NAMES: usize = 256;

/// The age from which on a directory is known by its identity: no change after that has the times of before.
const SETTLED: Duration = Duration::from_secs(3);

const WAIT: Patience = Patience::MayWait;

/// A directory as it was when it was listed.
#[derive(Clone, Debug)]
struct ListedDirectory {
    identity: Identity,
    directories: Vec<Vec<u8>>,
    /// The fingerprinted files.
    files: Vec<Vec<u8>>,
    names: usize,
}

/// A tree as it was at the last look.
#[derive(Debug, Default)]
pub(super) struct WalkedTree {
    directories: HashMap<Vec<u8>, ListedDirectory>,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The paths of fingerprinted files.
    pub(super) files: Vec<Vec<u8>>,
    /// True if there was more than is looked at.
    pub(super) is_cut: bool,
}

impl WalkedTree {
    /// Walks a tree from its root. A directory that goes meanwhile is one that is not there.
    ///
    /// # Errors
    /// A part of it cannot be looked at: nobody knows then what is gone.
    pub(super) fn walk(&mut self, tree: &dyn View, dotfiles: bool) -> io::Result<Found> {
        let mut known = std::mem::take(&mut self.directories);
        let (mut found, mut names) = (Found::default(), 0_usize);
        let mut next: Vec<Vec<u8>> = vec![Vec::new()];
        while let Some(path) = next.pop() {
            let Some(listed) = list(tree, &path, known.remove(&path), dotfiles)? else {
                continue;
            };
            names = names.saturating_add(listed.names);
            if names > MOST_NAMES {
                found.is_cut = true;
                break;
            }
            found.files.extend(listed.files.iter().cloned());
            next.extend(listed.directories.iter().cloned());
            self.directories.insert(path, listed);
        }
        Ok(found)
    }
}

/// A directory, listed unless it is the one that is known; `None` if there is none.
fn list(
    tree: &dyn View,
    path: &[u8],
    known: Option<ListedDirectory>,
    dotfiles: bool,
) -> io::Result<Option<ListedDirectory>> {
    let identity = match tree.stat(path, WAIT) {
        Ok(metadata) if metadata.kind == Kind::Directory => metadata.identity,
        Ok(_) => return Ok(None),
        Err(error) if is_refused(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // Files that are not read yet are looked at again, too.
    let is_settled = |of: &Identity| of.changed.seconds != 0 && !changed_within(of, SETTLED);
    let known = known.filter(|known| known.identity == identity && is_settled(&identity));
    if known.is_some() {
        return Ok(known);
    }
    let names = match tree.names(path, MOST_NAMES + 1) {
        Ok(names) => names,
        Err(error) if is_refused(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut listed = ListedDirectory {
        identity,
        directories: Vec::new(),
        files: Vec::new(),
        names: names.len(),
    };
    for name in &names {
        let within = match path {
            b"" => name.clone(),
            _ => [path, b"/", name].concat(),
        };
        if within.len() > LONGEST_PATH || !dotfiles && is_hidden(&within) {
            continue;
        }
        match tree.stat(&within, WAIT) {
            Ok(metadata) if metadata.kind == Kind::Directory => listed.directories.push(within),
            Ok(metadata) if metadata.kind == Kind::File => {
                if is_fingerprinted(&within, &names) {
                    listed.files.push(within);
                }
            }
            Ok(_) => {}
            Err(error) if is_refused(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(listed))
}

/// True for what is not to be seen, whatever the reason.
fn is_refused(error: &io::Error) -> bool {
    is_absence(error) || error.kind() == ErrorKind::PermissionDenied
}

/// True if a file is the same for ever under its name, by the rule of `Cache-Control`; a coding is as its original.
fn is_fingerprinted(path: &[u8], beside: &[Vec<u8>]) -> bool {
    let path = ContentCoding::of_file_name(path).map_or(path, |(_, original)| original);
    let beside = || Ok::<_, Infallible>(beside.iter().take(NAMES).cloned().collect());
    match cache_control(path, beside) {
        Ok(value) => value == IMMUTABLE,
        Err(never) => match never {},
    }
}

/// True if there is anything of this name in the tree, be it nothing that may be seen.
///
/// # Errors
/// Nobody can tell.
pub(super) fn has_name(tree: &dyn View, path: &[u8]) -> io::Result<bool> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let directory = path.get(..path.len() - name.len()).unwrap_or_default();
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    match tree.list(directory) {
        Ok(names) => Ok(names.iter().any(|known| known == name)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        // Something else is where its directory was.
        Err(error) if is_refused(&error) => Ok(true),
        Err(error) => Err(error),
    }
}
