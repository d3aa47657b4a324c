//! The trace that a request is part of: the field `traceparent` (W3C Trace Context).

use crate::digits::{from_hex, hex, hex64, hex128};

/// The flags that this version knows: sampled, and a random trace id. Others are not passed on.
const KNOWN_FLAGS: u8 = 0b11;

/// The value of `traceparent`. One that is not valid is none: the request begins a trace of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct TraceParent {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

impl TraceParent {
    /// A value from its parts; of the flags the two that are known stay. `None` if an identifier is zero,
    /// which is none.
    pub fn new(trace_id: u128, parent_id: u64, flags: u8) -> Option<TraceParent> {
        (trace_id != 0 && parent_id != 0).then_some(TraceParent {
            trace_id,
            parent_id,
            flags: flags & KNOWN_FLAGS,
        })
    }

    /// Reads `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01` (section 3.2); of a later version what
    /// this one knows. `None` for everything else, two fields included.
    pub fn parse(value: &[u8]) -> Option<TraceParent> {
        let (version, rest) = value.split_first_chunk::<3>()?;
        let (trace_id, rest) = rest.split_first_chunk::<33>()?;
        let (parent_id, rest) = rest.split_first_chunk::<17>()?;
        let (flags, rest) = rest.split_first_chunk::<2>()?;
        let number = |digits: &[u8]| from_hex(digits, false);
        let before_dash = |digits: &[u8]| number(digits.strip_suffix(b"-")?);
        match (before_dash(version)?, rest) {
            (0xff, _) => return None,
            (0, []) | (1.., [] | [b'-', ..]) => {}
            _ => return None,
        }
        let parent_id = u64::try_from(before_dash(parent_id)?).ok()?;
        let flags = u8::try_from(number(flags)?).ok()?;
        TraceParent::new(before_dash(trace_id)?, parent_id, flags)
    }

    /// The identifier of the whole trace; never 0.
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The identifier of the span that asked; never 0.
    pub fn parent_id(&self) -> u64 {
        self.parent_id
    }

    /// The flags: 1 if the caller records the trace, 2 if its identifier is random.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// The same trace with another span that asks; `None` if that is 0.
    pub fn with_parent(self, parent_id: u64) -> Option<TraceParent> {
        TraceParent::new(self.trace_id, parent_id, self.flags)
    }

    /// The field value that is passed on, in version 00.
    pub fn to_bytes(self) -> [u8; 55] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        let trace_id = hex128(self.trace_id);
        let parent_id = hex64(self.parent_id);
        let flags = hex(self.flags);
        let parts: [&[u8]; 7] = [b"00", b"-", &trace_id, b"-", &parent_id, b"-", &flags];
        let signs = parts.iter().flat_map(|part| part.iter());
        for (place, sign) in text.iter_mut().zip(signs) {
            *place = *sign;
        }
        text
    }

    /// The 32 digits of the trace's identifier.
    pub(crate) fn trace_id_hex(&self) -> [u8; 32] {
        hex128(self.trace_id)
    }

    /// The 16 digits of the identifier of the span that asked.
    pub(crate) fn parent_id_hex(&self) -> [u8; 16] {
        hex64(self.parent_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values() {
        let check = |text: &str, expected: Option<&str>| {
            let read = TraceParent::parse(text.as_bytes());
            let written = read.map(|read| String::from_utf8(read.to_bytes().to_vec()).unwrap());
            assert_eq!(written.as_deref(), expected, "{text}");
        };
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        check(valid, Some(valid));
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        check(unsampled, Some(unsampled));
        // Flags that are not known are not passed on.
        check(
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fd",
            Some(valid),
        );
        // A later version, with or without more.
        let rest = valid.trim_start_matches("00");
        for version in ["01", "cc", "fe"] {
            let later = format!("{version}{rest}");
            check(&later, Some(valid));
            check(&format!("{later}-what-comes"), Some(valid));
            check(&format!("{later}-"), Some(valid));
            check(&format!("{later}.what-comes"), None);
            check(&format!("{later}0"), None);
        }
        check(&format!("ff{rest}"), None);
        check(&format!("{valid}-more"), None);
        check(&format!("{valid}, {valid}"), None);
        check(&format!(" {valid}"), None);
        check(&valid.to_uppercase(), None);
        check(&valid.replace('-', "_"), None);
        check(valid.trim_end_matches('1'), None);
        check("", None);
        check(
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            None,
        );
        check(
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            None,
        );
        check(
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            None,
        );
        check(
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
            None,
        );
        check(
            "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            None,
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_written_is_read_back(trace_id in 1_u128.., parent_id in 1_u64.., flags in any::<u8>()) {
            let written = TraceParent::new(trace_id, parent_id, flags).unwrap();
            prop_assert_eq!(TraceParent::parse(&written.to_bytes()), Some(written));
            let next = written.with_parent(parent_id ^ 1);
            prop_assert_eq!(next.is_some(), parent_id != 1);
        }

        #[test]
        fn no_text_is_too_odd(text in "[0-9a-f-]{53,57}", bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            for text in [text.as_bytes(), &bytes] {
                if let Some(read) = TraceParent::parse(text) {
                    prop_assert!(read.trace_id() != 0 && read.parent_id() != 0 && read.flags() < 4);
                }
            }
        }
    }
}
