//! The priority of an answer, as its client says it (RFC 9218).

use salver_semantics::field::{list, trim_ows};

/// The number of urgencies.
pub const URGENCIES: usize = 8;

/// The priority of an answer (RFC 9218 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// The urgency: 0 (the most urgent) to 7; default 3.
    pub urgency: u8,
    /// True if a part of the answer is of use before the rest; default false.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Priority {
            urgency: 3,
            incremental: false,
        }
    }
}

impl Priority {
    /// Reads the value of a Priority field, a dictionary of structured fields (RFC 9651 section 3.2). Members that
    /// are unknown, or have another type or range than they should, are ignored (RFC 9218 section 4), as are those
    /// with wrong syntax.
    ///
    /// ```
    /// use salver_fields::Priority;
    ///
    /// let priority = Priority::parse(b"u=1, i");
    /// assert_eq!((priority.urgency, priority.incremental), (1, true));
    /// ```
    pub fn parse(value: &[u8]) -> Priority {
        let mut priority = Priority::default();
        priority.add(value);
        priority
    }

    /// Adds one more line of the field: the lines of one name are one value (RFC 9110 section 5.3), and of members
    /// with one name the last counts.
    pub(crate) fn add(&mut self, line: &[u8]) {
        for member in list(line) {
            let member = member.split(|&byte| byte == b';').next();
            match trim_ows(member.unwrap_or_default()) {
                [b'u', b'=', digit @ b'0'..=b'7'] => self.urgency = digit & 7,
                b"i" | b"i=?1" => self.incremental = true,
                b"i=?0" => self.incremental = false,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (value, urgency, incremental) in [
            ("", 3, false),
            ("u=0", 0, false),
            ("u=7,i", 7, true),
            ("i, u=2", 2, true),
            (" u=5 ,\ti=?1 ", 5, true),
            ("i=?1, i=?0", 3, false),
            ("u=1;x=2, i;y", 1, true),
            ("u=1;x=2 , i=?0", 1, false),
            ("u=1, u=4", 4, false),
            ("u=8", 3, false),
            ("u=55", 3, false),
            ("u=-1", 3, false),
            ("u=1.5", 3, false),
            ("u", 3, false),
            ("i=1", 3, false),
            ("U=1", 3, false),
            ("x, u=6, \"u=1\"", 6, false),
            ("a=\"u=1\"", 3, false),
            // A comma within a string ends no member.
            ("a=\"b, u=1, i\"", 3, false),
            ("\u{e9}", 3, false),
        ] {
            let expected = Priority {
                urgency,
                incremental,
            };
            assert_eq!(Priority::parse(value.as_bytes()), expected, "{value}");
        }
    }
}
