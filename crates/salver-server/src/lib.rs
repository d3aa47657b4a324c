#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Server::builder`] makes one in a few lines; [`Builder`] says what each method means and what holds
//! without it, [`Settings`] has limits and time limits with their defaults. A handler answers what is no
//! file, and a guard decides who gets some of the files: see [`Reply`]. A [`Handle`] ends the server in
//! order; a [`BuildError`] says in one line what is wrong, and what to do.
//!
//! ```
//! use http::{Request, Response};
//! use bytes::Bytes;
//! use salver_server::{Reply, Server};
//!
//! # let directory = tempfile::tempdir()?;
//! # let site = directory.path();
//! let server = Server::builder()
//!     .directory("/", site)
//!     .listen(([127, 0, 0, 1], 0))
//!     .guard("/private", async |request: Request<Bytes>| {
//!         match request.headers().get("authorization") {
//!             Some(_) => Reply::Proceed,
//!             None => Response::builder().status(401).body("").unwrap_or_default().into(),
//!         }
//!     })
//!     .handler(async |request: Request<Bytes>| match request.uri().path() {
//!         "/api/hello" => Response::new("hello").into(),
//!         "/latest" => Reply::file("/releases/2.0.tar.gz"),
//!         _ => Reply::Proceed,
//!     })
//!     .on_ready(|ready| {
//!         println!("serving on http://{}", ready.addresses[0]);
//!         ready.handle.shutdown();
//!     })
//!     .build()?;
//! server.serve()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where more of HTTP is the program's own - streams, layers, routers - `salver-tower` has the same
//! engine for axum and hyper.
#![forbid(unsafe_code)]

mod builder;
mod byte_stream;
mod clock;
mod context;
mod deadlines;
mod dispatch;
mod fair_queue;
mod handler;
mod http1;
mod http2;
mod http3;
mod linger;
mod listener;
mod listener_fields;
mod listener_service;
mod loader;
mod memory_budget;
mod pending_limit;
mod redirect;
mod rendered_responses;
mod report;
mod seats;
mod send_buffer;
mod send_pace;
mod server;
mod settings;
mod shared_reads;
mod shutdown;
mod single_response;
pub mod tls;
mod tls_accept;
mod transmit;
mod turns;
mod wire;
mod worker;

pub use builder::{BuildError, Builder};
pub use handler::{Peer, Reply};
pub use listener::BindError;
pub use salver_os::use_small_pages;
pub use server::{Ready, Server};
pub use settings::{Settings, TlsSettings};
pub use shutdown::Handle;
