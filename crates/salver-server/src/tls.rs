//! TLS: the certificates, the choice of one for each client, and the settings of handshakes.
//!
//! ```text
//! PEM files ──► pair.rs ──► certificates.rs ──► resolver.rs ──► every handshake, over TCP and QUIC
//!                 ▲               ▲
//!                 └── reload.rs ──┘  once a second, on a thread of its own
//! ```
//!
//! A handshake takes the set of certificates of that moment; a connection keeps the one that it has begun with.

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
pub use files::{CertificateFiles, SiteCertificates};
pub use handshakes::Handshakes;
pub(crate) use handshakes::OverTcp;
pub(crate) use reload::{CertificateWatch, watch};
