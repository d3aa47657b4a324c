//! Limits on what one request may cost, in every version of HTTP.

/// The limits of a request. One that goes beyond is refused by a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// The size of a head in bytes; default 16 KiB. A larger one is refused with 431. In HTTP/1.1 that is the
    /// length of request line, field lines and the empty line; the same number bounds, per body, the chunk
    /// extensions and the trailer section together, and a driver's buffer must be able to hold this much. In
    /// HTTP/2 and HTTP/3 it is the size of the field section: names, values and 32 for each line (RFC 9113
    /// section 6.5.2, RFC 9114 section 4.2.2); coded, it may take twice as much in HTTP/2 and no more than
    /// this in HTTP/3.
    pub max_head: usize,
    /// The length of a request target (`:path`) in bytes; default 8 KiB. A longer one is refused with 414.
    pub max_target: usize,
    /// The number of field lines; default 100. More are refused with 431. Pseudo-fields do not count, and
    /// HTTP/1.1 has a bound of its own besides.
    pub max_fields: usize,
    /// The length of a request's content in bytes; default 1 MiB. More is refused with 413 (RFC 9110 section
    /// 15.5.14).
    pub max_body: u64,
}

impl Default for RequestLimits {
    fn default() -> Self {
        RequestLimits {
            max_head: 16 << 10,
            max_target: 8 << 10,
            max_fields: 100,
            max_body: 1 << 20,
        }
    }
}
