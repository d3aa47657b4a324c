//! The formats of lines.

mod json;
mod text;

use crate::entry::{LoggedRequest, LoggedResponse};
use crate::rendered_second::RenderedSecond;

/// The format of lines. Each line ends with one line feed and has no other; each is at most 8 KiB long: what
/// is too long is cut and ends with `...`. Times are UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Format {
    /// Common Log Format:
    /// `192.0.2.1 - jane [22/Nov/2026:13:55:39 +0000] "GET /a?b HTTP/1.1" 200 1024`.
    Common,
    /// Combined Log Format: as [`Common`](Self::Common), and behind it Referer and User-Agent in quotes.
    #[default]
    Combined,
    /// As [`Combined`](Self::Combined), and behind it the host, the duration in seconds, the content coding,
    /// the cache state and the request id, each a word: `example.org 0.000123 br hit 0123…cdef`.
    Extended,
    /// One JSON object a line, with the names of OpenTelemetry where it has one; see the crate's README.
    Json,
}

impl Format {
    /// True if a line has the identifier of its request.
    pub(crate) fn tells_ids(self) -> bool {
        match self {
            Format::Common | Format::Combined => false,
            Format::Extended | Format::Json => true,
        }
    }

    /// Appends the line of a request and its response; `second` is that in which the request began.
    pub(crate) fn write(
        self,
        request: &LoggedRequest<'_>,
        response: &LoggedResponse<'_>,
        second: &RenderedSecond,
        out: &mut Vec<u8>,
    ) {
        if self == Format::Json {
            json::object(request, response, second, out);
        } else {
            text::common(request, response, second, out);
            if self != Format::Common {
                text::client_fields(request, out);
            }
            if self == Format::Extended {
                text::extension(request, response, out);
            }
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests;
