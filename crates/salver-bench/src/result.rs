//! Results, as values, in words and against bounds.

pub mod latency;
pub mod model;
pub mod report;
pub mod text;
pub mod threshold;
