//! HTTP/2 (RFC 9113), HPACK (RFC 7541) and priorities (RFC 9218) for a server, without I/O.
//!
//! Bytes that were received go in, events come out: a request to answer, an answer that is no longer
//! wanted, the end. Heads of answers and the headers of DATA frames are written into a buffer that
//! the caller owns; content never passes through here, so it is never copied here.
//!
//! This crate never touches a socket, a file, a clock or a thread, never waits, and never keeps the
//! content of a request: a file server has no use for it, so it is counted and dropped. It never
//! pushes, and never uses a dynamic table for what it sends: a head is rendered once and stands for
//! itself on any connection. What a client can have it keep is bounded by [`Limits`]; who sends
//! frames that lead to nothing is told to calm down, and then goes.
//!
//! ```
//! use salver_http2::{Connection, Event, Limits, PREFACE, Scratch};
//!
//! let (limits, mut scratch, mut out) = (Limits::default(), Scratch::default(), Vec::new());
//! let mut connection = Connection::<()>::new();
//! connection.begin(&limits, &mut out);
//! let settings = b"\0\0\0\x04\0\0\0\0\0";
//! // GET, http, /, and an authority as a literal (RFC 7541 appendix C.3.1).
//! let head = b"\x82\x86\x84\x41\x0fwww.example.com";
//! let input = [&PREFACE[..], settings, b"\0\0\x14\x01\x05\0\0\0\x01", head].concat();
//! let (consumed, event) = connection.receive(&limits, &input, 0, &mut scratch, &mut out);
//! assert_eq!(consumed, input.len());
//! let Event::Request { stream: 1, request, .. } = event else { panic!("{event:?}") };
//! assert_eq!(&*request.path, b"/");
//! ```
#![forbid(unsafe_code)]

mod connection;
mod error;
mod frame;
pub mod hpack;
mod limits;
mod patience;
mod priority;
mod request;
mod response;
mod streams;

pub use connection::{Connection, Event, Phase, Scratch};
pub use error::ErrorCode;
pub use frame::PREFACE;
pub use limits::Limits;
pub use priority::Priority;
pub use request::{Lines, Request};
pub use response::{RenderedHead, render_fields};
pub use streams::Turn;
