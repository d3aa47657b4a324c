//! By which way content leaves. One pure function.

/// A way to send content that is not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Read it whole into memory, once, and keep it for others if there is a cache.
    Read,
    /// From an open handle, window by window, each copied before the file is looked at again:
    /// what the kernel sends out of the page cache would show later changes.
    Copy,
    /// From an open handle, window by window, by `sendfile` where the transport can.
    Sendfile,
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Length of the representation in bytes.
    pub length: u64,
    /// The longest content that is kept in memory; 0 if none is kept.
    pub keep_up_to: u64,
    /// The file changed moments ago, so it may well change again while it is sent.
    pub changes_now: bool,
}

/// Below this an open, a read and one send cost less than an open and a `sendfile`.
pub const READ_BELOW: u64 = 32 * 1024;

/// A file that is being changed is read whole up to this length even if it is not kept: what is
/// in memory can no longer change before it has left.
pub const STEADY_UP_TO: u64 = 1024 * 1024;

/// The way for content that is on disk.
pub fn transfer(situation: Situation) -> Transfer {
    let Situation {
        length,
        keep_up_to,
        changes_now,
    } = situation;
    match changes_now {
        _ if length <= keep_up_to || length < READ_BELOW => Transfer::Read,
        true if length <= STEADY_UP_TO => Transfer::Read,
        true => Transfer::Copy,
        false => Transfer::Sendfile,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        fn check(length: u64, keep_up_to: u64, changes_now: bool, expected: Transfer) {
            let situation = Situation {
                length,
                keep_up_to,
                changes_now,
            };
            assert_eq!(transfer(situation), expected, "{situation:?}");
        }
        use Transfer::{Copy, Read, Sendfile};
        let mib = 1024 * 1024;
        for changes_now in [false, true] {
            check(0, 0, changes_now, Read);
            check(READ_BELOW - 1, 0, changes_now, Read);
            check(mib, mib, changes_now, Read);
            let beyond = if changes_now { Copy } else { Sendfile };
            check(mib + 1, mib, changes_now, beyond);
            check(u64::MAX, mib, changes_now, beyond);
        }
        check(READ_BELOW, 0, false, Sendfile);
        check(READ_BELOW, 0, true, Read);
        check(STEADY_UP_TO, 0, true, Read);
        check(STEADY_UP_TO, 0, false, Sendfile);
    }
}
