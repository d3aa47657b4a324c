//! Caches within a budget: entries by path and bytes, open files by number, and the order in which either are
//! evicted.

use std::time::Duration;

pub(crate) mod anonymous_content;
pub(crate) mod bounded;
pub(crate) mod content_memory;
pub(crate) mod key;
pub(crate) mod open_files;
pub(crate) mod policy;
pub(crate) mod recent_checks;

/// A time since the engine's epoch in whole microseconds, as an atomic holds it.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
