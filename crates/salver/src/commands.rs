//! One file for each thing that `salver` can do.

pub mod bench;
pub mod check;
pub mod serve;
pub mod written;
