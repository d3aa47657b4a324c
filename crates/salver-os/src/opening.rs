//! The terms of opening beneath a directory, and what was opened: the same on every system.

use std::fs::File;

use crate::Metadata;

/// The symbolic links that a walk may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// None, wherever in the path.
    None,
    /// Links whose target, at every step, stays beneath the directory. Absolute targets do not.
    #[default]
    Beneath,
    /// All. The directory is then not a confinement.
    Any,
}

/// The resolver of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolver {
    /// The kernel where it can, else [`Resolver::Walk`].
    #[default]
    Kernel,
    /// Component by component in this process; cannot promise not to wait.
    Walk,
}

/// A regular file that was opened for reading.
#[derive(Debug)]
pub struct OpenedFile {
    /// The handle.
    pub file: File,
    /// The metadata of the handle, by `fstat`.
    pub metadata: Metadata,
    /// True if its file system is known to need nobody outside of this machine: only then what is
    /// in the page cache can be read without waiting.
    pub local: bool,
}
