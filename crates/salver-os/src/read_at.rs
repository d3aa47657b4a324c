//! Reads at a place of a file, which move nobody's place in it.

use std::fs::File;
use std::io;

/// Reads at most `buffer.len()` bytes from `offset`; 0 is the end of the file. May wait.
///
/// # Errors
/// The file's.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_at(file, buffer, offset)
    }
    #[cfg(windows)]
    {
        // It moves the place of the handle, too, by which nothing here reads.
        std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
    }
}

/// Reads `buffer.len()` bytes from `offset`. May wait.
///
/// # Errors
/// `UnexpectedEof` if there are fewer; else the file's.
pub fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = buffer.get_mut(count..).unwrap_or_default();
                offset += u64::try_from(count).unwrap_or(0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True if the file system has set blocks aside for the file, as it may have for one that is being cut to nothing.
///
/// # Errors
/// The file's.
pub fn has_blocks(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok(file.metadata()?.blocks() > 0)
    }
    #[cfg(windows)]
    {
        // Windows sets length and times in one step.
        file.metadata().map(|_| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reads_are_from_where_they_say() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut buffer = [0; 4];
        assert_eq!(read_at(&file, &mut buffer, 3).unwrap(), 4);
        assert_eq!(&buffer, b"3456");
        assert_eq!(read_at(&file, &mut buffer, 8).unwrap(), 2);
        assert_eq!(read_at(&file, &mut buffer, 10).unwrap(), 0);
        read_exact_at(&file, &mut buffer, 6).unwrap();
        assert_eq!(&buffer, b"6789");
        let error = read_exact_at(&file, &mut buffer, 7).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
