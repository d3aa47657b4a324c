//! Writers of a file: whether any process has it open for writing.
//!
//! The kernel grants a read lease (`fcntl(2)`, `F_SETLEASE`) only while nobody has: a writer that rests, one
//! that has lost its core and a shared mapping that can be written to count as well, and times say nothing of
//! those. The lease is asked for and given back at once: it is a question and never a lock, so that whoever
//! opens the file for writing meanwhile waits for two system calls and no longer. Links, renames and changes of
//! mode, owner or times neither break a lease nor wait for one.

use std::fs::File;

/// The writers of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// No process had it open for writing a moment ago.
    None,
    /// A process has it open for writing.
    Some,
    /// The kernel does not say: it tells only who owns the file or has `CAP_LEASE`, and only about file
    /// systems that know leases.
    Unknown,
}

/// Asks the kernel about `file`, which is open for reading alone. What it says holds for this machine: over a
/// network others may write. Never waits.
pub fn writers(file: &File) -> Writers {
    #[cfg(target_os = "linux")]
    {
        linux::writers(file)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Writers::Unknown
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::sync::{Mutex, PoisonError};

    use super::Writers;

    /// `F_SETSIG`, the same on every architecture.
    const SET_SIGNAL: libc::c_int = 10;

    /// The lock under which the kernel is asked. A process that breaks a lease has the kernel send its holder
    /// a signal: SIGIO, which ends a process that does not expect it, unless another is chosen for the open
    /// file. Giving the lease back undoes the choice, for all who share the open file: so nobody may ask
    /// between another's choice and his end.
    static ASKING: Mutex<()> = Mutex::new(());

    pub(super) fn writers(file: &File) -> Writers {
        let _alone = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        // Ignored by default, as what it is for is rare.
        if set(file, SET_SIGNAL, libc::SIGURG).is_err() {
            return Writers::Unknown;
        }
        match set(file, libc::F_SETLEASE, libc::F_RDLCK) {
            Ok(()) => {
                // Cannot fail: the lease was granted a moment ago. Closing the file would end it, too.
                let _ = set(file, libc::F_SETLEASE, libc::F_UNLCK);
                Writers::None
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Writers::Some,
            Err(_) => Writers::Unknown,
        }
    }

    fn set(file: &File, what: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the descriptor is open, and these commands take an integer and no pointer.
        match unsafe { libc::fcntl(file.as_raw_fd(), what, value) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn whoever_has_it_open_for_writing_is_seen_at_rest_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let mut writer = File::create(&path).unwrap();
        writer.write_all(b"one").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(writers(&file), Writers::Some);
        drop(writer);
        assert_eq!(writers(&file), Writers::None);
        let reader = File::open(&path).unwrap();
        assert_eq!(writers(&file), Writers::None, "readers do not count");
        let appends = File::options().append(true).open(&path).unwrap();
        assert_eq!(writers(&file), Writers::Some);
        assert_eq!(writers(&reader), Writers::Some);
        drop(appends);
        let other = path.with_extension("other");
        std::fs::hard_link(&path, &other).unwrap();
        let writer = File::options().write(true).open(&other).unwrap();
        assert_eq!(writers(&file), Writers::Some, "by another name");
        drop(writer);
        assert_eq!(writers(&file), Writers::None);
        std::fs::remove_file(other).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(writers(&file), Writers::None, "without a name");
    }

    #[test]
    fn what_cannot_be_leased_is_unknown() {
        let version = File::open("/proc/version").unwrap();
        assert_ne!(writers(&version), Writers::Some);
        let null = File::open("/dev/null").unwrap();
        assert_eq!(writers(&null), Writers::Unknown);
    }

    /// Were the signal not chosen, or another's choice undone, this would end the process.
    #[test]
    fn writers_that_come_at_any_moment_end_nobody_and_are_not_kept_waiting() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let path = named.path();
        let shared = File::open(path).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        writers(&shared);
                        writers(&File::open(path).unwrap());
                    }
                });
            }
            for _ in 0..3_000 {
                let mut writer = File::options().write(true).open(path).unwrap();
                writer.write_all(b"x").unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
