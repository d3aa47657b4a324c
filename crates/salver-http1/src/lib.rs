#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Connection::receive`] takes the bytes received and gives an [`Event`], or a [`Refusal`] with which the
//! connection ends. [`write_head`] writes the head of an answer, [`RenderedHead`] one that is used often. [`Limits`]
//! has what a client may send, in bytes, and the defaults.
#![forbid(unsafe_code)]

mod body;
mod chunked;
mod connection;
mod error;
mod fields;
mod framing;
mod host;
mod limits;
mod raw_head;
mod request;
mod request_line;
mod response;
mod scan;
mod section;
mod target;

pub use body::{BodyBuffer, BodyDecoder, trailer_lines};
pub use connection::{Connection, Event, Phase};
pub use framing::BodyLength;
pub use host::authority;
pub use limits::{FIELDS_AT_MOST, Limits};
pub use raw_head::RawHead;
pub use request::{OwnedRequestHead, RequestHead, parse};
pub use request_line::{Version, request_method};
pub use response::{
    CHUNK_END, CHUNKED, CONTINUE, Persistence, RenderedHead, TAIL_AT_MOST, reason_phrase,
    write_chunk_begin, write_head, write_last_chunk,
};
pub use salver_semantics::{Method, Refusal, RequestFields};
pub use target::RequestTarget;
