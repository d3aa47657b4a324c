//! Whole messages through [`salver_http1::Connection`], in whatever pieces they come.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod accepted;
mod divided;
mod driver;
mod refused;
