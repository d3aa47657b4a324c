//! The integration tests of the measuring tool, except `truth`, which wants the machine for itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs
)]

mod compare;
mod load;
mod page;
mod protocols;
mod schema;
mod staleness;
