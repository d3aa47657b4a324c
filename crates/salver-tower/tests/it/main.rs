//! The integration tests of the service.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;

mod conformance;
mod control;
mod examples;
#[cfg(target_os = "linux")]
mod hanging_disk;
mod held;
mod moved;
mod pages;
mod servedir;
mod service;
