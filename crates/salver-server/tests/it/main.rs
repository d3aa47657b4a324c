//! The integration tests of the server, except those that need a process of their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../quic/mod.rs"]
mod quic;

mod access_log;
mod connections;
mod drain;
mod entrance;
mod example;
mod families;
mod files;
mod http3;
mod http3_addresses;
mod http3_drain;
mod http3_entrance;
mod http3_limits;
mod http3_order;
mod http3_reload;
mod limits;
mod passwords;
mod program;
mod program_misuse;
mod reload;
mod rules;
mod seats;
mod streams;
mod tls;
