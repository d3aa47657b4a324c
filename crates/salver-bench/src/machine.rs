//! What is read of the machine: its processes, what they cost, and what disturbs a measurement.

pub mod disturbance;
pub mod environment;
pub(crate) mod open_files;
pub mod process;
mod process_table;
pub(crate) mod server_cost;
pub(crate) mod serving;
pub(crate) mod thread_time;
