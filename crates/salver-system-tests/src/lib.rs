#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "a test that panics has failed, as it should"
)]

mod disk;
mod local;
mod process;
mod queue;
mod tree;

pub use disk::DELAY;
pub use local::OWNER;
pub use process::{Kind, SlowDisk, Work, serve};
pub use tree::{HOT_LENGTH, LARGE_LENGTH, SMALL_LENGTH, Slow, WITH_STUCK, bytes_at, content};
