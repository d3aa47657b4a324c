//! What a person reads when the server is up.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use salver_assets::Prewarmed;

use crate::settings::Settings;
use crate::site_settings::Shown;
use crate::size::size;

/// The most sites and certificates that are shown.
const SHOWN: usize = 20;

/// The addresses that a server listens on.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// Those with TLS.
    pub https: Vec<SocketAddr>,
    /// Those without.
    pub http: Vec<SocketAddr>,
    /// Those that redirect to the first with TLS.
    pub redirects: Vec<SocketAddr>,
}

/// Name and version, where to point a browser, where it is watched from, what is served, and what to mind. Ends with a
/// line break.
pub fn banner(
    settings: &Settings,
    addresses: &Addresses,
    prewarmed: Option<Prewarmed>,
    admin: &[String],
) -> String {
    let mut text = format!("Salver {}\n", env!("CARGO_PKG_VERSION"));
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {label:<8}{value}");
    };
    let mut open = |scheme: &str, addresses: &[SocketAddr], more: &str| {
        for address in addresses {
            line(
                "open",
                &format!("{}{more}", place(scheme, *address, addresses, outward)),
            );
        }
    };
    open("https", &addresses.https, "");
    open("http", &addresses.http, "");
    open("http", &addresses.redirects, ", redirects to https");
    for place in admin {
        line("admin", place);
    }
    for certificate in settings.certificates.iter().take(SHOWN) {
        line("tls", certificate);
    }
    let more = |all: usize| all.checked_sub(SHOWN).filter(|more| *more > 0);
    if let Some(more) = more(settings.certificates.len()) {
        line("tls", &format!("{more} more certificates"));
    }
    for site in settings.sites.iter().take(SHOWN) {
        if settings.sites.len() > 1 {
            let hosts = match site.hosts.is_empty() {
                true => site.label(),
                false => site.hosts.join(", "),
            };
            line("site", &hosts);
        }
        for shown in &site.shown {
            line("serving", &tree(shown));
        }
    }
    if let Some(more) = more(settings.sites.len()) {
        line(
            "site",
            &format!("{more} more: salver check --print has them"),
        );
    }
    let cached = settings.sites.iter().find(|site| site.engine.cache);
    let cache = if let Some(site) = cached {
        let engine = &site.engine;
        let size_of_cache = u64::try_from(engine.cache_size).unwrap_or(u64::MAX);
        let age = humantime::format_duration(engine.revalidate);
        let seen = match engine.revalidate.is_zero() {
            true => "each answer is compared with the disk".to_owned(),
            false => format!("a file that changes is noticed after {age}"),
        };
        format!("{}; {seen}", size(size_of_cache))
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

/// The URL of a server for a browser on this machine: with TLS if it has that.
pub(crate) fn local_url(addresses: &Addresses) -> Option<String> {
    let tls = addresses.https.first().map(|address| ("https", address));
    let plain = addresses.http.first().map(|address| ("http", address));
    let (scheme, address) = tls.or(plain)?;
    let place = place(scheme, *address, &[], |_| None);
    place.split(' ').next().map(str::to_owned)
}

/// The address by which others know this machine, of the family of `any`: that of the route to the
/// outside. Nothing is sent to find it.
fn outward(any: IpAddr) -> Option<IpAddr> {
    // Addresses that are kept for documentation (RFC 5737, RFC 3849): no host has them.
    let outside: IpAddr = match any {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((outside, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_loopback() && !own.is_unspecified()).then_some(own)
}

/// An address as a URL that a browser on this machine can open, and who else can; `all` are those
/// that are listened on together, `outward` knows the address for others.
fn place(
    scheme: &str,
    address: SocketAddr,
    all: &[SocketAddr],
    outward: impl Fn(IpAddr) -> Option<IpAddr>,
) -> String {
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
        let others = match outward(address.ip()) {
            Some(own) => format!(", as {scheme}://{}/", SocketAddr::new(own, address.port())),
            None => String::new(),
        };
        format!(
            "{scheme}://{url}/ ({} is {reach}: other machines reach it too{others})",
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
            assert_eq!(place("http", all[0], &all, |_| None), expected);
            let secure = place("https", all[0], &all, |_| None);
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
    fn of_every_interface_the_address_for_others_is_said() {
        let check = |address: &str, own: &str, expected: &str| {
            let (address, own) = (address.parse().unwrap(), own.parse().unwrap());
            let line = place("http", address, &[address], |_| Some(own));
            assert!(line.contains(expected), "{line}");
        };
        check(
            "0.0.0.0:80",
            "10.1.2.3",
            "reach it too, as http://10.1.2.3:80/)",
        );
        check(
            "[::]:80",
            "2001:db8::7",
            "reach it too, as http://[2001:db8::7]:80/)",
        );
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            let own = outward(any);
            assert!(own.is_none_or(|own| own.is_ipv4() == any.is_ipv4() && !own.is_loopback()));
        }
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
