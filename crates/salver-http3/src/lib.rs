#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`RequestStream::receive`] takes the bytes received on a request's stream, [`PeerStreams`] keeps track of the
//! others that a client opens. [`RenderedHead`] is the head of an answer. A [`StreamFailure`] is a refusal to
//! answer with, or the end of the stream or the connection. [`Limits`] has the bounds of what a client may send, in bytes,
//! and the defaults.
#![forbid(unsafe_code)]

mod control;
mod error;
mod frame;
mod qpack;
mod request_stream;
mod response;
mod streams;
mod varint;

pub use control::{Control, ControlEvent, goaway, settings};
pub use error::{ConnectionError, ErrorCode, StreamFailure};
pub use request_stream::{Event, RequestStream};
pub use response::{CONTINUE, RenderedFields, RenderedHead, write_data_header, write_trailers};
pub use salver_fields::Scratch;
pub use salver_semantics::RequestLimits as Limits;
pub use streams::{Instructions, PeerStreams, StreamKind};
