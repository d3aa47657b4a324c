//! Anonymous files (`memfd_create(2)`): content that lies in memory and that the kernel can send as it sends a file's.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use crate::file_calls::{is, memfd, seal};

/// A file with this content and without a name, which nobody can change any more.
///
/// # Errors
/// What `memfd_create(2)`, `write(2)` or `fcntl(2)` gives: too many open files, say.
pub fn anonymous_file(content: &[u8]) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let descriptor = match memfd(c"salver", flags | libc::MFD_NOEXEC_SEAL) {
        // Kernels before 6.3 do not know that it is to hold no program.
        Err(error) if is(&error, libc::EINVAL) => memfd(c"salver", flags)?,
        made => made?,
    };
    let mut file = File::from(descriptor);
    file.write_all(content)?;
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    seal(file.as_fd(), seals)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn it_has_what_it_was_given_for_good() {
        for content in [&b""[..], b"content", &[7; 100_000]] {
            let file = anonymous_file(content).unwrap();
            let mut found = vec![0; content.len()];
            file.read_exact_at(&mut found, 0).unwrap();
            assert_eq!(found, content);
            assert_eq!(
                file.metadata().unwrap().len(),
                u64::try_from(content.len()).unwrap()
            );
            assert!(file.write_all_at(b"other", 0).is_err());
            assert!(content.is_empty() || file.set_len(0).is_err());
            assert!(file.set_len(1 << 20).is_err());
        }
    }
}
