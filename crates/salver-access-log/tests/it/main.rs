//! The integration tests of the access log.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod common;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod stalled;
mod writing;
