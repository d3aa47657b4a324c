//! Settings for proxies, checked.

use salver_config::{Server, values};
use salver_forwarded::{ForwardedField, Network, TrustedNetworks};

use crate::failure::Failure;

/// The proxies that are believed who the client is.
#[derive(Clone, Debug)]
pub(crate) struct Proxies {
    /// The networks that they are in.
    pub(crate) trusted: TrustedNetworks,
    /// The field in which they name the client of a request.
    pub(crate) field: Option<ForwardedField>,
    /// True if their connections begin with a header of the PROXY protocol.
    #[cfg(target_os = "linux")]
    pub(crate) protocol: bool,
}

/// The proxies of these settings.
///
/// # Errors
/// Settings that cannot be meant.
pub(crate) fn proxies(server: &Server) -> Result<Proxies, Failure> {
    let networks = server.trusted_proxies.iter().map(|text| {
        text.parse::<Network>().map_err(|error| {
            let name = server.trusted_proxies.name();
            Failure::Misused(format!("{name} {}: {error}", text.escape_debug()))
        })
    });
    if *server.proxy_protocol && server.trusted_proxies.is_empty() {
        return Err(Failure::Misused(format!(
            "{} is for proxies that are trusted, and none is: give {}",
            server.proxy_protocol.name(),
            server.trusted_proxies.name()
        )));
    }
    Ok(Proxies {
        trusted: networks.collect::<Result<_, Failure>>()?,
        field: match *server.forwarded_field {
            values::ForwardedField::None => None,
            values::ForwardedField::Forwarded => Some(ForwardedField::Forwarded),
            values::ForwardedField::XForwardedFor => Some(ForwardedField::XForwardedFor),
        },
        #[cfg(target_os = "linux")]
        protocol: *server.proxy_protocol,
    })
}
