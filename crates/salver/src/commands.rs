//! One file for each thing that `salver` can do.

pub mod serve;
pub mod strategies;
