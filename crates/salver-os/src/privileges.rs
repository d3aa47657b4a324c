//! Users and groups, and giving up the rights of one for those of another, for good.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// The most bytes that an entry about a user or a group may have.
const ENTRY: usize = 1024 * 1024;

/// The most groups that a user may be in.
const GROUPS: usize = 65_536;

/// A user with groups, as a process can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessUser {
    /// The number of the user.
    pub user: u32,
    /// The number of the primary group.
    pub group: u32,
    /// The numbers of all groups.
    pub groups: Vec<u32>,
}

impl ProcessUser {
    /// The user with this name, in all the groups that the system has it in; `None` if there is no such user.
    ///
    /// # Errors
    /// The system's, if it cannot tell.
    pub fn of_user(name: &str) -> io::Result<Option<ProcessUser>> {
        let name = c_string(name)?;
        with_entry(|entry: *mut libc::passwd, buffer, found| {
            // SAFETY: all pointers are to live memory of the length that is given, and the name ends with a nul.
            unsafe {
                let text = buffer.as_mut_ptr().cast();
                libc::getpwnam_r(name.as_ptr(), entry, text, buffer.len(), found)
            }
        })?
        .map(|entry| (entry.pw_uid, entry.pw_gid))
        .map(|(user, group)| {
            Ok(ProcessUser {
                user,
                group,
                groups: groups_of(&name, group)?,
            })
        })
        .transpose()
    }

    /// The same user in this group alone; `None` if there is no such group.
    ///
    /// # Errors
    /// The system's, if it cannot tell.
    pub fn in_group(self, name: &str) -> io::Result<Option<ProcessUser>> {
        let name = c_string(name)?;
        let group = with_entry(|entry: *mut libc::group, buffer, found| {
            // SAFETY: all pointers are to live memory of the length that is given, and the name ends with a nul.
            unsafe {
                let text = buffer.as_mut_ptr().cast();
                libc::getgrnam_r(name.as_ptr(), entry, text, buffer.len(), found)
            }
        })?;
        let group = group.map(|entry| entry.gr_gid);
        Ok(group.map(|group| ProcessUser {
            group,
            groups: vec![group],
            ..self
        }))
    }

    /// True if the process is root, which may become any user.
    pub fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// True if the process is this user already.
    pub fn is_own(&self) -> bool {
        rustix::process::geteuid().as_raw() == self.user
    }

    /// Makes the process this user, with these groups and no others, on all of its threads, and checks that there is no
    /// way back.
    ///
    /// # Errors
    /// `PermissionDenied` unless the process may do that: only root may. After another error the process must end.
    pub fn assume(&self) -> io::Result<()> {
        // SAFETY: the pointer is to as many numbers as are given; the C library has all threads do it.
        let set = unsafe { libc::setgroups(self.groups.len(), self.groups.as_ptr()) };
        succeeded(set)?;
        // SAFETY: they take numbers alone; the C library has all threads do it.
        succeeded(unsafe { libc::setresgid(self.group, self.group, self.group) })?;
        // SAFETY: as above.
        succeeded(unsafe { libc::setresuid(self.user, self.user, self.user) })?;
        // SAFETY: as above.
        let back = unsafe { libc::setresuid(u32::MAX, 0, u32::MAX) };
        match back == 0 && self.user != 0 {
            true => Err(io::Error::other("the rights of root could be taken back")),
            false => Ok(()),
        }
    }
}

/// Has no program that this thread or those that it starts execute get rights that they do not have.
///
/// # Errors
/// The system's; it has known this since Linux 3.5.
pub fn forbid_new_privileges() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

fn c_string(name: &str) -> io::Result<CString> {
    CString::new(name).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The entry that `read` fills, with a buffer that is long enough; `None` if there is none. Its texts are gone with the
/// buffer. `read` returns an error's number or 0, and leaves `found` null unless the entry is filled.
fn with_entry<E>(
    read: impl Fn(*mut E, &mut [u8], *mut *mut E) -> libc::c_int,
) -> io::Result<Option<E>> {
    let mut buffer = vec![0; 1024];
    loop {
        let mut entry = MaybeUninit::uninit();
        let mut found = ptr::null_mut();
        match read(entry.as_mut_ptr(), &mut buffer, &raw mut found) {
            0 if found.is_null() => return Ok(None),
            // SAFETY: the call has filled it, as `found` is not null.
            0 => return Ok(Some(unsafe { entry.assume_init() })),
            libc::ERANGE if buffer.len() < ENTRY => buffer.resize(buffer.len() * 2, 0),
            // Some systems say so of who is not there (getpwnam(3)).
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// The numbers of all groups of a user, the primary one among them.
fn groups_of(name: &CStr, primary: u32) -> io::Result<Vec<u32>> {
    let mut groups: Vec<libc::gid_t> = vec![0; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).map_err(io::Error::other)?;
        // SAFETY: the pointer is to as many numbers as `count` says.
        let found = unsafe {
            libc::getgrouplist(name.as_ptr(), primary, groups.as_mut_ptr(), &raw mut count)
        };
        let count = usize::try_from(count).map_err(io::Error::other)?;
        if found >= 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        if groups.len() >= GROUPS {
            return Err(io::Error::other("the user is in too many groups"));
        }
        groups.resize(count.max(groups.len() * 2), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_have_names() {
        let root = ProcessUser::of_user("root").unwrap().unwrap();
        assert_eq!((root.user, root.group), (0, 0));
        assert!(root.groups.contains(&0));
        let other = root.clone().in_group("nogroup").unwrap();
        let other = other.or_else(|| root.clone().in_group("nobody").unwrap());
        let other = other.unwrap();
        assert_eq!(other.groups, [other.group]);
        assert_ne!(other.group, 0);
        assert_eq!(ProcessUser::of_user("no such user").unwrap(), None);
        assert_eq!(root.clone().in_group("no such group").unwrap(), None);
        assert!(ProcessUser::of_user("a\0b").is_err());
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(root.is_own(), is_root);
    }

    #[test]
    fn without_the_right_nothing_changes() {
        if rustix::process::geteuid().is_root() {
            // What root may is tried by the program's own tests, in a process that ends.
            return;
        }
        let root = ProcessUser::of_user("root").unwrap().unwrap();
        let error = root.assume().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
