//! TLS on the client's side (RFC 8446): which certificates are trusted, what is offered, and what was
//! agreed.

mod verifier;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, CommonState, RootCertStore};

use crate::error::BenchError;
use crate::result::model::Http;
use crate::result::model::{Certificate, Tls};
use verifier::{LenientVerifier, NamedCertificates};

/// Which certificates are good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system trusts.
    #[default]
    System,
    /// Those too that the certificates in this PEM file have signed, or are.
    File(PathBuf),
    /// Any, whatever its name, signer and age: the result says so.
    Any,
}

/// The settings of a client that trusts like this and speaks this version of HTTP.
///
/// Each connection makes a full handshake: that of a first visit. None is resumed, so that
/// connections that are opened again cost the server what new ones do.
///
/// # Errors
/// Misused: the file has no certificate. Failed: certificates cannot be read.
pub(crate) fn config(trust: &Trust, http: Http) -> Result<ClientConfig, BenchError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = match http {
        // RFC 9001 section 4.2.
        Http::Three => builder.with_protocol_versions(&[&rustls::version::TLS13]),
        Http::One | Http::Two => builder.with_safe_default_protocol_versions(),
    };
    let no_tls = |error: &dyn Display| BenchError::Failed(format!("TLS cannot be set up: {error}"));
    let builder = builder.map_err(|error| no_tls(&error))?;
    let certificates = match trust {
        Trust::File(path) => certificates(path)?,
        Trust::System | Trust::Any => Vec::new(),
    };
    let mut roots = RootCertStore::empty();
    if *trust != Trust::Any {
        // What of them cannot be used is of no concern here: if the one is missing that is needed, the
        // handshake says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(certificates.iter().cloned());
    }
    let builder = if *trust == Trust::System {
        builder.with_root_certificates(roots)
    } else {
        let roots = Arc::new(roots);
        let others = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let named = match trust {
            Trust::Any => None,
            _ => Some(NamedCertificates {
                certificates,
                others: others.build().map_err(|error| no_tls(&error))?,
            }),
        };
        let verifier = Arc::new(LenientVerifier { provider, named });
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![alpn(http).to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The certificates in a PEM file, which has some.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BenchError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = found.map_err(|error| BenchError::unreadable(path, &error))?;
    match found.is_empty() {
        false => Ok(found),
        true => Err(BenchError::Misused(format!(
            "{} has no certificate: give a PEM file",
            path.display()
        ))),
    }
}

/// The name of a version in ALPN (RFC 7301).
pub(crate) fn alpn(http: Http) -> &'static [u8] {
    match http {
        Http::One => b"http/1.1",
        Http::Two => b"h2",
        Http::Three => b"h3",
    }
}

/// The parameters of a handshake that is complete.
///
/// # Errors
/// The server has chosen another protocol than the only one that was offered.
pub(crate) fn agreed(session: &CommonState, http: Http, is_any_good: bool) -> io::Result<Tls> {
    match session.alpn_protocol() {
        Some(chosen) if chosen == alpn(http) => {}
        // A server that knows no ALPN speaks HTTP/1.1.
        None if http == Http::One => {}
        _ => {
            return Err(io::Error::other(format!(
                "it does not speak {http} over TLS"
            )));
        }
    }
    let version = session.protocol_version();
    let suite = session.negotiated_cipher_suite();
    Ok(Tls {
        version: version.map_or("unknown".to_owned(), |version| {
            version.as_str().unwrap_or("unknown").replace('_', ".")
        }),
        cipher: suite.map(|suite| format!("{:?}", suite.suite())),
        certificate: certificate(is_any_good),
    })
}

/// How the certificate was looked at.
pub(crate) fn certificate(is_any_good: bool) -> Certificate {
    match is_any_good {
        true => Certificate::Any,
        false => Certificate::Verified,
    }
}

/// A failed handshake in words, if that is what it is: what is wrong, and what to do about it.
pub(crate) fn explain(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner.map(|inner: &rustls::Error| in_words(inner)) {
        Some(text) => io::Error::new(error.kind(), text),
        None => error,
    }
}

/// A failed handshake in words.
fn in_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => not_trusted(certificate_in_words(why)),
        rustls::Error::InvalidMessage(_) => format!("it does not speak TLS ({error})"),
        rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
            "it does not speak this version of HTTP over TLS".to_owned()
        }
        _ => format!("TLS failed: {error}"),
    }
}

fn certificate_in_words(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is another host's"
        }
        _ => "nobody who is trusted has signed it",
    }
}

/// The advice about a certificate that is not trusted, and `why` it is not.
pub(crate) fn not_trusted(why: &str) -> String {
    format!("its certificate is not trusted ({why}): give its issuer by --ca, or --insecure")
}
