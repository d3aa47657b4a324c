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
mod priority;
mod qpack;
mod request;
mod request_stream;
mod response;
mod section;
mod streams;
mod varint;

pub use control::{Control, ControlEvent, goaway, settings};
pub use error::{Code, ConnectionError, Refusal, StreamFailure};
pub use priority::Urgency;
pub use request::{RequestHead, Target};
pub use request_stream::{Event, RequestStream};
pub use response::{CONTINUE, Fields, RenderedHead, write_data_header, write_head};
pub use salver_semantics::RequestLimits as Limits;
pub use section::FieldSection;
pub use streams::{Instructions, PeerStreams, StreamKind};
