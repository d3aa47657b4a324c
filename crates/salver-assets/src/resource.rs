//! Resources: the file at a path with its precompressed siblings, loaded, checked and kept as an entry.

pub(crate) mod build;
pub(crate) mod cached_content;
pub(crate) mod entry;
pub(crate) mod load;
pub(crate) mod locate;
pub(crate) mod representation;
pub(crate) mod shared;
pub(crate) mod sibling_check;
pub(crate) mod siblings;
