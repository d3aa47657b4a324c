//! What a process has: descriptors and memory. The server has one of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

#[path = "../../../salver-server/tests/common/mod.rs"]
mod common;

mod child;
mod idle_memory;
mod limits;
