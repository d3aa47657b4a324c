//! The limit on open files of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process, and those that it starts from here on, have as many files open as that, or
/// else as many as they may; how many that is.
pub fn allow_files(wanted: usize) -> usize {
    let wanted = wanted as u64;
    let limit = getrlimit(Resource::Nofile);
    // Whoever may raises the hard limit too.
    for maximum in [limit.maximum.map(|most| most.max(wanted)), limit.maximum] {
        if limit.current.is_none_or(|current| current >= wanted) {
            break;
        }
        let current = Some(wanted.min(maximum.unwrap_or(u64::MAX)));
        if setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok() {
            break;
        }
    }
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(now.min(wanted)).unwrap_or(usize::MAX)
}

#[test]
fn as_many_files_as_there_are_and_no_more_than_wanted() {
    assert_eq!(allow_files(16), 16);
    assert!(allow_files(usize::MAX) >= 16);
}
