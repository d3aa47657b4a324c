#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that panics has failed, as it should"
)]

pub mod allocations;
mod alone;
#[cfg(feature = "certificate")]
mod certificate;
pub mod machine;
mod memory;
pub mod program;
mod refusing;
mod schema;
mod skip;
mod wakes;

pub use alone::alone;
#[cfg(feature = "certificate")]
pub use certificate::Certificate;
pub use memory::status_kib;
pub use refusing::Refusing;
pub use schema::Schema;
pub use skip::{cannot_be_shown, not_judged};
pub use wakes::Wakes;
