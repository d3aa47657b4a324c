//! HTTP/2 (RFC 9113) and HPACK (RFC 7541) for a server, without I/O.
#![forbid(unsafe_code)]

mod connection;
mod error;
mod frame;
pub mod hpack;
mod limits;
mod patience;
mod priority;
mod request;
mod response;
mod streams;

pub use connection::{Connection, Event, Phase, Scratch};
pub use error::ErrorCode;
pub use frame::PREFACE;
pub use limits::Limits;
pub use priority::Priority;
pub use request::Request;
pub use response::{RenderedHead, render_fields};
pub use streams::Turn;
