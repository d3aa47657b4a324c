//! The entries of a directory as `NtQueryDirectoryFile` writes them: `FILE_FULL_DIR_INFORMATION`.

/// `FILE_ATTRIBUTE_DIRECTORY`.
const DIRECTORY: u32 = 0x10;
/// `FILE_ATTRIBUTE_REPARSE_POINT`.
const REPARSE_POINT: u32 = 0x400;

/// An entry of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DirectoryEntry {
    /// The name as it was given to the file: never a short one, and in its own case.
    pub(crate) name: Vec<u16>,
    attributes: u32,
}

impl DirectoryEntry {
    /// True if it is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.attributes & DIRECTORY != 0
    }

    /// True if it leads elsewhere, or its content is somewhere else.
    pub(crate) fn is_reparse_point(&self) -> bool {
        self.attributes & REPARSE_POINT != 0
    }
}

/// The entries that the system has written. What is cut off is no entry.
pub(crate) fn entries(mut bytes: &[u8]) -> Vec<DirectoryEntry> {
    let mut all = Vec::new();
    loop {
        let (Some(next), Some(entry)) = (number(bytes, 0), entry(bytes)) else {
            return all;
        };
        all.push(entry);
        let next = usize::try_from(next).unwrap_or(usize::MAX);
        match bytes.get(next..) {
            Some(rest) if next > 0 => bytes = rest,
            _ => return all,
        }
    }
}

fn entry(bytes: &[u8]) -> Option<DirectoryEntry> {
    let attributes = number(bytes, 56)?;
    let length = usize::try_from(number(bytes, 60)?).ok()?;
    let name = bytes.get(68..)?.get(..length)?;
    let name = name.chunks_exact(2);
    let name = name.filter_map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)));
    Some(DirectoryEntry {
        name: name.collect(),
        attributes,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(next: u32, attributes: u32, name: &str) -> Vec<u8> {
        let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut bytes = vec![0; 68];
        bytes[..4].copy_from_slice(&next.to_le_bytes());
        bytes[56..60].copy_from_slice(&attributes.to_le_bytes());
        bytes[60..64].copy_from_slice(&u32::try_from(units.len()).unwrap().to_le_bytes());
        bytes.extend(units);
        bytes
    }

    #[test]
    fn entries_are_read_as_far_as_they_go() {
        let mut bytes = written(80, DIRECTORY, "ab");
        bytes.resize(80, 0);
        bytes.extend(written(0, REPARSE_POINT, "\u{fc}.txt"));
        let all = entries(&bytes);
        let names: Vec<String> = all
            .iter()
            .map(|entry| String::from_utf16_lossy(&entry.name))
            .collect();
        assert_eq!(names, ["ab", "\u{fc}.txt"]);
        assert!(all[0].is_directory() && !all[0].is_reparse_point());
        assert!(!all[1].is_directory() && all[1].is_reparse_point());
        for length in 0..bytes.len() {
            let expected = if length < 72 { 0 } else { 1 };
            assert_eq!(entries(&bytes[..length]).len(), expected, "{length}");
        }
        assert_eq!(
            entries(&written(7, 0, "a")).len(),
            1,
            "an offset into itself"
        );
    }
}
