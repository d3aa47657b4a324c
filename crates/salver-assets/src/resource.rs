//! Resources: the file at a path with its precompressed siblings, or what rules put in its place, loaded, checked
//! and kept as an entry.

mod attempt;
mod build;
pub(crate) mod cached_content;
pub(crate) mod check_table;
pub(crate) mod coding_choice;
mod coding_place;
mod dictionary_asks;
mod dictionary_build;
mod dictionary_place;
pub(crate) mod dictionary_use;
#[cfg_attr(
    not(feature = "listing"),
    path = "resource/directory_listing/absent.rs"
)]
pub(crate) mod directory_listing;
pub(crate) mod engine_pool;
pub(crate) mod engine_state;
pub(crate) mod entry;
mod handles;
pub(crate) mod head;
pub(crate) mod in_flight;
mod known_versions;
#[cfg_attr(not(feature = "listing"), path = "resource/listed_page/absent.rs")]
pub(crate) mod listed_page;
pub(crate) mod load;
pub(crate) mod locate;
mod look;
pub(crate) mod made_codings;
pub(crate) mod makeable;
pub(crate) mod recent_changes;
mod rendered_page;
pub(crate) mod representation;
pub(crate) mod representation_coding;
pub(crate) mod representations;
mod resolve;
pub(crate) mod ruling;
mod sibling_check;
mod sibling_decode;
mod siblings;
pub(crate) mod tree_rules;
