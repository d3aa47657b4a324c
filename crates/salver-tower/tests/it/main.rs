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

#[cfg(target_os = "linux")]
mod conformance;
mod control;
#[cfg(unix)]
mod examples;
#[cfg(target_os = "linux")]
mod hanging_disk;
mod held;
#[cfg(unix)]
mod moved;
mod pages;
mod servedir;
mod service;
