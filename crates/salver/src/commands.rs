//! One file for each thing that `salver` can do.

pub mod bench_arena;
pub mod bench_compare;
pub mod bench_load;
pub mod serve;
pub mod strategies;
