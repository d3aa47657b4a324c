//! Identifiers of requests.

use std::fmt;
use std::io;

use crate::digits::{from_hex, hex128};

/// The identifier of a request: 128 bits, written as 32 hexadecimal digits. It tells requests apart, in logs
/// and to who asks for help; it is no secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RequestId(u128);

impl RequestId {
    /// The identifier with this value.
    pub const fn from_u128(value: u128) -> RequestId {
        RequestId(value)
    }

    /// Its value.
    pub const fn to_u128(self) -> u128 {
        self.0
    }

    /// Reads what a proxy calls it (`X-Request-Id`): 32 hexadecimal digits, or a UUID with its dashes. Only
    /// that of a trusted proxy may be taken over: a client could give many requests one name. `None` for
    /// everything else.
    pub fn parse(value: &[u8]) -> Option<RequestId> {
        let digits: [u8; 32] = match value {
            [
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                b'-',
                _,
                _,
                _,
                _,
                b'-',
                _,
                _,
                _,
                _,
                b'-',
                _,
                _,
                _,
                _,
                b'-',
                last @ ..,
            ] if last.len() == 12 => {
                let mut digits = [0; 32];
                let parts = value.iter().filter(|sign| **sign != b'-');
                let filled = digits
                    .iter_mut()
                    .zip(parts)
                    .map(|(to, from)| *to = *from)
                    .count();
                (filled == 32).then_some(digits)?
            }
            _ => value.try_into().ok()?,
        };
        from_hex(&digits, true).map(RequestId)
    }

    /// The 32 digits, in lower case.
    pub fn hex(self) -> [u8; 32] {
        hex128(self.0)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// The source of identifiers of one loop. It begins at random, so that those of other loops, servers and
/// starts are others; each costs a few multiplications, and no system call.
#[derive(Debug)]
pub struct RequestIds {
    high: u64,
    low: u64,
}

impl RequestIds {
    /// A source that begins at random.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new() -> io::Result<RequestIds> {
        let random = || getrandom::u64().map_err(io::Error::other);
        Ok(RequestIds {
            high: random()?,
            low: random()?,
        })
    }

    /// The next identifier. None comes twice: each half goes once through all of its values.
    pub fn next_id(&mut self) -> RequestId {
        // Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014), with two odd steps.
        self.high = self.high.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.low = self.low.wrapping_add(0xd1b5_4a32_d192_ed03);
        RequestId(u128::from(mix(self.high)) << 64 | u128::from(mix(self.low)))
    }
}

/// The finalizer of SplitMix64: each bit of the number decides about half of all bits.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn identifiers_of_proxies() {
        let check = |text: &str, expected: Option<u128>| {
            let read = RequestId::parse(text.as_bytes()).map(RequestId::to_u128);
            assert_eq!(read, expected, "{text}");
        };
        let value = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        check("0123456789abcdef0123456789abcdef", Some(value));
        check("0123456789ABCDEF0123456789ABCDEF", Some(value));
        check("01234567-89ab-cdef-0123-456789abcdef", Some(value));
        for other in [
            "",
            "0123456789abcdef0123456789abcde",
            "0123456789abcdef0123456789abcdef0",
            "0123456789abcdef0123456789abcdeg",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567-89ab-cdef-0123-456789abcdef0",
            "01234567-89ab-cdef-0123-456789abcde-",
            "0123456-789ab-cdef-0123-456789abcdef",
            "-------------------------------------",
            "0123456789abcdef0123456789abcd\r\n",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn none_comes_twice() {
        let (mut one, mut other) = (RequestIds::new().unwrap(), RequestIds::new().unwrap());
        let mut seen = HashSet::new();
        for _ in 0..10_000 {
            assert!(seen.insert(one.next_id()) && seen.insert(other.next_id()));
        }
        // Neither half stands still, and about half of all bits are set.
        let ones: u32 = seen.iter().map(|id| id.to_u128().count_ones()).sum();
        let share = f64::from(ones) / (20_000.0 * 128.0);
        assert!((0.49..0.51).contains(&share), "{share}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_written_is_read_back(value in any::<u128>()) {
            let id = RequestId::from_u128(value);
            prop_assert_eq!(RequestId::parse(&id.hex()), Some(id));
            prop_assert_eq!(id.to_string().into_bytes(), id.hex());
        }

        #[test]
        fn no_text_is_too_odd(text in prop::collection::vec(any::<u8>(), 0..50)) {
            let is_long = text.len() == 32 || text.len() == 36;
            prop_assert!(RequestId::parse(&text).is_none() || is_long);
        }
    }
}
