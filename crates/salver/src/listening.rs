//! Flags to the addresses that are listened on.

use crate::failure::Failure;
use crate::hosts::addresses_at;
use crate::serve_flags::ServeFlags;

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
/// A certificate that cannot be used, or flags that cannot be meant.
pub(crate) fn listen(
    flags: &ServeFlags,
    settings: &mut salver_server::Settings,
) -> Result<Listening, Failure> {
    check_ports(flags)?;
    let at_ports = addresses_at(&flags.host, &flags.port)?;
    settings.addresses = addresses_at(&flags.host, &flags.tls.http_port)?;
    #[cfg(feature = "tls")]
    if let Some((tls, warnings)) = crate::tls_settings::tls(flags, &at_ports)? {
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
fn check_ports(flags: &ServeFlags) -> Result<(), Failure> {
    let named = |flag, ports: &[u16]| ports.iter().map(|&port| (flag, port)).collect::<Vec<_>>();
    let all = [
        named("--port", &flags.port),
        named("--http-port", &flags.tls.http_port),
        #[cfg(feature = "tls")]
        named("--https-redirect", flags.tls.https_redirect.as_slice()),
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
