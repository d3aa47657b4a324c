//! Resources: the file at a path with its precompressed siblings, loaded, checked and kept as an entry.

mod attempt;
mod build;
pub(crate) mod cached_content;
pub(crate) mod check_table;
pub(crate) mod engine_state;
pub(crate) mod entry;
mod handles;
pub(crate) mod in_flight;
pub(crate) mod load;
pub(crate) mod locate;
pub(crate) mod representation;
mod sibling_check;
mod sibling_decode;
mod siblings;
