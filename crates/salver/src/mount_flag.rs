//! `--mount PREFIX=DIR`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A place in the URL space and what appears there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountFlag {
    /// As given: `/static`, say. The engine checks it.
    pub prefix: String,
    /// A directory or a file, as given.
    pub path: PathBuf,
}

/// Splits at the first `=`.
///
/// # Errors
/// What is wrong with it.
pub fn mount(value: OsString) -> Result<MountFlag, String> {
    let bytes = value.into_vec();
    let mut halves = bytes.splitn(2, |byte| *byte == b'=');
    let (Some(prefix), Some(path)) = (halves.next(), halves.next()) else {
        return Err("there is no '=': give PREFIX=DIR, such as /images=/srv/images".to_owned());
    };
    if path.is_empty() {
        return Err("there is nothing behind '=': give PREFIX=DIR".to_owned());
    }
    let prefix = std::str::from_utf8(prefix)
        .ok()
        .filter(|prefix| prefix.starts_with('/'));
    let Some(prefix) = prefix else {
        return Err("the prefix must begin with a slash, such as /images=/srv/images".to_owned());
    };
    let path = PathBuf::from(OsStr::from_bytes(path));
    Ok(MountFlag {
        prefix: prefix.to_owned(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_first_equals_sign() {
        fn check(value: &[u8], expected: Option<(&str, &[u8])>) {
            let found = mount(OsString::from_vec(value.to_vec())).ok();
            let found = found
                .as_ref()
                .map(|mount| (&*mount.prefix, mount.path.as_os_str().as_bytes()));
            assert_eq!(found, expected, "{value:?}");
        }
        check(b"/a=/b", Some(("/a", b"/b")));
        check(b"/a=b=c", Some(("/a", b"b=c")));
        check(b"/=.", Some(("/", b".")));
        check(b"/a=\xff", Some(("/a", b"\xff")));
        check(b"/a", None);
        check(b"/a=", None);
        check(b"a=/b", None);
        check(b"=/b", None);
        check(b"/\xff=/b", None);
    }
}
