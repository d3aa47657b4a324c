//! An HTTP/2 client that believes nothing (RFC 9113), down to its frames.

mod client;
mod flow;
mod frame;
mod hpack;
mod rules;
mod send;
mod socket;
mod stream;

pub use frame::{Frame, code, flag, kind, setting};
pub use hpack::{bomb, literal};
pub use socket::{FrameSocket, PREFACE};

pub(crate) use client::Http2;
