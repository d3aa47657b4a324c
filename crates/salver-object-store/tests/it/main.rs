//! A bucket as a server sees it: what every source must do, how often the bucket is asked, and what becomes of its faults.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::print_stdout,
    missing_docs
)]

mod by_page;
mod conformance;
mod content;
mod dated_store;
mod engine;
mod faults;
mod invalidation;
mod origin;
mod releases;
mod s3;
mod site;
mod stale;
mod store;
mod table;
mod tier;
