//! TLS: which certificates there are, which of them a client gets, and how handshakes are made.
//!
//! ```text
//! PEM files ──► pair.rs ──► certificates.rs ──► resolver.rs ──► every handshake, over TCP and QUIC
//!                 ▲               ▲
//!                 └── reload.rs ──┘  once a second, on a thread of its own
//! ```
//!
//! A handshake takes the set of certificates that is there at that moment; a connection keeps
//! what it has begun with.

mod certificates;
mod error;
mod files;
mod handshakes;
mod pair;
mod reload;
mod resolver;
// Tests are given certificates in any case.
#[cfg(any(feature = "self-signed", test))]
mod self_signed;

pub use certificates::Certificates;
pub use error::CertificateError;
pub use files::CertificateFiles;
pub use handshakes::Handshakes;
pub(crate) use handshakes::OverTcp;
pub(crate) use reload::watch;
