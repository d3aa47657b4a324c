//! Settings to the addresses that are listened on.

use salver_config::Configuration;

use crate::bounds::check_ports;
use crate::failure::Failure;
use crate::hosts::addresses_at;

/// What a person is told of the addresses and their certificates.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    /// Each certificate, one line each.
    pub(crate) certificates: Vec<String>,
    /// What a person should know although nothing is wrong.
    pub(crate) warnings: Vec<String>,
}

/// Sorts the ports: those with TLS and those without.
///
/// # Errors
/// A certificate that cannot be used, or settings that cannot be meant.
pub(crate) fn listen(
    configuration: &Configuration,
    settings: &mut salver_server::Settings,
) -> Result<Listening, Failure> {
    let server = &configuration.server;
    check_ports(server)?;
    let at_ports = addresses_at(&server.host, &server.port)?;
    settings.addresses = addresses_at(&server.host, &server.http_port)?;
    #[cfg(feature = "tls")]
    if let Some(tls) = crate::tls_settings::tls(configuration)? {
        let certificates = tls.handshakes.certificates().summary();
        settings.tls = Some(salver_server::TlsSettings {
            handshakes: tls.handshakes,
            addresses: at_ports,
            redirects: tls.redirects,
            hsts: tls.hsts,
        });
        return Ok(Listening {
            certificates,
            warnings: tls.warnings,
        });
    }
    settings.addresses.splice(..0, at_ports);
    Ok(Listening::default())
}
