//! The integration tests of the program, except those that need a process of their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;

mod bench_cache;
mod bench_coalesce;
mod bench_compare;
mod bench_load;
mod bench_transport;
mod bench_ui;
mod cli;
mod conformance;
mod conformance_program;
mod curl;
mod direction;
mod ending;
mod floods;
mod help;
mod recipes;
mod said;
mod strategies;
mod tls;
mod variables;
