//! The versions of HTTP that are served over TCP.

/// The versions of HTTP that are served over TCP, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versions {
    Http1,
    Http2,
    Both,
}

impl Versions {
    /// Their names for ALPN (RFC 7301), the best first.
    pub(crate) fn protocols(self) -> &'static [&'static [u8]] {
        match self {
            Versions::Http1 => &[b"http/1.1"],
            Versions::Http2 => &[b"h2"],
            Versions::Both => &[b"h2", b"http/1.1"],
        }
    }
}
