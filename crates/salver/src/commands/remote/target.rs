//! Where a store is: a directory of this machine, a bucket, or a server that has it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::commands::store::{OwnStore, own_store};

/// A store, as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// A directory of this machine, or a bucket.
    Own(OwnStore),
    /// That of a site of a running server.
    Server(Target),
}

/// The admin listener of a server, and one of its sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) listener: Listener,
    /// The name of the site; none if it has one alone.
    pub(super) site: Option<String>,
}

/// Where an admin listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listener {
    /// A host and a port, with TLS or without.
    Tcp {
        over_tls: bool,
        host: String,
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl Target {
    /// True if what is sent there can be read on its way.
    pub(super) fn is_in_the_clear(&self) -> bool {
        match &self.listener {
            Listener::Unix(_) | Listener::Tcp { over_tls: true, .. } => false,
            Listener::Tcp { host, .. } => {
                let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
                let is_near = address.is_ok_and(|address| address.is_loopback());
                !is_near && !host.eq_ignore_ascii_case("localhost")
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = self.site.as_deref().unwrap_or_default().escape_debug();
        match &self.listener {
            Listener::Unix(path) if self.site.is_none() => write!(f, "unix:{}", path.display()),
            Listener::Unix(path) => write!(f, "unix:{}#{site}", path.display()),
            Listener::Tcp {
                over_tls,
                host,
                port,
            } => {
                let scheme = if *over_tls { "https" } else { "http" };
                write!(f, "{scheme}://{host}:{port}/{site}")
            }
        }
    }
}

/// Reads where a store is.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn store_place(text: &str) -> Result<StorePlace, String> {
    if let Some(rest) = text.strip_prefix("unix:") {
        let (path, site) = rest.split_once('#').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(
                "give the path of the admin socket: unix:/run/salver/admin.sock".to_owned(),
            );
        }
        return Ok(StorePlace::Server(Target {
            listener: Listener::Unix(path.into()),
            site: Some(site.to_owned()).filter(|site| !site.is_empty()),
        }));
    }
    let (over_tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => {
            let own = own_store(text).map(StorePlace::Own);
            return own.map_err(|error| format!("{error}; of a server its address with https://"));
        }
    };
    let (authority, site) = rest.split_once('/').unwrap_or((rest, ""));
    let site = site.trim_end_matches('/');
    if site.contains(['/', '?', '#']) {
        return Err("behind the host stands the name of one site, or nothing".to_owned());
    }
    let wrong = || "give a host, and a port if it is another: https://example.org:9443/".to_owned();
    let port_of = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    let default = if over_tls { 443 } else { 80 };
    // An address of IPv6 has colons of its own, and stands in brackets.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port_of(port).ok_or_else(wrong)?),
        _ => (authority, default),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_address = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_right = match is_address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_host),
    };
    match is_right {
        true => Ok(StorePlace::Server(Target {
            listener: Listener::Tcp {
                over_tls,
                host: host.to_owned(),
                port,
            },
            site: Some(site.to_owned()).filter(|site| !site.is_empty()),
        })),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_directory_or_a_server() {
        let check = |text: &str, expected: &str, in_the_clear: bool| {
            let StorePlace::Server(target) = store_place(text).unwrap() else {
                panic!("{text} is a directory");
            };
            assert_eq!(target.to_string(), expected);
            assert_eq!(target.is_in_the_clear(), in_the_clear, "{text}");
        };
        check("https://a.test", "https://a.test:443/", false);
        check("https://a.test:9443/", "https://a.test:9443/", false);
        check("https://a.test/b.test", "https://a.test:443/b.test", false);
        check("http://127.0.0.1:9090/", "http://127.0.0.1:9090/", false);
        check("http://[::1]:9090/*", "http://[::1]:9090/*", false);
        check("http://[::1]/", "http://[::1]:80/", false);
        check("http://localhost/", "http://localhost:80/", false);
        check("http://a.test/", "http://a.test:80/", true);
        check("http://192.0.2.1/", "http://192.0.2.1:80/", true);
        check("unix:/run/a.sock", "unix:/run/a.sock", false);
        check("unix:/run/a.sock#b.test", "unix:/run/a.sock#b.test", false);
        for path in ["/srv/store", "store", "./unix:x"] {
            let directory = StorePlace::Own(OwnStore::Directory(path.into()));
            assert_eq!(store_place(path), Ok(directory));
        }
        let bucket = StorePlace::Own(OwnStore::Bucket("s3://bucket".to_owned()));
        assert_eq!(store_place("s3://bucket"), Ok(bucket));
        for wrong in [
            "",
            "ftp://a.test/",
            "https://",
            "https:///x",
            "https://a.test:0/",
            "https://a.test:x/",
            "https://a.test/b/c",
            "https://a.test/?x",
            "https://user@a.test/",
            "https://::1/",
            "https://[::1",
            "unix:",
        ] {
            assert!(store_place(wrong).is_err(), "{wrong}");
        }
    }
}
