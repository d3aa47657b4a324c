//! The bounds of what one connection may cost.

/// What one connection may cost. Numbers that a client is told, in SETTINGS or by a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Size of a field section, counted as `SETTINGS_MAX_HEADER_LIST_SIZE` has it (RFC 9113 section
    /// 6.5.2), in bytes; default 16 KiB. A larger one is answered with 431. Twice as much coded is
    /// a connection error.
    pub max_head: usize,
    /// Length of `:path` in bytes; default 8 KiB. A longer one is answered with 414.
    pub max_target: usize,
    /// Number of field lines; default 100. More are answered with 431.
    pub max_fields: usize,
    /// Length of a request's content in bytes; default 1 MiB. More is answered with 413.
    pub max_body: u64,
    /// Streams that may be open at once; default 128. More are refused.
    pub max_streams: u32,
    /// Frames that lead to nothing - PING, SETTINGS, resets, empty ones - that may come at once;
    /// default 1,000. A tenth of them is allowed again each second.
    pub max_idle_frames: u32,
    /// Whether requests are for a program, not for files alone: then all their
    /// [lines](crate::Request::lines) are kept, and whoever asks before sending content (Expect) is
    /// told to go on. Default: no.
    pub for_program: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_head: 16 << 10,
            max_target: 8 << 10,
            max_fields: 100,
            max_body: 1 << 20,
            max_streams: 128,
            max_idle_frames: 1000,
            for_program: false,
        }
    }
}
