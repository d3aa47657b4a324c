//! A thread-per-core HTTP server over the engine of Salver.
//!
//! Each worker is one thread with its own event loop and its own listening socket; connections
//! never move between them. A loop carries out the plans of the engine and decides nothing about
//! HTTP beyond the message framing of the protocol it speaks.
//!
//! A loop never waits for a disk: loads are tried without waiting and handed to a bounded pool of
//! threads otherwise. It never holds a buffer for an idle connection, never sends a byte that
//! `transmit.rs` does not send, and never writes a line to the log for each of many events.
//!
//! ```no_run
//! use std::sync::Arc;
//! use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
//! use salver_server::{Server, Settings};
//!
//! let config = Config::default();
//! let site = DirectorySource::open("site".as_ref(), Symlinks::Beneath, config.revalidate)?;
//! let engine = Engine::new(Config { mounts: vec![Mount::tree("/", Arc::new(site))], ..config })?;
//! let server = Server::bind(engine, Settings::default())?;
//! println!("serving on http://{}", server.addresses()[0]);
//! server.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod asking;
mod clock;
mod closing;
mod context;
mod deadlines;
mod ending;
mod entrance;
mod front;
mod http1;
mod http2;
mod http3;
mod listener;
mod loader;
mod occasional;
mod outbox;
mod passing;
mod redirect;
mod server;
mod settings;
mod shutdown;
pub mod strategies;
mod stream;
pub mod tls;
mod transmit;
mod worker;

pub use listener::BindError;
pub use salver_os::use_small_pages;
pub use server::Server;
pub use settings::{Settings, TlsSettings};
pub use shutdown::Handle;
