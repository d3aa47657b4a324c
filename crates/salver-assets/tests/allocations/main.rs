//! The tests that count or weigh what this process allocates: one at a time, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use salver_test::allocations::Counting;

#[path = "../common/mod.rs"]
mod common;

mod budget;
mod hits;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
