//! No entries: a build without the feature `listing` reads no directory for them.

use crate::cache::content_memory::ContentMemory;
use crate::error::Stop;
use crate::source::{Patience, View};

/// The entries of a directory, which nobody asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DirectoryListing {}

impl DirectoryListing {
    pub(crate) fn read(
        _: &dyn View,
        _: &[u8],
        _: impl Fn(&[u8]) -> bool,
        _: &ContentMemory,
        _: Patience,
    ) -> Result<Option<Self>, Stop> {
        Ok(None)
    }

    pub(crate) fn weight(&self) -> usize {
        match *self {}
    }
}
