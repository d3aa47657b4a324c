//! The calls of Windows that open and list relative to an open directory.
//!
//! They are those of the kernel (`ntdll`): what is opened relative to a handle is not read as a path of Win32, so that
//! neither devices nor drives nor the working directory take part.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::ptr::{null, null_mut};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_OPEN, FILE_OPEN_REPARSE_POINT, FILE_SYNCHRONOUS_IO_NONALERT, FileFullDirectoryInformation,
    NtCreateFile, NtQueryDirectoryFile,
};
use windows_sys::Win32::Foundation::{
    NTSTATUS, OBJ_CASE_INSENSITIVE, RtlNtStatusToDosError, STATUS_DELETE_PENDING,
    STATUS_NO_MORE_FILES, STATUS_NO_SUCH_FILE, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_READ_DATA, FILE_SHARE_DELETE, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FILE_TRAVERSE, SYNCHRONIZE,
};
use windows_sys::Win32::System::IO::{DeviceIoControl, IO_STATUS_BLOCK};
use windows_sys::Win32::System::Ioctl::FSCTL_GET_REPARSE_POINT;

use crate::windows::directory_entry::{DirectoryEntry, entries};

/// `FILE_DIRECTORY_FILE`: fails where there is no directory.
const A_DIRECTORY: u32 = 0x1;
/// `FILE_NON_DIRECTORY_FILE`.
const NO_DIRECTORY: u32 = 0x40;

/// The most bytes of a reparse point: `MAXIMUM_REPARSE_DATA_BUFFER_SIZE`.
const REPARSE_POINT: usize = 16 * 1024;

/// The bytes of entries that are asked for at once.
const ENTRIES: usize = 64 * 1024;

/// What an entry is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its attributes.
    Attributes,
    /// To walk through, and to ask for names.
    Directory,
    /// Its content.
    Content,
}

/// Opens an entry of a directory, or the directory anew by an empty name. A link is opened itself, unless it is to be
/// followed.
pub(crate) fn open(
    directory: &File,
    name: &[u16],
    purpose: Purpose,
    follow: bool,
) -> io::Result<File> {
    let (access, kind) = match purpose {
        Purpose::Attributes => (FILE_READ_ATTRIBUTES, 0),
        Purpose::Directory => (
            FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES,
            A_DIRECTORY,
        ),
        Purpose::Content => (FILE_READ_DATA | FILE_READ_ATTRIBUTES, NO_DIRECTORY),
    };
    let links = if follow { 0 } else { FILE_OPEN_REPARSE_POINT };
    let name = unicode_string(name)?;
    let attributes = OBJECT_ATTRIBUTES {
        Length: u32::try_from(size_of::<OBJECT_ATTRIBUTES>()).unwrap_or(0),
        RootDirectory: directory.as_raw_handle(),
        ObjectName: &raw const name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let mut handle = null_mut();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: all pointers are to values that live until the call returns, which with
    // FILE_SYNCHRONOUS_IO_NONALERT is when it is done; the handle of the directory is open.
    let result = unsafe {
        NtCreateFile(
            &raw mut handle,
            access | SYNCHRONIZE,
            &raw const attributes,
            &raw mut status,
            null(),
            0,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            FILE_OPEN,
            FILE_SYNCHRONOUS_IO_NONALERT | kind | links,
            null(),
            0,
        )
    };
    succeeded(result)?;
    // SAFETY: the call succeeded, so the handle is open and nobody else's.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// The entry of a directory that has this name, in whatever case, or this short name.
pub(crate) fn find(directory: &File, name: &[u16]) -> io::Result<DirectoryEntry> {
    // The names that are asked for belong to the handle: each question has its own.
    let fresh = open(directory, &[], Purpose::Directory, false)?;
    let found = query(&fresh, Some(name), 1024)?;
    let found = found.and_then(|found| found.into_iter().next());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Calls `each` for the entries of a directory, `.` and `..` among them, for as long as it returns true.
pub(crate) fn list(
    directory: &File,
    mut each: impl FnMut(DirectoryEntry) -> bool,
) -> io::Result<()> {
    let fresh = open(directory, &[], Purpose::Directory, false)?;
    while let Some(some) = query(&fresh, None, ENTRIES)? {
        for entry in some {
            if !each(entry) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The next entries; `None` at the end.
fn query(
    directory: &File,
    name: Option<&[u16]>,
    length: usize,
) -> io::Result<Option<Vec<DirectoryEntry>>> {
    let name = name.map(unicode_string).transpose()?;
    let mask = name.as_ref().map_or(null(), std::ptr::from_ref);
    // Words, as entries are aligned to eight bytes.
    let mut buffer = vec![0u64; length / 8];
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open and synchronous, so that nothing is written after the call has returned; the buffer
    // has the length that is said, and the mask lives as long.
    let result = unsafe {
        NtQueryDirectoryFile(
            directory.as_raw_handle(),
            null_mut(),
            None,
            null(),
            &raw mut status,
            buffer.as_mut_ptr().cast(),
            u32::try_from(buffer.len() * 8).unwrap_or(0),
            FileFullDirectoryInformation,
            name.is_some(),
            mask,
            false,
        )
    };
    if result == STATUS_NO_MORE_FILES || result == STATUS_NO_SUCH_FILE {
        return Ok(None);
    }
    succeeded(result)?;
    let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let written = bytes.get(..status.Information).unwrap_or(&bytes);
    Ok(Some(entries(written)))
}

/// The bytes of the reparse point that is open.
pub(crate) fn reparse_point(link: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; REPARSE_POINT];
    let mut written = 0;
    // SAFETY: the handle is open and synchronous, and both pointers are to live values, the buffer of the length that
    // is said.
    let result = unsafe {
        DeviceIoControl(
            link.as_raw_handle(),
            FSCTL_GET_REPARSE_POINT,
            null(),
            0,
            bytes.as_mut_ptr().cast(),
            u32::try_from(bytes.len()).unwrap_or(0),
            &raw mut written,
            null_mut(),
        )
    };
    if result == 0 {
        return Err(io::Error::last_os_error());
    }
    bytes.truncate(usize::try_from(written).unwrap_or(0));
    Ok(bytes)
}

/// The name as the kernel reads it, which it does not write to. It borrows: it must not outlive what it was made of.
fn unicode_string(name: &[u16]) -> io::Result<UNICODE_STRING> {
    let length = u16::try_from(size_of_val(name)).map_err(|_| io::ErrorKind::InvalidFilename)?;
    Ok(UNICODE_STRING {
        Length: length,
        MaximumLength: length,
        Buffer: name.as_ptr().cast_mut(),
    })
}

fn succeeded(status: NTSTATUS) -> io::Result<()> {
    match status {
        0.. => Ok(()),
        // It has no name any more for those who come now.
        STATUS_DELETE_PENDING => Err(io::ErrorKind::NotFound.into()),
        failed => {
            // SAFETY: the call takes a number and gives one.
            let code = unsafe { RtlNtStatusToDosError(failed) };
            let code = i32::try_from(code).unwrap_or(i32::MAX);
            Err(io::Error::from_raw_os_error(code))
        }
    }
}
