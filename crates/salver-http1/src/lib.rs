//! HTTP/1.1 messages (RFC 9112) for a server, without I/O.
//!
//! Bytes that were received go in, events come out: a request to answer, a body that
//! follows, a refusal. Bytes to send are written into a buffer that the caller owns.
//!
//! This crate never touches a socket, a file, a clock or a thread, never waits, never keeps a
//! reference to the limits it was given, and never guesses where a message ends: where the framing
//! is in doubt the answer is a [`Refusal`], after which the connection is closed. It never holds
//! the content of a request either: that is counted, and given to who has a use for it.
//!
//! ```
//! use salver_http1::{Connection, Event, Limits, Target};
//!
//! let limits = Limits::default();
//! let mut connection = Connection::new();
//! let input = b"GET /app.js?v=1 HTTP/1.1\r\nHost: example.org\r\n\r\n";
//! let (consumed, event) = connection.receive(&limits, input, None);
//! assert_eq!(consumed, input.len());
//! let Event::Request(head) = event else { panic!("{event:?}") };
//! assert_eq!(head.target, Target::Path { path: b"/app.js", query: Some(b"v=1") });
//! assert!(head.persistent);
//! ```
#![forbid(unsafe_code)]

mod body;
mod chunked;
mod connection;
mod error;
mod fields;
mod framing;
mod host;
mod limits;
mod request;
mod request_line;
mod response;
mod scan;
mod section;
mod target;

pub use body::BodyDecoder;
pub use connection::{Connection, Event, Phase};
pub use error::Refusal;
pub use framing::BodyLength;
pub use host::authority;
pub use limits::{FIELDS_AT_MOST, Limits};
pub use request::{OwnedRequestHead, RawHead, RequestHead, parse};
pub use request_line::Version;
pub use response::{CONTINUE, Persistence, RenderedHead, TAIL_AT_MOST, reason_phrase, write_head};
pub use salver_semantics::Method;
pub use salver_semantics::RequestFields;
pub use target::Target;
