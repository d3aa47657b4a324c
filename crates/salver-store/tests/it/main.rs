//! A store as whoever changes it sees it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    missing_docs
)]

mod damage;
mod deploy;
mod interrupted;
mod preview;
mod prune;
mod site;
