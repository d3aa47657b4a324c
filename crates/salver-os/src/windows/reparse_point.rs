//! The target of a symbolic link as the file system keeps it: `REPARSE_DATA_BUFFER`.

/// `IO_REPARSE_TAG_SYMLINK`.
const SYMLINK: u32 = 0xA000_000C;
/// `SYMLINK_FLAG_RELATIVE`.
const RELATIVE: u32 = 1;

/// What a reparse point leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A path from the directory of the link on, by its components; `..` is one.
    Relative(Vec<String>),
    /// Anywhere: from the root of a volume, to another volume or machine (a junction always does), or what only a
    /// file system driver knows.
    Elsewhere,
}

/// Reads a reparse point.
pub(crate) fn target(bytes: &[u8]) -> Target {
    relative(bytes).map_or(Target::Elsewhere, Target::Relative)
}

fn relative(bytes: &[u8]) -> Option<Vec<String>> {
    if long(bytes, 0)? != SYMLINK || long(bytes, 16)? & RELATIVE == 0 {
        return None;
    }
    let (offset, length) = (short(bytes, 8)?, short(bytes, 10)?);
    let name = bytes.get(20..)?.get(usize::from(offset)..)?;
    let name = name.get(..usize::from(length))?.chunks_exact(2);
    let units: Vec<u16> = name
        .filter_map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)))
        .collect();
    let name = String::from_utf16(&units).ok()?;
    // `\a` is relative by its flag, and begins at the root of the volume; `c:a` at what is current on a drive.
    if name.is_empty() || name.starts_with(['\\', '/']) || name.contains(':') {
        return None;
    }
    let parts = name.split(['\\', '/']);
    Some(
        parts
            .filter(|part| !matches!(*part, "" | "."))
            .map(str::to_owned)
            .collect(),
    )
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `IO_REPARSE_TAG_MOUNT_POINT`: a junction.
    const MOUNT_POINT: u32 = 0xA000_0003;

    fn written(tag: u32, flags: u32, name: &str) -> Vec<u8> {
        let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u16::try_from(units.len()).unwrap();
        let mut bytes = tag.to_le_bytes().to_vec();
        bytes.extend((length + 12).to_le_bytes());
        // Behind a name for people, as the system may write it.
        for number in [0, 2, length, 0, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(flags.to_le_bytes());
        bytes.extend([b'p', 0]);
        bytes.extend(units);
        bytes
    }

    #[test]
    fn only_a_relative_link_has_a_target_here() {
        fn check(name: &str, expected: Option<&[&str]>) {
            let found = target(&written(SYMLINK, RELATIVE, name));
            let expected = expected.map_or(Target::Elsewhere, |parts| {
                Target::Relative(parts.iter().map(|part| (*part).to_owned()).collect())
            });
            assert_eq!(found, expected, "{name:?}");
            for (tag, flags) in [
                (SYMLINK, 0),
                (MOUNT_POINT, RELATIVE),
                (0x8000_0013, RELATIVE),
            ] {
                assert_eq!(
                    target(&written(tag, flags, name)),
                    Target::Elsewhere,
                    "{name:?}"
                );
            }
        }
        check("a.txt", Some(&["a.txt"]));
        check(r"..\a\.\b", Some(&["..", "a", "b"]));
        check("sub/b", Some(&["sub", "b"]));
        check(".", Some(&[]));
        check("", None);
        check(r"\a", None);
        check(r"\\host\share\a", None);
        check(r"\??\C:\a", None);
        check(r"C:\a", None);
        check("c:a", None);
        check("a:stream", None);
    }

    #[test]
    fn what_is_cut_off_leads_elsewhere() {
        let bytes = written(SYMLINK, RELATIVE, r"a\b");
        assert_eq!(
            target(&bytes),
            Target::Relative(vec!["a".to_owned(), "b".to_owned()])
        );
        for length in 0..bytes.len() {
            assert_eq!(target(&bytes[..length]), Target::Elsewhere, "{length}");
        }
    }
}
