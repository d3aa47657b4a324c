//! Networks as operators write them, and the set of those that are trusted.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network in CIDR notation (RFC 4632, RFC 4291 section 2.3): `10.0.0.0/8`, `2001:db8::/32`, or one
/// address without a prefix. What is written as IPv4-mapped IPv6 is the network of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Network {
    first: IpAddr,
    last: IpAddr,
}

/// The fault of a text that is no [`Network`]; the operator mends it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NetworkError {
    /// What stands before the slash is no address.
    Address(String),
    /// What stands behind it is no number from 0 to 32 or 128.
    Prefix(String),
    /// The address has bits beyond its prefix: most likely one of the two is not what was meant.
    HostBits(Network),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Address(text) => {
                write!(f, "{text:?} is no IP address; write one like 10.0.0.0/8")
            }
            NetworkError::Prefix(text) => write!(
                f,
                "/{text} is no prefix length; write 0 to 32 for IPv4, 0 to 128 for IPv6"
            ),
            NetworkError::HostBits(network) => {
                write!(
                    f,
                    "the address has bits beyond its prefix; write {network}, or a longer prefix"
                )
            }
        }
    }
}

impl std::error::Error for NetworkError {}

impl Network {
    /// The network with this prefix that has the address.
    fn of(address: IpAddr, prefix: u32) -> Network {
        // A shift by all bits is none at all, so a prefix of nothing is a case of its own.
        let (first, last) = match address {
            IpAddr::V4(address) => {
                let rest = u32::MAX.checked_shr(prefix).unwrap_or(0);
                let bits = address.to_bits();
                let range = (bits & !rest, bits | rest);
                (
                    Ipv4Addr::from_bits(range.0).into(),
                    Ipv4Addr::from_bits(range.1).into(),
                )
            }
            IpAddr::V6(address) => {
                let rest = u128::MAX.checked_shr(prefix).unwrap_or(0);
                let bits = address.to_bits();
                let range = (bits & !rest, bits | rest);
                (
                    Ipv6Addr::from_bits(range.0).into(),
                    Ipv6Addr::from_bits(range.1).into(),
                )
            }
        };
        Network { first, last }
    }

    /// True if the address is one of this network; IPv4-mapped addresses are those of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        (self.first..=self.last).contains(&address.to_canonical())
    }

    /// The length of the prefix in bits.
    pub fn prefix(&self) -> u32 {
        match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                (first.to_bits() ^ last.to_bits()).leading_zeros()
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                (first.to_bits() ^ last.to_bits()).leading_zeros()
            }
            // Both ends come from one address.
            _ => 0,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let written: IpAddr = address
            .parse()
            .map_err(|_| NetworkError::Address(address.to_owned()))?;
        let bits = if written.is_ipv4() { 32 } else { 128 };
        let length = match prefix {
            None => bits,
            Some(prefix) => prefix_length(prefix)
                .filter(|length| *length <= bits)
                .ok_or_else(|| NetworkError::Prefix(prefix.to_owned()))?,
        };
        let address = written.to_canonical();
        let (address, length) = match length.checked_sub(96) {
            Some(length) if address != written => (address, length),
            _ => (written, length),
        };
        let network = Network::of(address, length);
        if network.first == address {
            Ok(network)
        } else {
            Err(NetworkError::HostBits(network))
        }
    }
}

/// A number of up to three digits, without a sign.
fn prefix_length(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix())
    }
}

/// The set of networks whose machines are believed when they name a client. Empty by default: nobody is.
///
/// To look up an address costs a binary search, so long lists, such as those of content delivery networks, are
/// fine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrustedNetworks {
    /// Ends of ranges in order, apart from each other. All of IPv4 comes before all of IPv6.
    ranges: Vec<(IpAddr, IpAddr)>,
}

impl TrustedNetworks {
    /// True if the address is in one of the networks; IPv4-mapped addresses are those of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let after = self.ranges.partition_point(|(first, _)| *first <= address);
        let before = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        before.is_some_and(|(_, last)| address <= *last)
    }

    /// True if nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl FromIterator<Network> for TrustedNetworks {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let mut networks: Vec<Network> = networks.into_iter().collect();
        networks.sort_unstable();
        let mut ranges: Vec<(IpAddr, IpAddr)> = Vec::with_capacity(networks.len());
        for Network { first, last } in networks {
            match ranges.last_mut() {
                Some((_, end)) if first <= *end => *end = last.max(*end),
                _ => ranges.push((first, last)),
            }
        }
        TrustedNetworks { ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn networks_are_read_and_written() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let read = text.parse::<Network>();
            let read = read.map(|network| network.to_string());
            let said = read.map_err(|error| error.to_string());
            match (said, expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{text}: {said}"),
                (said, _) => panic!("{text}: {said:?}"),
            }
        };
        check("10.0.0.0/8", Ok("10.0.0.0/8"));
        check("192.0.2.7", Ok("192.0.2.7/32"));
        check("0.0.0.0/0", Ok("0.0.0.0/0"));
        check("192.0.2.7/32", Ok("192.0.2.7/32"));
        check("192.0.2.6/31", Ok("192.0.2.6/31"));
        check("::1", Ok("::1/128"));
        check("::/0", Ok("::/0"));
        check("2001:db8::/32", Ok("2001:db8::/32"));
        check("::ffff:10.0.0.0/104", Ok("10.0.0.0/8"));
        check("::ffff:10.1.2.3", Ok("10.1.2.3/32"));
        check("::ffff:0:0/96", Ok("0.0.0.0/0"));
        check("10.0.0.1/8", Err("write 10.0.0.0/8"));
        check("2001:db8::1/32", Err("write 2001:db8::/32"));
        check("::ffff:0:0/95", Err("write ::fffe:0:0/95"));
        for prefix in [
            "10.0.0.0/33",
            "::/129",
            "::/",
            "::/+1",
            "::/ 1",
            "::/1e1",
            "::/0128",
        ] {
            check(prefix, Err("no prefix length"));
        }
        for address in [
            "",
            "/8",
            "10.0.0/8",
            "010.0.0.0/8",
            "fe80::1%eth0",
            "localhost",
            " ::1",
        ] {
            check(address, Err("no IP address"));
        }
    }

    #[test]
    fn trust_ends_where_the_networks_do() {
        let trusted = [
            "10.0.0.0/8",
            "10.1.0.0/16",
            "192.0.2.7",
            "2001:db8::/32",
            "::1",
        ];
        let trusted: TrustedNetworks = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let check = |address: &str, expected: bool| {
            assert_eq!(
                trusted.contains(address.parse().unwrap()),
                expected,
                "{address}"
            );
        };
        for inside in [
            "10.0.0.0",
            "10.255.255.255",
            "10.2.0.1",
            "192.0.2.7",
            "::1",
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "::ffff:10.0.0.1",
        ] {
            check(inside, true);
        }
        for outside in [
            "9.255.255.255",
            "11.0.0.0",
            "192.0.2.6",
            "192.0.2.8",
            "::",
            "::2",
            "2001:db7::",
            "2001:db9::",
            "::ffff:11.0.0.1",
            "::10.0.0.1",
            "0.0.0.0",
            "255.255.255.255",
        ] {
            check(outside, false);
        }
        assert!(!TrustedNetworks::default().contains("127.0.0.1".parse().unwrap()));
        // All of IPv6 is not all of IPv4.
        let six: TrustedNetworks = ["::/0".parse().unwrap()].into_iter().collect();
        assert!(six.contains("::1".parse().unwrap()));
        assert!(!six.contains("127.0.0.1".parse().unwrap()));
        assert!(!six.contains("::ffff:127.0.0.1".parse().unwrap()));
    }

    fn network() -> impl Strategy<Value = Network> {
        let four = (any::<u32>(), 0..=32_u32)
            .prop_map(|(bits, prefix)| Network::of(Ipv4Addr::from_bits(bits).into(), prefix));
        let six = (any::<u128>(), 0..=128_u32)
            .prop_map(|(bits, prefix)| Network::of(Ipv6Addr::from_bits(bits).into(), prefix));
        prop_oneof![four, six]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_written_is_read_back(network in network()) {
            prop_assert_eq!(network.to_string().parse(), Ok(network));
        }

        #[test]
        fn a_set_has_what_one_of_its_networks_has(
            networks in prop::collection::vec(network(), 0..8),
            others in prop::collection::vec(any::<IpAddr>(), 0..8),
        ) {
            let trusted: TrustedNetworks = networks.iter().copied().collect();
            let ends = networks.iter().flat_map(|network| [network.first, network.last]);
            for address in ends.chain(others) {
                let expected = networks.iter().any(|network| network.contains(address));
                prop_assert_eq!(trusted.contains(address), expected, "{}", address);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9a-f:./%]{0,50}") {
            if let Ok(network) = text.parse::<Network>() {
                prop_assert!(network.contains(network.first) && network.contains(network.last));
            }
        }
    }
}
