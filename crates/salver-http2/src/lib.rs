#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Connection::receive`] takes the bytes received and gives an [`Event`]; [`Connection::next_turn`] chooses the
//! stream that sends next. [`RenderedHead`] is the head of an answer. [`Limits`] has the bounds of what a client may
//! send and have kept, in bytes, and the defaults.
#![forbid(unsafe_code)]

mod connection;
mod error;
mod frame;
mod hpack;
mod limits;
mod response;
mod streams;

pub use connection::{Connection, Event, Phase, Stalled};
pub use error::ErrorCode;
pub use frame::PREFACE;
pub use limits::Limits;
pub use response::{RenderedHead, render_fields};
pub use salver_fields::Scratch;
pub use streams::{SendTurn, UNKNOWN_LENGTH};
