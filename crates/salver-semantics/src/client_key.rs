//! A client as limits count it.

use core::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address that name a subscriber (RFC 6177).
const SUBSCRIBER_BITS: u32 = 56;

/// The key of a client: its address of IPv4, or with IPv6 the network of a subscriber, within which clients choose
/// their addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientKey(IpAddr);

impl ClientKey {
    /// The key of the client with this address.
    pub fn of(address: IpAddr) -> Self {
        ClientKey(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let network = address.to_bits() & !(u128::MAX >> SUBSCRIBER_BITS);
                Ipv6Addr::from_bits(network).into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_the_network_of_a_subscriber() {
        fn check(one: &str, other: &str, same: bool) {
            let of = |text: &str| ClientKey::of(text.parse().unwrap());
            assert_eq!(of(one) == of(other), same, "{one} {other}");
        }
        check("192.0.2.1", "192.0.2.1", true);
        check("192.0.2.1", "192.0.2.2", false);
        check("192.0.2.1", "::ffff:192.0.2.1", true);
        check("2001:db8:0:100::1", "2001:db8:0:1ff:9::2", true);
        check("2001:db8:0:100::1", "2001:db8:0:200::1", false);
        check("::1", "127.0.0.1", false);
    }
}
