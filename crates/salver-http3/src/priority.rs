//! How urgent an answer is (RFC 9218).

use salver_semantics::field::{list, trim_ows};

/// The urgency of an answer: 0 comes first, 7 last (RFC 9218 section 4.1). Default: 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Urgency(u8);

impl Default for Urgency {
    fn default() -> Self {
        Urgency(3)
    }
}

impl Urgency {
    /// What a Priority field value or frame says. What is not understood counts as not said
    /// (RFC 9218 section 4).
    pub fn parse(value: &[u8]) -> Self {
        let mut urgency = Urgency::default();
        for member in list(value) {
            let key_value = member
                .split(|byte| *byte == b';')
                .next()
                .unwrap_or_default();
            if let [b'u', b'=', digit @ b'0'..=b'7'] = trim_ows(key_value) {
                urgency = Urgency(digit & 0x0f);
            }
        }
        urgency
    }

    /// From 0, the most urgent, to 7.
    pub fn value(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        for (value, expected) in [
            ("", 3),
            ("u=0", 0),
            ("u=7", 7),
            ("u=8", 3),
            ("u=-1", 3),
            ("u=55", 3),
            ("i", 3),
            ("u=5, i", 5),
            ("i, u=1", 1),
            ("u=1;x=2 , i=?0", 1),
            ("u=1, u=2", 2),
            ("a=\"u=1\"", 3),
            ("u", 3),
        ] {
            assert_eq!(
                Urgency::parse(value.as_bytes()).value(),
                expected,
                "{value}"
            );
        }
    }
}
