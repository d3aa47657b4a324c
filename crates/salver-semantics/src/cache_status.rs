//! How an answer was had from a cache, for the log and as the field `Cache-Status` (RFC 9211).

use crate::field::is_token;

/// How a cache had an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CacheState {
    /// From memory, fresh.
    Hit,
    /// From memory, although no longer fresh.
    Stale,
    /// It was compared with its source and had not changed.
    Revalidated,
    /// It was compared with its source, had changed, and was loaded anew.
    Expired,
    /// It was not there, and was loaded.
    Miss,
    /// The cache was not asked, by configuration or because it is paused.
    Bypass,
}

impl CacheState {
    /// All of them, in the order of their declaration.
    pub const ALL: [CacheState; 6] = [
        CacheState::Hit,
        CacheState::Stale,
        CacheState::Revalidated,
        CacheState::Expired,
        CacheState::Miss,
        CacheState::Bypass,
    ];

    /// The word in the log. They are those by which log analysers count hits.
    pub fn word(self) -> &'static str {
        match self {
            CacheState::Hit => "hit",
            CacheState::Stale => "stale",
            CacheState::Revalidated => "revalidated",
            CacheState::Expired => "expired",
            CacheState::Miss => "miss",
            CacheState::Bypass => "bypass",
        }
    }

    /// The parameters of RFC 9211 section 2 that say it.
    fn parameters(self) -> &'static [u8] {
        match self {
            CacheState::Hit | CacheState::Stale => b"; hit",
            CacheState::Revalidated => b"; fwd=stale; fwd-status=304",
            CacheState::Expired => b"; fwd=stale; fwd-status=200",
            CacheState::Miss => b"; fwd=uri-miss",
            CacheState::Bypass => b"; fwd=bypass",
        }
    }
}

/// The member of `Cache-Status` that one cache adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheStatus {
    /// How the answer was had.
    pub state: CacheState,
    /// The seconds for which it is still fresh, negative if it is not any longer (section 2.5).
    pub ttl: Option<i64>,
    /// True if it is kept from now on (section 2.6).
    pub stored: bool,
    /// True if it was loaded together with others' requests (section 2.7).
    pub collapsed: bool,
}

impl CacheStatus {
    /// The member that says no more than this.
    pub fn of_state(state: CacheState) -> Self {
        CacheStatus {
            state,
            ttl: None,
            stored: false,
            collapsed: false,
        }
    }

    /// Appends the field value: `salver; hit; ttl=30`. `cache` names the cache: a token of RFC 9110 that begins
    /// with a letter stands as it is, everything else as a string, of which only ASCII without controls is left.
    pub fn write(&self, cache: &str, out: &mut Vec<u8>) {
        let is_token = cache.starts_with(|sign: char| sign.is_ascii_alphabetic())
            && is_token(cache.as_bytes());
        if is_token {
            out.extend_from_slice(cache.as_bytes());
        } else {
            // RFC 8941 section 3.3.3.
            out.push(b'"');
            for byte in cache.bytes().filter(|byte| (0x20..0x7f).contains(byte)) {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'"');
        }
        out.extend_from_slice(self.state.parameters());
        if let Some(ttl) = self.ttl {
            out.extend_from_slice(if ttl < 0 { b"; ttl=-" } else { b"; ttl=" });
            // An integer has at most 15 digits (RFC 8941 section 3.3.1).
            let seconds = ttl.unsigned_abs().min(999_999_999_999_999);
            out.extend_from_slice(seconds.to_string().as_bytes());
        }
        if self.stored {
            out.extend_from_slice(b"; stored");
        }
        if self.collapsed {
            out.extend_from_slice(b"; collapsed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let plain = CacheStatus::of_state(CacheState::Hit);
        let check = |cache: &str, status: CacheStatus, expected: &str| {
            let mut out = Vec::new();
            status.write(cache, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        let ttl = |state, ttl| CacheStatus {
            state,
            ttl: Some(ttl),
            ..plain
        };
        check("salver", plain, "salver; hit");
        check("salver", ttl(CacheState::Hit, 30), "salver; hit; ttl=30");
        check("salver", ttl(CacheState::Stale, -1), "salver; hit; ttl=-1");
        check(
            "salver",
            ttl(CacheState::Stale, i64::MIN),
            "salver; hit; ttl=-999999999999999",
        );
        let of = |state| CacheStatus { state, ..plain };
        check(
            "s",
            of(CacheState::Revalidated),
            "s; fwd=stale; fwd-status=304",
        );
        check("s", of(CacheState::Expired), "s; fwd=stale; fwd-status=200");
        check("s", of(CacheState::Bypass), "s; fwd=bypass");
        let missed = CacheStatus {
            stored: true,
            collapsed: true,
            ..of(CacheState::Miss)
        };
        check("s", missed, "s; fwd=uri-miss; stored; collapsed");
        check("node-1.example.org", plain, "node-1.example.org; hit");
        check("1a", plain, "\"1a\"; hit");
        check(
            "my \"node\" \\\r\n\u{e9}",
            plain,
            "\"my \\\"node\\\" \\\\\"; hit",
        );
        check("", plain, "\"\"; hit");
    }
}
