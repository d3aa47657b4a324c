//! The client's address as text.

use std::fmt;
use std::io::Write;
use std::net::IpAddr;

/// The longest text of an IPv6 address.
const LONGEST: usize = 39;

/// The text of a client's address: made once for a connection, because all its requests have it. What is
/// IPv4-mapped is written as IPv4, as those who ban addresses need it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressText {
    text: [u8; LONGEST],
    length: usize,
}

impl AddressText {
    /// The text of an address.
    pub fn new(address: IpAddr) -> AddressText {
        let mut text = [0; LONGEST];
        let mut rest = text.as_mut_slice();
        // No address is longer than its room.
        let _ = write!(rest, "{}", address.to_canonical());
        let length = LONGEST - rest.len();
        AddressText { text, length }
    }

    /// The text of who has no address, such as the client of a Unix socket: `-`.
    pub const fn none() -> AddressText {
        let mut text = [0; LONGEST];
        let [first, ..] = &mut text;
        *first = b'-';
        AddressText { text, length: 1 }
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

impl fmt::Debug for AddressText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AddressText({})", self.as_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_room() {
        let check = |address: &str, expected: &str| {
            let text = AddressText::new(address.parse().unwrap());
            assert_eq!(text.as_bytes(), expected.as_bytes());
        };
        check("192.0.2.1", "192.0.2.1");
        check("255.255.255.255", "255.255.255.255");
        check("::1", "::1");
        check("::ffff:192.0.2.1", "192.0.2.1");
        let longest = "1111:2222:3333:4444:5555:6666:7777:8888";
        check(longest, longest);
        assert_eq!(AddressText::none().as_bytes(), b"-");
    }
}
