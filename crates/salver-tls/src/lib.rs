#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`Certificates`] are read from [files](CertificateFiles), [`Handshakes`] hold them and the keys of resumption, and
//! [`Handshakes::over_tcp`] and [`Handshakes::over_quic`] give the settings for rustls. [`watch`] has renewed files used.
//!
//! ```text
//! PEM files ──► pair.rs ──► certificates.rs ──► resolver.rs ──► every handshake, over TCP and QUIC
//!                 ▲               ▲
//!                 └── reload.rs ──┘  once a second, on a thread of its own
//! ```
//!
//! A handshake takes the set of certificates of that moment; a connection keeps the one that it has begun with.
//!
//! # Features
//!
//! `self-signed` makes certificates for laptops: `Certificates::self_signed`. It is off by default.
#![forbid(unsafe_code)]

mod certificates;
mod error;
mod files;
mod handshakes;
mod pair;
mod plaintext;
mod reload;
mod resolver;
// Tests are given certificates in any case.
#[cfg(any(feature = "self-signed", test))]
mod self_signed;

pub use certificates::Certificates;
pub use error::CertificateError;
pub use files::{CertificateFiles, SiteCertificates};
pub use handshakes::{Handshakes, TcpHandshakes};
pub use plaintext::{NOT_TLS, PEEKED, is_http};
pub use reload::{CertificateWatch, watch};
