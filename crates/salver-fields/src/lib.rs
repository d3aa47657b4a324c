#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`FieldSection`] takes the lines that a decoder of HPACK or QPACK finds and gives the [`RequestHead`].
//! [`Priority`] is the urgency of the answer. [`integer`] and [`string`] read and write the parts of both
//! compressions. The limits are those of [`salver_semantics::RequestLimits`], in bytes.
#![forbid(unsafe_code)]

mod error;
mod huffman;
pub mod integer;
mod line;
mod priority;
mod request;
mod section;
pub mod string;

pub use error::DecodeError;
pub use line::FieldLine;
pub use priority::{Priority, URGENCIES};
pub use request::{FieldLines, Rejection, RequestHead};
pub use section::{FieldSection, Scratch};
