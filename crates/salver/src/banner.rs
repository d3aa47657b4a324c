//! What a person reads when the server is up.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use salver_assets::Prewarmed;
use salver_server::Server;

use crate::settings::{Settings, Shown, size};

/// Name and version, where to point a browser, what is served, and what to mind. Ends with a line
/// break.
pub fn banner(settings: &Settings, server: &Server, prewarmed: Option<Prewarmed>) -> String {
    let mut text = format!("Salver {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<8}{value}");
    };
    let mut open = |scheme: &str, addresses: &[SocketAddr], more: &str| {
        for address in addresses {
            line(
                "open",
                &format!("{}{more}", place(scheme, *address, addresses)),
            );
        }
    };
    open("https", server.tls_addresses(), "");
    open("http", server.addresses(), "");
    open("http", server.redirect_addresses(), ", redirects to https");
    if let Some(tls) = &settings.server.tls {
        for certificate in tls.handshakes.certificates().summary() {
            line("tls", &certificate);
        }
    }
    for shown in &settings.shown {
        line("serving", &tree(shown));
    }
    let engine = &settings.engine;
    let cache = if engine.cache {
        let size_of_cache = u64::try_from(engine.cache_size).unwrap_or(u64::MAX);
        let age = humantime::format_duration(engine.revalidate);
        format!(
            "{}, compared with the disk after {age}",
            size(size_of_cache)
        )
    } else {
        "off: every request is answered from disk".to_owned()
    };
    line("cache", &cache);
    if let Some(Prewarmed { files, bytes, full }) = prewarmed {
        let full = if full {
            "; then the cache was full"
        } else {
            ""
        };
        line("prewarm", &format!("{files} files, {}{full}", size(bytes)));
    }
    for warning in &settings.warnings {
        line("note", warning);
    }
    text
}

/// An address as a URL that a browser on this machine can open, and who else can; `all` are those
/// that are listened on together.
fn place(scheme: &str, address: SocketAddr, all: &[SocketAddr]) -> String {
    let (ip, reach) = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => (Ipv4Addr::LOCALHOST.into(), "every interface, IPv4"),
        // Over IPv4 it is reached if IPv4 has no sockets of its own.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) if all.iter().any(SocketAddr::is_ipv4) => {
            (Ipv6Addr::LOCALHOST.into(), "every interface, IPv6")
        }
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            (Ipv6Addr::LOCALHOST.into(), "every interface, IPv4 and IPv6")
        }
        ip => (ip, ""),
    };
    let url = SocketAddr::new(ip, address.port());
    if address.ip().is_unspecified() {
        format!(
            "{scheme}://{url}/ ({} is {reach}: other machines reach it too)",
            address.ip()
        )
    } else if address.ip().is_loopback() {
        format!("{scheme}://{url}/")
    } else {
        format!("{scheme}://{url}/ (other machines may reach it too)")
    }
}

fn tree(shown: &Shown) -> String {
    let mut text = format!("{} from {:?}", shown.prefix, shown.path);
    let mut separator = " (";
    for (label, file) in [("index", &shown.index), ("unknown paths", &shown.fallback)] {
        if let Some(file) = file {
            let _ = write!(text, "{separator}{label}: {file}");
            separator = ", ";
        }
    }
    if !shown.cached {
        let _ = write!(text, "{separator}read for each request");
        separator = ", ";
    }
    if separator == ", " {
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_url_opens_in_a_browser_and_says_who_reaches_it() {
        fn check(addresses: &str, expected: &str) {
            let all: Vec<_> = addresses.split(' ').map(|a| a.parse().unwrap()).collect();
            assert_eq!(place("http", all[0], &all), expected);
            let secure = place("https", all[0], &all);
            assert_eq!(secure, expected.replacen("http", "https", 1));
        }
        check("127.0.0.1:8080", "http://127.0.0.1:8080/");
        check("[::1]:80", "http://[::1]:80/");
        check(
            "0.0.0.0:81",
            "http://127.0.0.1:81/ (0.0.0.0 is every interface, IPv4: other machines reach it too)",
        );
        check(
            "[::]:81 [::]:82",
            "http://[::1]:81/ (:: is every interface, IPv4 and IPv6: other machines reach it too)",
        );
        check(
            "[::]:81 0.0.0.0:81",
            "http://[::1]:81/ (:: is every interface, IPv6: other machines reach it too)",
        );
        check(
            "192.0.2.1:81",
            "http://192.0.2.1:81/ (other machines may reach it too)",
        );
    }

    #[test]
    fn a_tree_says_what_stands_for_what() {
        fn check(index: Option<&str>, fallback: Option<&str>, cached: bool, expected: &str) {
            let shown = Shown {
                prefix: "/a/".to_owned(),
                path: PathBuf::from("/srv"),
                index: index.map(str::to_owned),
                fallback: fallback.map(str::to_owned),
                cached,
            };
            assert_eq!(tree(&shown), expected);
        }
        check(None, None, true, "/a/ from \"/srv\"");
        check(Some("i"), None, true, "/a/ from \"/srv\" (index: i)");
        check(
            None,
            Some("f"),
            true,
            "/a/ from \"/srv\" (unknown paths: f)",
        );
        check(
            Some("i"),
            Some("f"),
            true,
            "/a/ from \"/srv\" (index: i, unknown paths: f)",
        );
        check(
            None,
            None,
            false,
            "/a/ from \"/srv\" (read for each request)",
        );
        check(
            Some("i"),
            None,
            false,
            "/a/ from \"/srv\" (index: i, read for each request)",
        );
    }
}
