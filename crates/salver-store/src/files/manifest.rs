//! The manifest of a release: each path, and what is there.
//!
//! ```text
//! salver-manifest 1
//! created 1764000000
//! files 2 1250
//! 9f86d081… 3f9a1c2b… 1000 1763999000 text/html - index.html
//! 60303ae2… 77af00d1… 250 1763999000 application/octet-stream br=3f9a1c2b… index.html.br
//! end 2c26b46b…
//! ```
//!
//! A line of a file has the SHA-256 by which its blob is named, the digest that its entity tag is made of (XXH3-128),
//! its length in bytes, its last modification in seconds since 1970, its media type, what it is a coding of, and its
//! path. `br=` and a digest say that it is Brotli and decodes to content of that digest. Lines are sorted by the bytes
//! of their paths; what is no printable ASCII in a path, and `%`, is percent-encoded. The last line has the SHA-256 of
//! all lines before it.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::sync::Arc;

use salver_assets::digest::KnownDigests;

use crate::files::digest::BlobDigest;
use crate::files::release_id::ReleaseId;

/// The begin of the last line of a manifest, with the end of the line before it.
const BEFORE_END: &[u8] = b"\nend ";

/// The length of the manifest that bytes begin with, if one has its end in them.
pub(crate) fn length_of(bytes: &[u8]) -> Option<usize> {
    let mut windows = bytes.windows(BEFORE_END.len());
    let last = windows.position(|window| window == BEFORE_END)? + 1;
    let length = bytes.get(last..)?.iter().position(|byte| *byte == b'\n')?;
    Some(last + length + 1)
}

/// The most files of a release.
pub(crate) const MOST_FILES: usize = 1_000_000;

/// The longest path in a release, in bytes: the longest that Linux opens.
pub(crate) const LONGEST_PATH: usize = 4096;

/// The longest manifest, in bytes.
pub(crate) const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// A release: when it was made, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    created: i64,
    files: Vec<ManifestFile>,
    /// The SHA-256 of the lines of its files.
    digest: BlobDigest,
}

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// The path, relative to the root, `/` between segments.
    pub path: Box<[u8]>,
    /// The name of its blob.
    pub blob: BlobDigest,
    /// The digests that the engine goes by. The second is of what a precompressed sibling decodes to.
    pub known: KnownDigests,
    /// The length in bytes.
    pub length: u64,
    /// The last modification, in seconds since 1970.
    pub modified_unix_seconds: i64,
    /// The media type by its name, without parameters.
    pub media_type: Arc<str>,
}

/// What is wrong with the text of a manifest, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The number of the line; the first is 1.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ManifestError {}

impl Manifest {
    /// The moment at which it was made, in seconds since 1970.
    pub fn created_unix_seconds(&self) -> i64 {
        self.created
    }

    /// Its files, sorted by the bytes of their paths.
    pub fn files(&self) -> &[ManifestFile] {
        &self.files
    }

    /// Its files, taken out of it.
    pub(crate) fn into_files(self) -> Vec<ManifestFile> {
        self.files
    }

    /// The bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files
            .iter()
            .fold(0, |sum, file| sum.saturating_add(file.length))
    }

    /// The file at this path.
    pub fn find(&self, path: &[u8]) -> Option<&ManifestFile> {
        let place = self.files.binary_search_by(|file| (*file.path).cmp(path));
        self.files.get(place.ok()?)
    }

    /// True if the name is one of what this holds.
    pub(crate) fn is_named(&self, id: &ReleaseId) -> bool {
        id.is_of(&self.digest)
    }

    /// The name of this release.
    pub(crate) fn id(&self) -> ReleaseId {
        ReleaseId::new(self.created, &self.digest)
    }

    /// The files beneath the directory at this path, and how long what stands before their names is.
    pub(crate) fn beneath(&self, directory: &[u8]) -> (&[ManifestFile], usize) {
        if directory.is_empty() {
            return (&self.files, 0);
        }
        let prefix = [directory, b"/"].concat();
        (self.beginning_with(&prefix), prefix.len())
    }

    /// The files whose paths begin with these bytes.
    pub(crate) fn beginning_with(&self, prefix: &[u8]) -> &[ManifestFile] {
        let start = self.files.partition_point(|file| *file.path < *prefix);
        let rest = self.files.get(start..).unwrap_or_default();
        let count = rest.partition_point(|file| file.path.starts_with(prefix));
        rest.get(..count).unwrap_or_default()
    }

    /// No more than `most` names in the directory at this path, sorted as paths are; empty if there is none.
    pub(crate) fn names(&self, directory: &[u8], most: usize) -> Vec<Vec<u8>> {
        let (mut rest, prefix) = self.beneath(directory);
        let mut names: Vec<Vec<u8>> = Vec::new();
        while let Some(first) = rest.first().filter(|_| names.len() < most) {
            let path = first.path.get(prefix..).unwrap_or_default();
            let name = path.split(|&byte| byte == b'/').next().unwrap_or_default();
            let is_directory = name.len() < path.len();
            names.push(name.to_vec());
            let end = prefix + name.len() + usize::from(is_directory);
            let start = first.path.get(..end).unwrap_or_default();
            // All beneath a directory stand together; a file stands alone.
            let count = match is_directory {
                true => rest.partition_point(|file| file.path.starts_with(start)),
                false => 1,
            };
            rest = rest.get(count..).unwrap_or_default();
        }
        names
    }
}
