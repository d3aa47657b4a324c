//! Bounds that a configuration has to keep to on every system: memory, ports.

use salver_config::{Configuration, Server};

use crate::failure::Failure;
use crate::size::size;

/// A cache of fewer bytes holds no page of a site, only bookkeeping.
const LEAST_CACHE: u64 = 64 * 1024;

/// The least memory that connections can be served with, in bytes.
const LEAST_MEMORY: u64 = 1024 * 1024;

/// Checks the bounds on memory that all sites share.
pub(crate) fn check_memory(configuration: &Configuration) -> Result<(), Failure> {
    let server = &configuration.server;
    if *server.connection_memory < LEAST_MEMORY {
        return Err(Failure::Misused(format!(
            "{} is too little for any connection: give 1MiB or more",
            server.connection_memory.name()
        )));
    }
    let is_cached = configuration.sites.iter().any(|site| *site.cache);
    if is_cached && *server.cache_size < LEAST_CACHE {
        return Err(Failure::Misused(format!(
            "{} of {} holds next to nothing: give 64KiB or more, or --no-cache to keep \
             nothing in memory",
            server.cache_size.name(),
            size(*server.cache_size)
        )));
    }
    Ok(())
}

/// A port cannot be had twice, whatever is spoken there.
pub(crate) fn check_ports(server: &Server) -> Result<(), Failure> {
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
