//! The versions of HTTP that are spoken over TCP.

/// The versions of HTTP that are spoken over TCP. There is none of neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versions {
    Http1,
    Http2,
    Both,
}
