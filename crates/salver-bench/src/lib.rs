//! Measures HTTP servers: a [load](load::run), an honest comparison of two, and the results as
//! values that a person and a program can read.
//!
//! This crate never uses anything of the server: an A/B is fair only if the judge belongs to no
//! party, and a bug that both shared would cancel out. It never drops an error from a result, never
//! prints a figure that it did not measure, never measures two things at once, and never calls a
//! difference a gain that its interval does not show.
#![forbid(unsafe_code)]

mod answer;
pub mod arena;
pub mod burst;
mod caller;
mod chunks;
mod coding;
pub mod compare;
mod connection;
pub mod environment;
pub mod error;
mod expected;
mod head;
pub mod latency;
mod ledger;
pub mod load;
mod message;
pub mod model;
pub mod order;
mod poller;
pub mod process;
mod process_table;
pub mod report;
mod schedule;
pub mod server_cost;
mod sitemap;
mod streams;
mod survey;
mod tally;
pub mod target;
pub mod text;
mod thread;
mod tls;
pub mod transport;
pub mod ui;
mod wire;
mod worker;
pub mod workload;
