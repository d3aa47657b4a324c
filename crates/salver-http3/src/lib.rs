#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`RequestStream::receive`] takes what came on a request's stream, [`PeerStreams`] keeps track of the
//! others that a client opens. [`RenderedHead`] is the head of an answer. A [`StreamFailure`] says whether
//! the answer is a status, or the stream or the connection ends. [`Limits`] has what a client may send, in
//! bytes, and the defaults.
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
pub use error::{Code, ConnectionError, StreamFailure};
pub use request_stream::{Event, RequestStream};
pub use response::{CONTINUE, Fields, RenderedHead, write_data_header, write_head};
pub use salver_fields::Scratch;
pub use salver_semantics::RequestLimits as Limits;
pub use streams::{Instructions, PeerStreams, StreamKind};
