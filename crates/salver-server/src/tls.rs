//! TLS: certificates and the settings of handshakes, which `salver-tls` has.

pub use salver_tls::{
    CertificateError, CertificateFiles, Certificates, Handshakes, SiteCertificates,
};
pub(crate) use salver_tls::{CertificateWatch, TcpHandshakes, watch};
