//! Metadata as Windows gives them for an open handle.

use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_DEVICE, FILE_ATTRIBUTE_DIRECTORY,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_INFO_BY_HANDLE_CLASS, FILE_READ_ATTRIBUTES, FILE_STANDARD_INFO, FileBasicInfo,
    FileStandardInfo, GetFileInformationByHandle, GetFileInformationByHandleEx,
};

use super::{Attributes, Identity, Kind, Metadata, Timestamp};
use crate::Patience;

/// The ticks of 100 ns in a second.
const TICKS: i64 = 10_000_000;

/// The seconds from 1601, where Windows begins to count, to 1970.
const TO_1970: i64 = 11_644_473_600;

impl Metadata {
    /// The metadata of an open file.
    ///
    /// # Errors
    /// What the system gives.
    pub fn of(file: impl AsHandle) -> io::Result<Self> {
        Ok(Self::with_attributes(file, Patience::MayWait)?.0)
    }

    /// The metadata of an open file, with its attributes. Users and groups are not told.
    ///
    /// # Errors
    /// What the system gives.
    pub fn with_attributes(file: impl AsHandle, _: Patience) -> io::Result<(Self, Attributes)> {
        let (metadata, attributes, _) = look(&file)?;
        Ok((metadata, attributes))
    }

    /// The metadata of an open file, and whether it is a reparse point.
    pub(crate) fn with_reparse_point(file: impl AsHandle) -> io::Result<(Self, bool)> {
        let (metadata, _, is_reparse_point) = look(&file)?;
        Ok((metadata, is_reparse_point))
    }

    /// The metadata of what a path names; links are followed. May wait for a disk.
    ///
    /// # Errors
    /// What the system gives.
    pub fn at(path: &std::path::Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .access_mode(FILE_READ_ATTRIBUTES)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        Self::of(file)
    }
}

fn look(file: &impl AsHandle) -> io::Result<(Metadata, Attributes, bool)> {
    let basic: FILE_BASIC_INFO = information(file, FileBasicInfo)?;
    let standard: FILE_STANDARD_INFO = information(file, FileStandardInfo)?;
    let mut handle = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the pointer is to a live value of the type that the call writes.
    let result =
        unsafe { GetFileInformationByHandle(file.as_handle().as_raw_handle(), &raw mut handle) };
    if result == 0 {
        return Err(io::Error::last_os_error());
    }
    let is = |attribute: u32| basic.FileAttributes & attribute != 0;
    let kind = match (is(FILE_ATTRIBUTE_DIRECTORY), is(FILE_ATTRIBUTE_DEVICE)) {
        (true, _) => Kind::Directory,
        (false, true) => Kind::Other,
        (false, false) => Kind::File,
    };
    let inode = u64::from(handle.nFileIndexHigh) << 32 | u64::from(handle.nFileIndexLow);
    let metadata = Metadata {
        kind,
        identity: Identity {
            device: handle.dwVolumeSerialNumber.into(),
            inode,
            length: u64::try_from(standard.EndOfFile).unwrap_or(0),
            modified: timestamp(basic.LastWriteTime),
            changed: timestamp(basic.ChangeTime),
        },
    };
    let attributes = Attributes {
        // What is to be deleted has no name for those who come now.
        links: match standard.DeletePending {
            true => 0,
            false => standard.NumberOfLinks.into(),
        },
        mode: basic.FileAttributes,
        user: 0,
        group: 0,
    };
    Ok((metadata, attributes, is(FILE_ATTRIBUTE_REPARSE_POINT)))
}

fn information<T: Default>(
    file: &impl AsHandle,
    class: FILE_INFO_BY_HANDLE_CLASS,
) -> io::Result<T> {
    let mut value = T::default();
    // SAFETY: the handle is open, and the pointer is to a live value of the length that is said, of which every bit
    // pattern that the system writes is one.
    let result = unsafe {
        GetFileInformationByHandleEx(
            file.as_handle().as_raw_handle(),
            class,
            (&raw mut value).cast(),
            u32::try_from(size_of::<T>()).unwrap_or(0),
        )
    };
    match result {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(value),
    }
}

fn timestamp(ticks: i64) -> Timestamp {
    Timestamp {
        seconds: ticks.div_euclid(TICKS) - TO_1970,
        nanoseconds: u32::try_from(ticks.rem_euclid(TICKS) * 100).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn times_are_those_of_the_clock() {
        let check = |ticks: i64, seconds: i64, nanoseconds: u32| {
            let expected = Timestamp {
                seconds,
                nanoseconds,
            };
            assert_eq!(timestamp(ticks), expected);
        };
        check(0, -TO_1970, 0);
        check(TO_1970 * TICKS + 7, 0, 700);
        check(TO_1970 * TICKS - 1, -1, 999_999_900);
        let file = tempfile::tempfile().unwrap();
        let metadata = Metadata::of(&file).unwrap();
        let age = metadata.identity.changed.distance(SystemTime::now());
        assert!(age.as_secs() < 3600, "{age:?}");
    }

    #[test]
    fn a_path_and_its_handle_agree() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "content").unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let metadata = Metadata::of(&file).unwrap();
        assert_eq!(Metadata::at(&path).unwrap(), metadata);
        assert_eq!((metadata.kind, metadata.identity.length), (Kind::File, 7));
        assert_eq!(
            Metadata::at(directory.path()).unwrap().kind,
            Kind::Directory
        );
        let missing = Metadata::at(&directory.path().join("c")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
