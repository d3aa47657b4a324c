//! The versions of HTTP that are served over TCP.

/// The versions of HTTP that are served over TCP, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versions {
    Http1,
    Http2,
    Both,
}
