//! A response's status line and field section to bytes (RFC 9112 sections 4 and 5).

use salver_semantics::field::is_token;

/// The interim response that lets a client send its content (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Bytes that [`RenderedHead::write`] appends at most, beyond [`RenderedHead::len`].
pub const TAIL_AT_MOST: usize = b"Connection: keep-alive\r\n\r\n".len();

/// What a response says about the connection (RFC 9112 section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// It lasts, as HTTP/1.1 has it by default: nothing is said.
    KeepAlive,
    /// It lasts, and a client of HTTP/1.0 is told so: `Connection: keep-alive`.
    KeepAliveExplicit,
    /// It ends: `Connection: close`.
    Close,
}

impl Persistence {
    /// The last field line, if there is one, and the empty line.
    const fn tail(self) -> &'static [u8] {
        match self {
            Persistence::KeepAlive => b"\r\n",
            Persistence::KeepAliveExplicit => b"Connection: keep-alive\r\n\r\n",
            Persistence::Close => b"Connection: close\r\n\r\n",
        }
    }
}

/// A response head that is rendered once and sent many times: status line, Date and fields,
/// without Connection and the empty line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedHead {
    bytes: Box<[u8]>,
    /// Where in `bytes` the 29 bytes of the date stand.
    date_at: usize,
}

const NO_DATE: &[u8; 29] = b"Thu, 01 Jan 1970 00:00:00 GMT";

impl RenderedHead {
    /// Renders a head. `fields` are written in their order; see [`write_head`] for what is done to
    /// values that could end a line. Date and Connection must not be among them.
    pub fn new<'a>(status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> RenderedHead {
        let mut bytes = Vec::with_capacity(256);
        let date_at = push_start(&mut bytes, status, NO_DATE);
        push_fields(&mut bytes, fields);
        RenderedHead {
            bytes: bytes.into_boxed_slice(),
            date_at,
        }
    }

    /// Length in bytes without what [`RenderedHead::write`] adds at the end.
    #[expect(clippy::len_without_is_empty, reason = "there is always a status line")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The rendered bytes, with a placeholder for the date and without the end.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the whole head to `out`, empty line included. Nothing is allocated if `out` has room
    /// for [`len`](Self::len) and [`TAIL_AT_MOST`] bytes.
    ///
    /// `date` is an IMF-fixdate (RFC 9110 section 5.6.7).
    pub fn write(&self, out: &mut Vec<u8>, date: &[u8; 29], connection: Persistence) {
        let start = out.len() + self.date_at;
        out.extend_from_slice(&self.bytes);
        if let Some(place) = out.get_mut(start..start + date.len()) {
            place.copy_from_slice(date);
        }
        out.extend_from_slice(connection.tail());
    }
}

/// Appends the head of a response to `out`: status line, Date, `fields` in their order, Connection
/// if there is something to say, and the empty line.
///
/// No value can end its line or the head: CR, LF and NUL are replaced by SP (RFC 9110 section 5.5).
/// A field whose name is not a token is left out. `status` has three digits.
pub fn write_head<'a>(
    out: &mut Vec<u8>,
    status: u16,
    date: &[u8; 29],
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    connection: Persistence,
) {
    push_start(out, status, date);
    push_fields(out, fields);
    out.extend_from_slice(connection.tail());
}

/// Appends the status line and Date. Returns where the date stands.
fn push_start(out: &mut Vec<u8>, status: u16, date: &[u8; 29]) -> usize {
    out.extend_from_slice(b"HTTP/1.1 ");
    for unit in [100, 10, 1] {
        let digit = u8::try_from(status / unit % 10).unwrap_or_default();
        out.push(b'0' + digit);
    }
    // RFC 9112 section 4: the space is there even if the reason phrase is empty.
    out.push(b' ');
    out.extend_from_slice(reason_phrase(status).as_bytes());
    out.extend_from_slice(b"\r\nDate: ");
    let date_at = out.len();
    out.extend_from_slice(date);
    out.extend_from_slice(b"\r\n");
    date_at
}

fn push_fields<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    for (name, value) in fields {
        if !is_token(name.as_bytes()) {
            continue;
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend(value.iter().map(|&byte| match byte {
            b'\r' | b'\n' | b'\0' => b' ',
            byte => byte,
        }));
        out.extend_from_slice(b"\r\n");
    }
}

/// The reason phrase of a status code (RFC 9110 section 15, RFC 6585); empty for one that has no
/// business in a file server.
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
