//! The client that trusted proxies name in `Forwarded` (RFC 7239) or `X-Forwarded-For`.
//!
//! Each proxy appends whom it saw, so the list is read from the right, and only for as long as the one who
//! wrote the next element is trusted. What a client sent itself ends up at the left, where it can say what it
//! likes. Reading from the right also keeps a quote that a client left open from swallowing what a proxy
//! appended behind it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::networks::TrustedNetworks;

/// The proxies on the way that are looked at, at most; a longer way ends at the last of them.
pub const HOPS_AT_MOST: usize = 64;

/// The field in which the operator's proxies name the client. It is one of the two by configuration: a proxy
/// that writes one passes the other on as the client sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ForwardedField {
    /// `Forwarded: for=203.0.113.7;proto=https, for="[2001:db8::1]:4711"` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For: 203.0.113.7, 2001:db8::1`, which has no standard: ports and brackets are taken.
    XForwardedFor,
}

impl ForwardedField {
    /// The name of the field, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            ForwardedField::Forwarded => "forwarded",
            ForwardedField::XForwardedFor => "x-forwarded-for",
        }
    }
}

/// The address of the client: the peer, unless that is trusted and `value` names another; the first one from
/// the right that is not trusted, else the leftmost.
///
/// `peer` is who opened the connection (or whom the PROXY protocol named), `value` is the value of the `field`
/// (RFC 9110 section 5.2: lines joined with commas; empty if there is none). An element without an address
/// (`unknown`, `_hidden`, or what is no address) ends the search: the proxy that wrote it is the nearest one
/// known. IPv4-mapped addresses are given as IPv4.
pub fn client_address(
    peer: IpAddr,
    trusted: &TrustedNetworks,
    field: ForwardedField,
    value: &[u8],
) -> IpAddr {
    let mut client = peer.to_canonical();
    let mut rest = value;
    for _ in 0..HOPS_AT_MOST {
        if !trusted.contains(client) {
            return client;
        }
        let named = match field {
            ForwardedField::XForwardedFor => take_last(&mut rest, b',', |_| false).and_then(node),
            ForwardedField::Forwarded => {
                take_last(&mut rest, b',', is_quote).and_then(for_parameter)
            }
        };
        match named {
            Some(address) => client = address.to_canonical(),
            None => return client,
        }
    }
    client
}

/// True if what ends here is a double quote that begins or ends a quoted-string: one without a backslash that
/// escapes it.
fn is_quote(until_here: &[u8]) -> bool {
    let Some((b'"', before)) = until_here.split_last() else {
        return false;
    };
    let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\');
    backslashes.count() % 2 == 0
}

/// Cuts the last element that is not empty off a list; `None` if there is none left.
fn take_last<'a>(
    list: &mut &'a [u8],
    separator: u8,
    is_quote: impl Fn(&[u8]) -> bool,
) -> Option<&'a [u8]> {
    while !list.is_empty() {
        let whole = *list;
        let mut quoted = false;
        let end = (0..whole.len()).rev().find(|&at| {
            quoted ^= whole.get(..=at).is_some_and(&is_quote);
            !quoted && whole.get(at) == Some(&separator)
        });
        let element = match end.and_then(|at| whole.split_at_checked(at)) {
            Some((before, [_separator, element @ ..])) => {
                *list = before;
                element
            }
            _ => std::mem::take(list),
        };
        let element = element.trim_ascii();
        if !element.is_empty() {
            return Some(element);
        }
    }
    None
}

/// The address in the parameter `for` of an element; `None` if there is not just one.
fn for_parameter(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    let mut rest = element;
    // Quotes count: what a client sent as Host, a proxy may give in a quoted `host`.
    while let Some(pair) = take_last(&mut rest, b';', is_quote) {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            continue;
        };
        if name.trim_ascii().eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
    }
    let value = found?.trim_ascii();
    match value {
        [b'"', inner @ .., b'"'] => node(inner),
        _ => node(value),
    }
}

/// The address of a node: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]`, `[2001:db8::1]:80`, or, as
/// `X-Forwarded-For` has it, `2001:db8::1`.
fn node(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let is_node = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        let address: Option<Ipv6Addr> = is_node.then(|| address.parse().ok()).flatten();
        return address.map(IpAddr::V6);
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(address.into());
    }
    let address = match text.split_once(':') {
        Some((address, port)) => is_port(port).then_some(address)?,
        None => text,
    };
    address.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

/// True if this is a node-port (RFC 7239 section 6): up to five digits, or an obfuscated one.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            let is_sign = |sign: u8| sign.is_ascii_alphanumeric() || b"._-".contains(&sign);
            !name.is_empty() && name.bytes().all(is_sign)
        }
        None => (1..=5).contains(&text.len()) && text.bytes().all(|sign| sign.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROXY: &str = "10.0.0.1";
    const STRANGER: &str = "198.51.100.1";

    fn trusted() -> TrustedNetworks {
        let networks = ["10.0.0.0/8", "2001:db8:1::/48"];
        networks.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn client(peer: &str, field: ForwardedField, value: &[u8]) -> String {
        client_address(peer.parse().unwrap(), &trusted(), field, value).to_string()
    }

    #[test]
    fn x_forwarded_for() {
        let check = |peer: &str, value: &str, expected: &str| {
            let found = client(peer, ForwardedField::XForwardedFor, value.as_bytes());
            assert_eq!(found, expected, "{peer} {value:?}");
        };
        check(PROXY, "", PROXY);
        check(PROXY, "203.0.113.7", "203.0.113.7");
        check(PROXY, "1.1.1.1, 203.0.113.7", "203.0.113.7");
        check(PROXY, "203.0.113.7, 10.2.0.1,10.3.0.1", "203.0.113.7");
        check(PROXY, "1.1.1.1, 203.0.113.7, 2001:db8:1::9", "203.0.113.7");
        // All are trusted: the first one began it.
        check(PROXY, "10.4.0.1, 10.2.0.1", "10.4.0.1");
        // A stranger may say what it likes.
        check(STRANGER, "203.0.113.7", STRANGER);
        check(STRANGER, "10.0.0.1", STRANGER);
        // Ports, brackets, white space, empty elements.
        check(PROXY, "203.0.113.7:51234", "203.0.113.7");
        check(PROXY, "[2001:db8::7]:51234", "2001:db8::7");
        check(PROXY, "[2001:db8::7]", "2001:db8::7");
        check(PROXY, " 2001:db8::7\t", "2001:db8::7");
        check(PROXY, ",203.0.113.7 ,, ", "203.0.113.7");
        check(PROXY, " , ,", PROXY);
        // IPv4 as IPv6 has it, on either side.
        check("::ffff:10.0.0.1", "::ffff:203.0.113.7", "203.0.113.7");
        check("::ffff:198.51.100.1", "203.0.113.7", STRANGER);
        // What names nobody ends the search at who wrote it.
        for nobody in [
            "unknown",
            "_hidden",
            "localhost",
            "203.0.113",
            "203.0.113.7:",
            "203.0.113.7:123456",
            "203.0.113.7:-1",
            "[2001:db8::7",
            "2001:db8::7]",
            "[203.0.113.7]",
            "[2001:db8::7]80",
            "fe80::1%eth0",
            "203.0.113.07",
            "\"203.0.113.7\"",
            "203.0.113.7 203.0.113.8",
        ] {
            check(PROXY, &format!("1.1.1.1, {nobody}"), PROXY);
            check(PROXY, &format!("1.1.1.1, {nobody}, 10.2.0.1"), "10.2.0.1");
            check(PROXY, &format!("{nobody}, 203.0.113.7"), "203.0.113.7");
        }
    }

    #[test]
    fn forwarded() {
        let check = |peer: &str, value: &str, expected: &str| {
            let found = client(peer, ForwardedField::Forwarded, value.as_bytes());
            assert_eq!(found, expected, "{peer} {value:?}");
        };
        // RFC 7239 section 4 and 6.
        check(
            PROXY,
            "For=\"[2001:db8:cafe::17]:4711\"",
            "2001:db8:cafe::17",
        );
        check(
            PROXY,
            "for=192.0.2.60;proto=http;by=203.0.113.43",
            "192.0.2.60",
        );
        check(PROXY, "for=192.0.2.43, for=198.51.100.17", "198.51.100.17");
        check(PROXY, "for=192.0.2.43, for=10.51.100.17", "192.0.2.43");
        check(PROXY, "for=\"192.0.2.43:47011\"", "192.0.2.43");
        check(PROXY, "for=\"192.0.2.43:_secret\"", "192.0.2.43");
        check(PROXY, "by=1.1.1.1;host=a;for=192.0.2.43", "192.0.2.43");
        check(PROXY, "host=\"a,b;c\"; for=192.0.2.43", "192.0.2.43");
        check(PROXY, "for=192.0.2.43;host=\"a\\\",b\"", "192.0.2.43");
        check(PROXY, "for=192.0.2.43;host=\"a;for=1.1.1.1\"", "192.0.2.43");
        check(
            PROXY,
            "for=192.0.2.43;host=\"a, for=1.1.1.1\"",
            "192.0.2.43",
        );
        check(
            PROXY,
            "for=192.0.2.43;host=\"a\\\\\", for=10.0.0.2",
            "192.0.2.43",
        );
        check(STRANGER, "for=192.0.2.43", STRANGER);
        check(PROXY, "", PROXY);
        // Nobody is named, or two are.
        for nobody in [
            "for=unknown",
            "for=_gazonk",
            "proto=https",
            "for",
            "for=",
            "for=\"\"",
            "for=\"",
            "for=\"192.0.2.43",
            "for=192.0.2.43;for=192.0.2.44",
            "fort=192.0.2.43",
            "192.0.2.43",
        ] {
            check(PROXY, nobody, PROXY);
            check(PROXY, &format!("{nobody}, for=10.2.0.1"), "10.2.0.1");
        }
        // A quote that the client leaves open does not hide it.
        check(PROXY, "for=\", for=192.0.2.43", "192.0.2.43");
        check(PROXY, "for=\"\\, for=192.0.2.43", "192.0.2.43");
        check(
            PROXY,
            "for=1.1.1.1;host=\"x, for=\"[2001:db8::7]\"",
            "2001:db8::7",
        );
    }

    #[test]
    fn the_search_has_an_end() {
        let value = "10.0.0.9,".repeat(100_000);
        let value = format!("203.0.113.7,{value}");
        assert_eq!(
            client(PROXY, ForwardedField::XForwardedFor, value.as_bytes()),
            "10.0.0.9"
        );
        let within = format!("203.0.113.7{}", ", 10.0.0.9".repeat(HOPS_AT_MOST - 1));
        assert_eq!(
            client(PROXY, ForwardedField::XForwardedFor, within.as_bytes()),
            "203.0.113.7"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_client_cannot_choose_who_it_is(
            said in prop::collection::vec(any::<u8>(), 0..60),
            odd in "[\", \\\\;=forby10.]{0,40}",
            address in any::<IpAddr>(),
        ) {
            let address = address.to_canonical();
            prop_assume!(!trusted().contains(address));
            for said in [said.as_slice(), odd.as_bytes()] {
                let appended = match address {
                    IpAddr::V4(address) => format!(",for={address}"),
                    IpAddr::V6(address) => format!(", for=\"[{address}]:99\""),
                };
                let value = [said, appended.as_bytes()].concat();
                let found = client(PROXY, ForwardedField::Forwarded, &value);
                prop_assert_eq!(found, address.to_string());
                let value = [said, format!(", {address}").as_bytes()].concat();
                let found = client(PROXY, ForwardedField::XForwardedFor, &value);
                prop_assert_eq!(found, address.to_string());
            }
        }
    }
}
