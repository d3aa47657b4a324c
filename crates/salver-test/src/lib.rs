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

#[cfg(unix)]
pub mod allocations;
mod alone;
#[cfg(feature = "certificate")]
mod certificate;
mod head;
pub mod machine;
mod memory;
mod overwrite;
#[cfg(unix)]
pub mod program;
#[cfg(unix)]
mod refusing;
mod schema;
mod skip;
mod wakes;

pub use alone::alone;
#[cfg(feature = "certificate")]
pub use certificate::Certificate;
pub use head::request_head;
pub use memory::status_kib;
pub use overwrite::overwrite;
#[cfg(unix)]
pub use refusing::Refusing;
pub use schema::Schema;
pub use skip::{cannot_be_shown, not_judged};
pub use wakes::Wakes;
