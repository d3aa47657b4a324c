//! HTTP/3 streams (RFC 9114) and QPACK (RFC 9204) for a server, without I/O.
//!
//! QUIC has given order and flow control to each stream already; what is left is to divide the
//! bytes of a stream into frames, and field sections into fields. Bytes of a stream go in, events
//! come out; bytes to send are written into a buffer that the caller owns.
//!
//! This crate never touches a socket, a file, a clock or a thread, and never waits. It never holds
//! more of a stream than one field section within its limits: content is counted and dropped, what
//! it does not know is skipped as it comes. It never uses the dynamic table of QPACK, so that no
//! stream ever waits for another one and no client has a say in what the server remembers: the
//! heads of answers are encoded once and then only copied.
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
