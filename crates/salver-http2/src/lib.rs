#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Connection::receive`] takes what came and says in an [`Event`] what it was; [`Connection`] also says
//! whose [turn](Turn) it is to send. [`RenderedHead`] is the head of an answer. [`Limits`] has what a
//! client may send and have kept, in bytes, and the defaults.
#![forbid(unsafe_code)]

mod connection;
mod error;
mod frame;
pub mod hpack;
mod limits;
mod priority;
mod request;
mod response;
mod streams;

pub use connection::{Connection, Event, Phase, Scratch, Stalled};
pub use error::ErrorCode;
pub use frame::PREFACE;
pub use limits::Limits;
pub use priority::Priority;
pub use request::{Lines, Request};
pub use response::{RenderedHead, render_fields};
pub use streams::Turn;
