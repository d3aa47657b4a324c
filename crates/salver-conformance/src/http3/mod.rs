//! An HTTP/3 client that believes nothing (RFC 9114), on QUIC by quinn.

mod client;
mod frame;
mod qpack;
mod static_table;
mod unidirectional;

pub(crate) use client::Http3;
