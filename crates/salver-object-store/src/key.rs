//! Paths of files to keys of objects and back: the same text, but for control characters.

use object_store::path::Path;

/// The longest key of an object, in bytes: that of S3 and Google Cloud Storage.
const LONGEST: usize = 1024;

/// The key of the object of the file at `path`, beneath no prefix; `None` if there can be none: of a path that is not
/// [clean](salver_assets::source::is_clean), is no UTF-8, or is too long.
///
/// It is the path itself, with each control character as `%` and two digits (`%0A`): no store is sure to take those. A
/// path that has such digits itself has no object, so that no two files have one.
pub fn object_key(path: &[u8]) -> Option<String> {
    let text = str::from_utf8(path).ok()?;
    if text.is_empty() || !salver_assets::source::is_clean(path) {
        return None;
    }
    let mut key = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter == '%' && control(rest.as_str()).is_some() {
            return None;
        }
        if letter.is_ascii_control() {
            key.push_str(&format!("%{:02X}", u32::from(letter)));
        } else {
            key.push(letter);
        }
    }
    (key.len() <= LONGEST).then_some(key)
}

/// The name of a file by the last segment of a key.
pub(crate) fn file_name(segment: &str) -> Vec<u8> {
    let mut name = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let Some((before, behind)) = rest.split_once('%') {
        name.extend_from_slice(before.as_bytes());
        rest = match control(behind) {
            Some(byte) => {
                name.push(byte);
                behind.get(2..).unwrap_or_default()
            }
            None => {
                name.push(b'%');
                behind
            }
        };
    }
    name.extend_from_slice(rest.as_bytes());
    name
}

/// The control character whose two digits a text begins with.
fn control(text: &str) -> Option<u8> {
    let digits = text.get(..2)?;
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'A'..=b'F').contains(&digit);
    if !digits.bytes().all(is_digit) {
        return None;
    }
    let byte = u8::from_str_radix(digits, 16).ok()?;
    byte.is_ascii_control().then_some(byte)
}

/// The prefix of a bucket beneath which the files lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(Path);

impl Prefix {
    pub(crate) fn new(path: Path) -> Self {
        Prefix(path)
    }

    /// The key of the file at `path`; `None` if it has none.
    pub(crate) fn key(&self, path: &[u8]) -> Option<Path> {
        let key = object_key(path)?;
        let key = match self.0.as_ref() {
            "" => key,
            prefix => format!("{prefix}/{key}"),
        };
        (key.len() <= LONGEST)
            .then(|| Path::parse(key).ok())
            .flatten()
    }

    /// The path of the file whose object has this key, if there may be one.
    pub(crate) fn path(&self, key: &Path) -> Option<Vec<u8>> {
        let rest = match self.0.as_ref() {
            "" => key.as_ref(),
            prefix => key.as_ref().strip_prefix(prefix)?.strip_prefix('/')?,
        };
        Some(file_name(rest))
    }

    /// The key of the root, as that of a directory.
    pub(crate) fn root(&self) -> Path {
        self.0.clone()
    }

    /// The key of the directory at `path`, the root included.
    pub(crate) fn directory(&self, path: &[u8]) -> Option<Path> {
        match path {
            b"" => Some(self.0.clone()),
            path => self.key(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_paths() {
        let check = |path: &[u8], expected: Option<&str>| {
            assert_eq!(object_key(path).as_deref(), expected, "{path:?}");
        };
        check(b"a.txt", Some("a.txt"));
        check(b"a b/#?&%.js", Some("a b/#?&%.js"));
        check("d/caf\u{e9}".as_bytes(), Some("d/caf\u{e9}"));
        check(b"a\n\x7f", Some("a%0A%7F"));
        check(b"a%2fb", Some("a%2fb"));
        check(b"a%41b", Some("a%41b"));
        // These would be the objects of others.
        check(b"a%0A", None);
        check(b"", None);
        check(b"/a", None);
        check(b"a/../b", None);
        check(b"a//b", None);
        check(b"caf\xe9", None);
        check(&[b'a'; 1024], Some(&"a".repeat(1024)));
        check(&[b'a'; 1025], None);
    }

    #[test]
    fn every_name_is_that_of_its_key() {
        let mut names: Vec<String> = (1..128)
            .filter_map(char::from_u32)
            .map(String::from)
            .collect();
        names.extend(["%", "%0", "%0a", "%%0a", "a%zz", "%7f", "\u{e9}%"].map(String::from));
        for name in names.iter().filter(|name| !["/", "."].contains(&&***name)) {
            let key = object_key(name.as_bytes()).unwrap();
            assert!(Path::parse(&key).is_ok(), "{key:?}");
            assert_eq!(file_name(&key), name.as_bytes(), "{key:?}");
        }
    }

    #[test]
    fn a_prefix_stands_before_all() {
        let prefix = Prefix::new(Path::from("site/v1"));
        assert_eq!(prefix.key(b"a/b").unwrap().as_ref(), "site/v1/a/b");
        assert_eq!(prefix.directory(b"").unwrap().as_ref(), "site/v1");
        assert_eq!(prefix.path(&Path::from("site/v1/a/b")).unwrap(), b"a/b");
        assert_eq!(prefix.path(&Path::from("site/v10/a")), None);
        assert_eq!(prefix.key(b""), None);
        assert_eq!(prefix.key(&[b'a'; 1020]), None);
        let none = Prefix::new(Path::default());
        assert_eq!(none.key(b"a/b").unwrap().as_ref(), "a/b");
        assert_eq!(none.directory(b"").unwrap().as_ref(), "");
    }
}
