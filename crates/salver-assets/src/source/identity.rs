//! Comparison of identities: whether a file has changed, has grown, or may have changed without showing it.

use std::time::Duration;

use crate::source::Identity;

/// The coarsest tick of kernels' file times, 10 ms (of Windows 15.6 ms), and a little: of two changes within one,
/// only the first can be seen.
const TICK: Duration = Duration::from_millis(if cfg!(windows) { 17 } else { 11 });

/// The time within which file systems with whole-second times cannot tell two changes apart.
const COARSE: Duration = Duration::from_secs(2);

/// The time after the last change in which another one may look the same.
pub(crate) fn resolution(identity: &Identity) -> Duration {
    if identity.modified.nanoseconds == 0 && identity.changed.nanoseconds == 0 {
        COARSE
    } else {
        TICK
    }
}

/// True if an equal identity may still hide another change: the file system keeps whole seconds and
/// the last change is younger than its resolution.
pub(crate) fn may_change_unseen(identity: &Identity) -> bool {
    resolution(identity) == COARSE && changed_within(identity, COARSE)
}

/// True if the file, in content or inode, changed less than `time` ago.
pub(crate) fn changed_within(identity: &Identity, time: Duration) -> bool {
    identity.changed.age() < time
}

/// True if both identities are of the same content. The change time is left out: it also moves when the file
/// loses its name or gets another.
pub(crate) fn same_content(one: &Identity, other: &Identity) -> bool {
    one.length == other.length && one.modified == other.modified && one.inode == other.inode
}

/// True if `now` may be `before` with something appended to it.
pub(crate) fn has_grown(before: &Identity, now: &Identity) -> bool {
    before.is_same_file(now) && now.length > before.length && now.modified >= before.modified
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Timestamp;

    fn identity(length: u64, modified: i64) -> Identity {
        let at = Timestamp {
            seconds: modified,
            nanoseconds: 5,
        };
        Identity {
            device: 1,
            inode: 2,
            length,
            modified: at,
            changed: at,
        }
    }

    #[test]
    fn has_grown_is_of_one_file_and_forward_in_time() {
        let before = identity(10, 5);
        assert!(has_grown(&before, &identity(11, 5)));
        assert!(!has_grown(&before, &identity(10, 6)));
        assert!(!has_grown(&before, &identity(11, 4)));
        let other = Identity {
            inode: 3,
            ..identity(11, 6)
        };
        assert!(!has_grown(&before, &other));
    }

    #[test]
    fn whole_second_times_are_trusted_only_when_old() {
        let mut identity = identity(0, 0);
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        let seconds = i64::try_from(now.as_secs()).unwrap();
        let mut check = |age: i64, nanoseconds: u32, expected: bool| {
            identity.modified = Timestamp {
                seconds: seconds - age,
                nanoseconds: 0,
            };
            identity.changed = Timestamp {
                seconds: seconds - age,
                nanoseconds,
            };
            assert_eq!(may_change_unseen(&identity), expected);
        };
        check(0, 0, true);
        check(100, 0, false);
        check(0, 5, false);
    }
}
