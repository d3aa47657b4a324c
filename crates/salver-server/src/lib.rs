#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Server::builder`] makes one in a few lines; [`Builder`] says what each method means and what holds
//! without it, [`Settings`] has limits and time limits with their defaults. A handler answers what is no
//! file, and a guard decides who gets some of the files: see [`Reply`]. Content that streams is a
//! [`RequestBody`] and a [`Body`]; an application of axum is a [`Builder::service`]. A [`Handle`] ends the
//! server in order; a [`BuildError`] says in one line what is wrong, and what to do.
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
//! Where the server is the program's own, `salver-tower` has the same engine as a service of `tower`.
//!
//! # Features
//!
//! All but `axum` are on unless `default-features = false` says otherwise. What needs one that is left out is not
//! there: no field of [`Settings`], no method of [`Builder`].
//!
//! | feature | what needs it |
//! | --- | --- |
//! | `tls` | [`tls`], [`TlsSettings`], [`Builder::tls`]: HTTPS |
//! | `http3` | HTTP/3 at the addresses with TLS; brings `tls` |
//! | `tower` | [`Builder::service`], [`Builder::service_at`]: services of `tower` |
//! | `axum` | axum's `ConnectInfo<SocketAddr>` in the requests of services; brings `tower`, and is off by default |
//! | `self-signed` | [`Certificates::self_signed`](tls::Certificates::self_signed); brings `tls` |
//! | `brotli`, `zstd`, `gzip` | precompressed siblings in this coding, which are decoded before they are sent |
#![forbid(unsafe_code)]
#![deny(missing_debug_implementations)]
// What only a feature uses stays in the code without it, and never runs: the compiler leaves it out.
#![cfg_attr(
    not(all(feature = "tls", feature = "http3", feature = "self-signed")),
    allow(dead_code, unreachable_code, unreachable_pub)
)]

mod access_log;
mod admission;
mod builder;
mod byte_stream;
mod cache_status_fields;
mod clock;
mod context;
mod deadlines;
mod dispatch;
mod fair_queue;
mod handle;
mod handler;
mod http1;
mod http2;
#[cfg_attr(not(feature = "http3"), path = "http3/absent.rs")]
mod http3;
mod inherited_sockets;
mod linger;
mod listener;
mod listener_fields;
mod listener_service;
mod loader;
mod memory_budget;
mod monitor;
#[cfg(feature = "basic-auth")]
mod passwords;
#[cfg(not(feature = "basic-auth"))]
#[path = "passwords/absent.rs"]
mod passwords;
mod pending_limit;
mod proxy_header;
mod redirect;
mod release_addresses;
mod reload;
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
mod sites;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls/absent.rs"]
mod tls;
#[cfg_attr(not(feature = "tls"), path = "tls_accept/absent.rs")]
mod tls_accept;
mod transmit;
mod turns;
mod unix_socket;
mod versions;
mod wire;
mod worker;
mod worker_message;

pub use builder::{BuildError, Builder};
pub use handle::Handle;
pub use handler::{Body, Peer, Reply, RequestBody, Upgrade, UpgradedStream};
pub use inherited_sockets::InheritedSockets;
pub use listener::BindError;
pub use monitor::{CertificateExpiry, Monitor, ServerLoad, Stage};
#[cfg(feature = "basic-auth")]
pub use passwords::{PasswordHashError, PasswordHashing, hash_password};
pub use release_addresses::ReleaseAddresses;
pub use reload::{ReloadError, Reloaded, ServerSockets};
pub use salver_access_log::AccessLog;
pub use salver_admin::metrics::{Metrics, SiteNames};
pub use salver_forwarded::{ForwardedField, Network, TrustedNetworks};
pub use salver_os::{
    GivenSockets, ProcessUser, forbid_new_privileges, raise_descriptor_limit, take_given_sockets,
};
pub use server::{Ready, Server};
#[cfg(feature = "tls")]
pub use settings::TlsSettings;
pub use settings::{Proxies, Settings};
pub use sites::{Site, Sites};
