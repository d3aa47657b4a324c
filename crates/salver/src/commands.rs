//! One file for each thing that `salver` can do.

pub mod bench_cache;
pub mod bench_coalesce;
pub mod bench_compare;
pub mod bench_http;
pub mod bench_load;
pub mod bench_staleness;
pub mod bench_ui;
pub mod check;
pub mod live_view;
mod own_server;
mod scratch;
pub mod serve;
pub mod strategies;
pub mod written;
