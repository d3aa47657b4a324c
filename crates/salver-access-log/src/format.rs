//! The formats of lines.

mod json;
mod text;

use crate::entry::Entry;
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
    /// Appends the line of an entry; `second` is that in which it began.
    pub(crate) fn write(self, entry: &Entry<'_>, second: &RenderedSecond, out: &mut Vec<u8>) {
        match self {
            Format::Common => text::common(entry, second, out),
            Format::Combined => text::combined(entry, second, out),
            Format::Extended => text::extended(entry, second, out),
            Format::Json => json::object(entry, second, out),
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests;
