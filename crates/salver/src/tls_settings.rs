//! Flags for TLS to the server's settings.

#[cfg(feature = "self-signed")]
mod self_signed;

use std::net::SocketAddr;
use std::time::Duration;

use salver_server::TlsSettings;
use salver_server::tls::{CertificateError, CertificateFiles, Certificates, Handshakes};

use crate::failure::Failure;
use crate::hosts::addresses_at;
use crate::hsts::Hsts;
use crate::serve_flags::ServeFlags;

/// What to do where TLS is needed and there is none.
const REMEDY: &str = match cfg!(feature = "self-signed") {
    true => "give --tls-cert and --tls-key, or --tls-self-signed",
    false => "give --tls-cert and --tls-key",
};

/// Reads the certificates, for TLS at `addresses`; with the settings what a person should know of them.
/// `None` without TLS.
///
/// # Errors
/// A certificate that cannot be used, or flags that cannot be meant.
pub(crate) fn tls(
    flags: &ServeFlags,
    addresses: &[SocketAddr],
) -> Result<Option<(TlsSettings, Vec<String>)>, Failure> {
    let Some((certificates, warnings)) = certificates(flags)? else {
        check_needs_no_tls(flags)?;
        return Ok(None);
    };
    let handshakes = Handshakes::new(certificates)
        .map_err(|error| Failure::Failed(format!("TLS cannot be set up: {error}")))?;
    let tls = TlsSettings {
        handshakes,
        addresses: addresses.to_vec(),
        redirects: addresses_at(&flags.host, flags.tls.https_redirect.as_slice())?,
        hsts: hsts(flags),
    };
    Ok(Some((tls, warnings)))
}

/// The certificates that the flags name, or one that is made, with what a person should know of them;
/// `None` without TLS.
fn certificates(flags: &ServeFlags) -> Result<Option<(Certificates, Vec<String>)>, Failure> {
    let (certificates, keys) = (&flags.tls.tls_cert, &flags.tls.tls_key);
    if certificates.len() != keys.len() {
        return Err(Failure::Misused(format!(
            "{} --tls-cert and {} --tls-key: give each certificate its key, in the same order",
            certificates.len(),
            keys.len()
        )));
    }
    #[cfg(feature = "self-signed")]
    if let Some(made) = self_signed::certificates(flags)? {
        return Ok(Some(made));
    }
    if certificates.is_empty() {
        return Ok(None);
    }
    let pairs = certificates.iter().zip(keys);
    let files = pairs.map(|(certificate, key)| CertificateFiles {
        certificate: certificate.clone(),
        key: key.clone(),
    });
    let read = Certificates::read(files.collect()).map_err(failed)?;
    let warnings = read.warnings();
    Ok(Some((read, warnings)))
}

fn failed(error: CertificateError) -> Failure {
    match error.is_refusal() {
        true => Failure::Failed(error.to_string()),
        false => Failure::Misused(error.to_string()),
    }
}

fn hsts(flags: &ServeFlags) -> Option<Duration> {
    match flags.tls.hsts? {
        Hsts::Off => None,
        Hsts::For(time) => Some(time),
    }
}

fn check_needs_no_tls(flags: &ServeFlags) -> Result<(), Failure> {
    let named = if hsts(flags).is_some() {
        "--hsts"
    } else if flags.tls.https_redirect.is_some() {
        "--https-redirect"
    } else {
        return Ok(());
    };
    Err(Failure::Misused(format!("{named} needs TLS: {REMEDY}")))
}
