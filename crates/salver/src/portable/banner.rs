//! What a person reads when the server is up.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use salver_assets::Prewarmed;

use crate::settings::Settings;
use crate::size::size;

/// Name and version, where to point a browser, what is served, and what to mind. Ends with a line break.
pub(crate) fn banner(
    settings: &Settings,
    addresses: &[SocketAddr],
    prewarmed: Option<Prewarmed>,
) -> String {
    let mut text = format!("Salver {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<8}{value}");
    };
    for address in addresses {
        let (ip, reach) = match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => {
                (Ipv4Addr::LOCALHOST.into(), " (every interface, IPv4)")
            }
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => (Ipv6Addr::LOCALHOST.into(), " (every interface)"),
            ip => (ip, ""),
        };
        let url = SocketAddr::new(ip, address.port());
        line("open", &format!("http://{url}/{reach}"));
    }
    for site in &settings.sites {
        if settings.sites.len() > 1 {
            line("site", &site.label());
        }
        for shown in &site.shown {
            line("serving", &format!("{:?} at {}", shown.path, shown.prefix));
        }
    }
    if let Some(Prewarmed { files, bytes, .. }) = prewarmed {
        line("prewarm", &format!("{files} files, {}", size(bytes)));
    }
    for warning in &settings.warnings {
        line("note", warning);
    }
    text
}
