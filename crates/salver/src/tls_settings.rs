//! Settings for TLS: certificates, and what is to be had with them.

#[cfg(feature = "self-signed")]
mod self_signed;

use std::net::SocketAddr;
use std::time::Duration;

use salver_config::{Configuration, Server, Site};
use salver_tls::{CertificateError, CertificateFiles, Certificates, Handshakes, SiteCertificates};

use crate::failure::Failure;
use crate::hosts::addresses_at;

/// What to do where TLS is needed and there is none.
const REMEDY: &str = match cfg!(feature = "self-signed") {
    true => "give --tls-cert and --tls-key, or --tls-self-signed",
    false => "give --tls-cert and --tls-key",
};

/// The settings of TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) handshakes: Handshakes,
    /// Where requests without TLS are redirected.
    pub(crate) redirects: Vec<SocketAddr>,
    /// The time for which browsers shall use nothing else, of answers to what is no request for a site.
    pub(crate) hsts: Option<Duration>,
    /// What a person should know of the certificates.
    pub(crate) warnings: Vec<String>,
}

/// Reads the certificates. `None` without TLS.
///
/// # Errors
/// A certificate that cannot be used, or settings that cannot be meant.
pub(crate) fn tls(configuration: &Configuration) -> Result<Option<Tls>, Failure> {
    let Configuration { server, sites, .. } = configuration;
    let Some((certificates, warnings)) = certificates(server, sites)? else {
        check_needs_no_tls(server, sites)?;
        return Ok(None);
    };
    let other = sites.iter().find(|site| site.hosts.is_empty());
    let handshakes = Handshakes::new(certificates)
        .map_err(|error| Failure::Failed(format!("TLS cannot be set up: {error}")))?;
    Ok(Some(Tls {
        handshakes,
        redirects: addresses_at(&server.host, server.https_redirect.as_slice())?,
        hsts: other.or(sites.first()).and_then(|site| *site.hsts),
        warnings,
    }))
}

/// The certificates that are named, or one that is made, with what a person should know of them;
/// `None` without TLS.
fn certificates(
    server: &Server,
    sites: &[Site],
) -> Result<Option<(Certificates, Vec<String>)>, Failure> {
    #[cfg(not(feature = "self-signed"))]
    let _ = server;
    let by_site = sites.iter().map(of_site);
    let by_site = by_site.collect::<Result<Vec<_>, _>>()?;
    #[cfg(feature = "self-signed")]
    if let Some(made) = self_signed::certificates(server, sites)? {
        return Ok(Some(made));
    }
    if by_site.iter().all(|site| site.files.is_empty()) {
        return Ok(None);
    }
    let read = Certificates::read_by_site(by_site).map_err(failed)?;
    let warnings = read.warnings();
    Ok(Some((read, warnings)))
}

/// The certificates of a site.
fn of_site(site: &Site) -> Result<SiteCertificates, Failure> {
    let (certificates, keys) = (&site.tls_cert, &site.tls_key);
    if certificates.len() != keys.len() {
        return Err(Failure::Misused(format!(
            "{} {} and {} {}: give each certificate its key, in the same order",
            certificates.len(),
            certificates.name(),
            keys.len(),
            keys.name()
        )));
    }
    let pairs = certificates.iter().zip(keys.iter());
    let files = pairs.map(|(certificate, key)| CertificateFiles {
        certificate: certificate.clone(),
        key: key.clone(),
    });
    Ok(SiteCertificates {
        hosts: site.hosts.iter().map(ToString::to_string).collect(),
        files: files.collect(),
    })
}

fn failed(error: CertificateError) -> Failure {
    match error.is_refusal() {
        true => Failure::Failed(error.to_string()),
        false => Failure::Misused(error.to_string()),
    }
}

fn check_needs_no_tls(server: &Server, sites: &[Site]) -> Result<(), Failure> {
    let named = if let Some(site) = sites.iter().find(|site| site.hsts.is_some()) {
        site.hsts.name()
    } else if server.https_redirect.is_some() {
        server.https_redirect.name()
    } else {
        return Ok(());
    };
    Err(Failure::Misused(format!("{named} needs TLS: {REMEDY}")))
}
