//! A disk that takes its time, and those who read from it.

pub(crate) mod clients;
mod process;
mod queue;
mod tree;

pub(crate) use process::{SlowDisk, serve_if_disk};
pub(crate) use tree::{
    DELAY, HOT_LENGTH, LARGE_LENGTH, SMALL_LENGTH, Slow, WITH_STUCK, bytes_at, content,
};
