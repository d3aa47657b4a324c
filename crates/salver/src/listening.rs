//! Settings to the addresses that are listened on.

use salver_config::{Configuration, Server};

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
    if let Some((tls, warnings)) = crate::tls_settings::tls(configuration, &at_ports)? {
        let certificates = tls.handshakes.certificates().summary();
        settings.tls = Some(tls);
        return Ok(Listening {
            certificates,
            warnings,
        });
    }
    settings.addresses.splice(..0, at_ports);
    Ok(Listening::default())
}

/// A port cannot be had twice, whatever is spoken there.
fn check_ports(server: &Server) -> Result<(), Failure> {
    let named = |name: String, ports: &[u16]| {
        let each = ports.iter().map(|&port| (name.clone(), port));
        each.collect::<Vec<_>>()
    };
    let redirect = &server.https_redirect;
    let all = [
        named(server.port.name(), &server.port),
        named(server.http_port.name(), &server.http_port),
        named(redirect.name(), redirect.as_slice()),
    ]
    .concat();
    for (number, (flag, port)) in all.iter().enumerate() {
        let before = all.iter().take(number);
        // Each 0 is another free one.
        let mut taken = before.filter(|(_, other)| port == other && *port != 0);
        if let Some((other, _)) = taken.next() {
            return Err(Failure::Misused(format!(
                "{other} {port} and {flag} {port} are one port: choose another for one of them"
            )));
        }
    }
    Ok(())
}
