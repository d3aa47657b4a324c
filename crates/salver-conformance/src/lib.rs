//! The exchange table that every transport of Salver must pass, and what runs it.
//!
//! Three parts: a builder of the [`Fixture`] tree, the tables of [`Exchange`]s (request, and
//! what must be true of the answer), and [`run`], which sends every exchange to a server in the
//! protocol of an [`Endpoint`]:
//!
//! - HTTP/1.1, bare or over TLS: plainly, cut in two at every fourth byte, the next row one byte further, a byte at
//!   a time, between two neighbours in one write, and as HEAD;
//! - HTTP/2, bare or over TLS: plainly, with small windows, in padded pieces, cut in two at every
//!   byte, a byte at a time, many at once on one connection, and as HEAD;
//! - HTTP/3: plainly, with small windows, many at once, and as HEAD.
//!
//! The clients are its own and believe nothing: each frame and each line is judged. Rows about
//! the syntax of HTTP/1.1 are counted where they have no counterpart, and requests that only
//! HTTP/2 and HTTP/3 can get wrong are added there. [`run_semantic`] plays what says nothing of
//! a version over any [`Transport`]. [`http2`] has the bare frames, for floods.
//!
//! This crate never imports another crate of Salver: a shared mistake cannot cancel out. It
//! never sleeps, never asserts (a wrong answer is a [`Failure`] in the [`Report`]), and never
//! starts a server: the caller starts one with [`Setup::arguments`] and gives its address.
//!
//! ```no_run
//! # fn start(arguments: &[std::ffi::OsString]) -> std::net::SocketAddr { unimplemented!() }
//! use salver_conformance::{Endpoint, Fixture, Protocol, Setup, run};
//!
//! let fixture = Fixture::build(std::path::Path::new("/tmp/an-empty-directory"))?;
//! for setup in Setup::ALL {
//!     let address = start(&setup.arguments(&fixture)); // what follows `salver serve`
//!     let endpoint = Endpoint::bare(address, Protocol::Http2Cleartext)?;
//!     let report = run(&endpoint, &fixture, setup)?;
//!     assert!(report.passed(), "{report}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
mod carried;
mod check;
mod client;
mod date;
mod endpoint;
mod exchange;
mod expect;
mod facts;
mod fixture;
pub mod http2;
mod http3;
mod multipart;
mod multiplexed;
mod need;
mod player;
mod prefixed;
mod report;
mod response;
mod runner;
mod scenarios;
mod section;
mod session;
mod setup;
mod shape;
mod tables;
mod transport;
mod wire;

pub use client::Http1;
pub use endpoint::{Endpoint, Protocol, SERVER_NAME};
pub use exchange::{Exchange, Message, Request};
pub use expect::{ConnectionRule, ContentRule, Expectation, FieldRule};
pub use fixture::Fixture;
pub use need::Need;
pub use report::{Failure, Mode, Report};
pub use response::Response;
pub use runner::{run, run_once, run_semantic};
pub use setup::Setup;
pub use tables::exchanges;
pub use transport::Transport;
