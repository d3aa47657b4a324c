//! The requests of a measurement: from URLs, a directory, or a list.

pub mod order;
mod requests_file;
pub mod workload;
