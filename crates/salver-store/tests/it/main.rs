//! A store as whoever changes it sees it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod bucket;
mod bundle;
mod damage;
mod deploy;
mod interrupted;
mod memory_bucket;
mod preview;
mod prune;
mod site;
mod watch;
