//! The bounds of what one request may cost.

/// What one request may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Size of a field section in bytes: names, values and 32 for each line (RFC 9114 section
    /// 4.2.2); default 16 KiB. More is refused with 431. A frame that holds one is not longer
    /// either.
    pub max_head: usize,
    /// Length of `:path` in bytes; default 8 KiB. A longer one is refused with 414.
    pub max_target: usize,
    /// Number of field lines, those that begin with a colon not counted; default 100. More are
    /// refused with 431.
    pub max_fields: usize,
    /// Length of a request's content in bytes; default 1 MiB. More is refused with 413.
    pub max_body: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_head: 16 << 10,
            max_target: 8 << 10,
            max_fields: 100,
            max_body: 1 << 20,
        }
    }
}
