//! The files of a directory: those that a server would show. Links are never followed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use salver_assets::is_hidden;
use salver_coding::{Compressibility, CompressibleTypes, ContentCoding};

use super::new_file::is_leftover;
use super::original::Version;

/// Files at the top that are rules for the server, and never sent.
const RULES: [&str; 2] = ["_headers", "_redirects"];

/// A file that might be compressed.
#[derive(Clone, Debug)]
pub(super) struct TreeFile {
    /// Its path beneath the directory.
    pub(super) path: PathBuf,
    pub(super) version: Version,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Files that are no siblings, the longest first, so that no thread begins it last.
    pub(super) files: Vec<TreeFile>,
    /// Siblings whose file is gone.
    pub(super) orphans: Vec<PathBuf>,
    /// What runs left that were killed.
    pub(super) leftovers: Vec<PathBuf>,
    /// Directories and files that could not be looked at, and why.
    pub(super) failures: Vec<(PathBuf, io::Error)>,
}

impl Tree {
    /// Walks through a directory. `types` tell an orphaned sibling from a file that is offered in a coding.
    pub(super) fn walk(root: &Path, types: &CompressibleTypes) -> Tree {
        let mut tree = Tree::default();
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            let entries = fs::read_dir(root.join(&directory)).and_then(Iterator::collect);
            let entries: Vec<DirEntry> = match entries {
                Ok(entries) => entries,
                Err(error) => {
                    tree.failures.push((directory, error));
                    continue;
                }
            };
            let names: HashSet<OsString> = entries.iter().map(DirEntry::file_name).collect();
            for entry in &entries {
                let name = entry.file_name();
                let path = directory.join(&name);
                let metadata = match entry.metadata() {
                    Ok(metadata) => metadata,
                    // It has gone meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        tree.failures.push((path, error));
                        continue;
                    }
                };
                let name = name.as_encoded_bytes();
                if metadata.is_file() && is_leftover(name) {
                    tree.leftovers.push(path);
                    continue;
                }
                if is_hidden(&slashed(&path)) {
                    continue;
                }
                if metadata.is_dir() {
                    directories.push(path);
                    continue;
                }
                // A link, or what is no file either, is left alone.
                if !metadata.is_file() {
                    continue;
                }
                if let Some((coding, original)) = ContentCoding::of_file_name(name) {
                    let stem = path.file_stem();
                    let is_there = stem.is_some_and(|stem| names.contains(stem));
                    if is_sibling_name(original, coding, types) && !is_there {
                        tree.orphans.push(path);
                    }
                } else if !(directory.as_os_str().is_empty() && is_rules(name)) {
                    let version = Version::of(&metadata);
                    tree.files.push(TreeFile { path, version });
                }
            }
        }
        let order = |file: &TreeFile| std::cmp::Reverse(file.version.length());
        tree.files
            .sort_by(|one, other| (order(one), &one.path).cmp(&(order(other), &other.path)));
        tree.orphans.sort();
        tree.failures.sort_by(|(one, _), (other, _)| one.cmp(other));
        tree
    }
}

/// A path beneath the directory as a request would have it.
fn slashed(path: &Path) -> Vec<u8> {
    let segments = path.components();
    let segments: Vec<_> = segments
        .map(|segment| segment.as_os_str().as_encoded_bytes())
        .collect();
    segments.join(&b'/')
}

fn is_rules(name: &[u8]) -> bool {
    RULES.iter().any(|rules| rules.as_bytes() == name)
}

/// True if a coded file was made for one of this name: `page.html.gz` was, `backup.tar.gz` and `data.gz` are offered as
/// they are. Brotli is used for nothing else.
fn is_sibling_name(original: &[u8], coding: ContentCoding, types: &CompressibleTypes) -> bool {
    if original.is_empty() || ContentCoding::of_file_name(original).is_some() {
        return false;
    }
    match types.of_file(original) {
        Compressibility::Yes => true,
        Compressibility::Unknown => coding == ContentCoding::Brotli,
        Compressibility::No => false,
    }
}
