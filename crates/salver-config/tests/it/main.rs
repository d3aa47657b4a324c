//! The integration tests of the settings.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod changes;
mod common;
mod files;
mod generated;
mod machine;
mod precedence;
