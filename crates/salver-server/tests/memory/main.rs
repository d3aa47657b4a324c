//! The tests that weigh their own process, which has the server in it: one at a time, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../quic/mod.rs"]
mod quic;

mod files;
mod http3;
