//! The names of files of the tier: a hash of what each is of, so that one is found without a list, in one of 256 folders.

use std::fmt::Write as _;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

/// The name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(u128);

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        *name
    }
}

impl Name {
    /// The name of the file of a subject.
    pub(super) fn of(subject: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(subject).into();
        let half = hash.first_chunk().copied().unwrap_or_default();
        Name(u128::from_be_bytes(half))
    }

    /// The name that a file in the folder of this name has, if it is one of ours.
    pub(super) fn parse(folder: &str, file: &str) -> Option<Self> {
        let is_ours = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        let all = file.len() == 32 && file.bytes().all(is_ours) && file.starts_with(folder);
        let number = all.then(|| u128::from_str_radix(file, 16).ok())?;
        number.filter(|_| folder.len() == 2).map(Name)
    }

    /// The path of the file, in the folder of the tier.
    pub(super) fn path(self) -> PathBuf {
        let mut file = String::with_capacity(32);
        // Writing to a String cannot fail.
        let _ = write!(file, "{:032x}", self.0);
        let folder = file.get(..2).unwrap_or_default();
        PathBuf::from(folder).join(&file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_others_are_nobodys() {
        for subject in [&b""[..], b"a", b"b"] {
            let name = Name::of(subject);
            let path = name.path();
            let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
            assert_eq!(Name::parse(parts[0], parts[1]), Some(name));
            assert_eq!(Name::parse("zz", parts[1]), None);
            assert_eq!(Name::parse("", parts[1]), None);
            assert_eq!(Name::parse(parts[0], &parts[1].to_uppercase()), None);
            assert_eq!(Name::parse(parts[0], &format!("{}0", parts[1])), None);
        }
        assert_ne!(Name::of(b"a"), Name::of(b"b"));
    }
}
