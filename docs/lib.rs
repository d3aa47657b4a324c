//! Every block of Rust in the documentation of this repository, compiled by
//! `cargo test -p salver-docs`, and run where it can be.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("library.md")]
mod library {}

#[cfg(doctest)]
#[doc = include_str!("from-servedir.md")]
mod from_servedir {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
