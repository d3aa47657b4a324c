//! The events on a connection.

use salver_fields::{FieldLines, RequestHead};
use salver_semantics::{Method, Refusal};

/// An event on a connection, given by the bytes so far.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all events are requests")]
pub enum Event<'s, T> {
    /// No event yet: call again when there is more input.
    Incomplete,
    /// An event that is of no use to the caller: call again with the rest of the input.
    Again,
    /// A request, to be answered by [`Connection::respond`](super::Connection::respond), now or later.
    Request {
        /// Its stream.
        stream: u32,
        /// The request.
        request: RequestHead<'s>,
        /// False if [content](Event::Content) follows, which it does only for a [program](crate::Limits::for_program).
        is_whole: bool,
    },
    /// A piece of the content of a request that was given. Each piece comes once, and is to be
    /// [released](super::Connection::release) once the caller has done with it.
    Content {
        /// Its stream.
        stream: u32,
        /// The next piece of the content.
        content: &'s [u8],
        /// True if it is the last.
        ends: bool,
    },
    /// The trailer section of a request that was given, which ends its content.
    Trailers {
        /// Its stream.
        stream: u32,
        /// Its lines.
        lines: FieldLines<'s>,
    },
    /// A request to be answered with its refusal by [`Connection::respond`](super::Connection::respond), now or later. One that was given is to be
    /// answered like this if it has not been answered yet.
    Refused {
        /// Its stream.
        stream: u32,
        /// Its method, if it is known.
        method: Option<Method>,
        /// The status, and a sentence for people.
        refusal: Refusal,
    },
    /// A stream that was reset: its request is withdrawn, or its answer is not wanted any more.
    Cancelled {
        /// The stream.
        stream: u32,
        /// The content of its answer, if it was being sent.
        content: Option<T>,
    },
    /// The end of the connection: send all output, and close.
    Ended,
}
