//! The exchange table that every transport of Salver must pass, and what runs it.
//!
//! Three parts: a builder of the [`Fixture`] tree, the tables of [`Exchange`]s (request, and
//! what must be true of the answer), and [`run`], which sends every exchange to a server over
//! HTTP/1.1: plainly, cut in two at every byte, a byte at a time, between two neighbours in one
//! write, and as HEAD. Semantic exchanges say nothing of HTTP/1.1, so [`run_semantic`] plays
//! them over any [`Transport`].
//!
//! This crate never imports another crate of Salver: a shared mistake cannot cancel out. It
//! never sleeps, never asserts (a wrong answer is a [`Failure`] in the [`Report`]), and never
//! starts a server: the caller starts one with [`Setup::arguments`] and gives its address.
//!
//! ```no_run
//! # fn start(arguments: &[std::ffi::OsString]) -> std::net::SocketAddr { unimplemented!() }
//! use salver_conformance::{Fixture, Setup, run};
//!
//! let fixture = Fixture::build(std::path::Path::new("/tmp/an-empty-directory"))?;
//! for setup in Setup::ALL {
//!     let address = start(&setup.arguments(&fixture)); // what follows `salver serve`
//!     let report = run(address, &fixture, setup);
//!     assert!(report.passed(), "{report}");
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod check;
mod client;
mod date;
mod exchange;
mod expect;
mod facts;
mod fixture;
mod multipart;
mod player;
mod report;
mod response;
mod runner;
mod scenarios;
mod setup;
mod shape;
mod tables;
mod transport;

pub use exchange::{Exchange, Message, Need, Request};
pub use expect::{ConnectionRule, ContentRule, Expectation, FieldRule};
pub use fixture::Fixture;
pub use report::{Failure, Mode, Report};
pub use response::Response;
pub use runner::{run, run_semantic};
pub use setup::Setup;
pub use tables::exchanges;
pub use transport::Transport;
