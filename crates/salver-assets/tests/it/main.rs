//! The integration tests of the engine, except those that count what a process allocates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;

mod admission;
mod alternatives;
mod answers;
mod asynchronous;
mod cache_control;
mod cache_status;
mod coalescing;
#[cfg(feature = "compress")]
mod compress;
mod control;
mod conventions;
#[cfg(feature = "compress")]
mod dictionaries;
mod events;
mod freshness;
mod growing;
mod in_memory;
mod listing;
mod mounts;
mod open_files;
mod page_variables;
mod plain;
mod ranges;
mod rest;
mod rules;
mod siblings;
mod sites;
mod torn;
