//! A disk that takes its time, and those who read from it.

pub(crate) mod case;
pub(crate) mod clients;
mod disk;
mod local;
mod process;
mod queue;
mod tree;

pub(crate) use disk::DELAY;
pub(crate) use local::OWNER;
pub(crate) use process::{Kind, SlowDisk, serve_if_disk};
pub(crate) use tree::{
    HOT_LENGTH, LARGE_LENGTH, SMALL_LENGTH, Slow, WITH_STUCK, bytes_at, content,
};
