//! The files of a directory, as a deploy over the network sends them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use crate::error::Error;
use crate::event::{Event, Listener};
use crate::files::digest::BlobDigest;
use crate::files::manifest::Manifest;
use crate::files::time::unix_seconds;
use crate::writer::deploy::{DeployOptions, hashed};
use crate::writer::tree::{Tree, TreeFile};

/// The files of a directory that was read once, and what a manifest says of them.
pub struct SiteFiles {
    tree: Tree,
    manifest: Manifest,
    /// The place of the first file that has a blob's content.
    places: BTreeMap<BlobDigest, usize>,
}

impl SiteFiles {
    /// Reads a directory, by the rules of a deploy.
    ///
    /// # Errors
    /// It is none, it holds no files, or one of them cannot be read.
    pub fn read(
        directory: &Path,
        options: &DeployOptions,
        listener: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let tree = Tree::walk(directory, options.symlinks, options.dotfiles, listener)?;
        let lengths = tree.files.iter().map(|file| file.identity.length);
        listener(Event::Expected(lengths.fold(0, u64::saturating_add)));
        let files = hashed(&tree, listener)?;
        let mut places = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            places.entry(file.blob).or_insert(place);
        }
        Ok(SiteFiles {
            manifest: Manifest::new(unix_seconds(options.now), files),
            tree,
            places,
        })
    }

    /// What a manifest says of them, but for verdicts on codings: whoever receives it makes these.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Appends bytes of a blob from this offset on, at most so many.
    ///
    /// # Errors
    /// No file has it, or not any more.
    pub fn read_blob(
        &self,
        blob: &BlobDigest,
        offset: u64,
        most: u64,
        to: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let file = self.file(blob).ok_or_else(|| {
            Error::Misused(format!("the server wants {blob}, which no file here has"))
        })?;
        self.tree.read_from(file, offset, |reader| {
            reader.take(most).read_to_end(to).map(drop)
        })
    }

    fn file(&self, blob: &BlobDigest) -> Option<&TreeFile> {
        self.tree.files.get(*self.places.get(blob)?)
    }
}
