//! Files that are part of the program, as a [`Source`].

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::source::in_memory::{self, InMemoryFile, InMemoryFiles};
use crate::source::{EMBEDDED, KnownDigests, Patience, Reader, Source, View};

/// A file that is part of the program.
#[derive(Clone, Copy)]
pub struct EmbeddedFile {
    /// Its path in the tree: relative, `/` between segments.
    pub path: &'static str,
    /// Its bytes.
    pub content: &'static [u8],
    /// Its `Last-Modified`, in seconds since 1970.
    pub modified_unix_seconds: i64,
    /// The digests of the bytes, which the engine believes.
    pub known: KnownDigests,
}

impl fmt::Debug for EmbeddedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedFile")
            .field("path", &self.path)
            .field("length", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// A [`Source`] of files that are part of the program; directories exist where files are beneath them.
///
/// `salver-embed` makes it from a directory when the program is built, and
/// [`embedded!`](crate::embedded) gives it. It costs nothing at the start: no file is looked at
/// before it is asked for, and nothing is read or hashed then. Content leaves as it lies in the
/// program, whatever its length, without a copy; of a cache's budget it takes no more than its heads.
/// (The system brings the program's pages in from disk as they are touched, and waits for them.)
///
/// ```
/// use salver_assets::{EmbeddedFile, EmbeddedSource, digest};
///
/// static FILES: [EmbeddedFile; 1] = [EmbeddedFile {
///     path: "a.txt",
///     content: b"alpha",
///     modified_unix_seconds: 1_000_000_000,
///     known: digest::KnownDigests { digest: 0x3da5_6ec0_8de5_da93_af92_a1f8_5e52_d146, decoded: None },
/// }];
/// static SITE: EmbeddedSource = EmbeddedSource::new(&FILES);
///
/// assert_eq!(SITE.files()[0].known.digest, digest::of_bytes(b"alpha"));
/// ```
#[derive(Clone, Copy)]
pub struct EmbeddedSource {
    files: &'static [EmbeddedFile],
}

impl EmbeddedSource {
    /// The tree of these files, which are sorted by the bytes of their paths, each path once. A
    /// `const` or `static` has that checked when the program is compiled.
    ///
    /// # Panics
    /// If they are not.
    pub const fn new(files: &'static [EmbeddedFile]) -> Self {
        assert!(
            are_sorted(files),
            "the files of an EmbeddedSource are sorted by path"
        );
        EmbeddedSource { files }
    }

    /// All files, sorted by path.
    pub const fn files(&self) -> &'static [EmbeddedFile] {
        self.files
    }
}

impl fmt::Debug for EmbeddedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedSource")
            .field("files", &self.files.len())
            .finish()
    }
}

impl Source for EmbeddedSource {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(*self))
    }
}

impl InMemoryFiles for EmbeddedSource {
    fn device(&self) -> u64 {
        EMBEDDED
    }

    fn find(&self, path: &[u8]) -> Option<InMemoryFile> {
        let files = self.files;
        let place = files.binary_search_by(|file| file.path.as_bytes().cmp(path));
        let file = files.get(place.ok()?)?;
        // No two files have one address.
        let inode = u64::try_from(std::ptr::from_ref(file).addr()).unwrap_or(u64::MAX);
        let (length, modified) = (file.content.len(), file.modified_unix_seconds);
        Some(InMemoryFile {
            metadata: in_memory::file(EMBEDDED, inode, length, modified),
            reader: Reader::Static(file.content),
            known: file.known,
        })
    }

    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &[u8]> {
        let prefix = in_memory::prefix(path);
        let start = self
            .files
            .partition_point(|file| file.path.as_bytes() < &*prefix);
        let files = self.files.get(start..).unwrap_or_default();
        files
            .iter()
            .map_while(move |file| file.path.as_bytes().strip_prefix(&*prefix))
    }
}

/// The tree that `salver-embed` made of a directory when this program was built: an
/// [`EmbeddedSource`](crate::EmbeddedSource).
///
/// `salver_embed::Tree::new("dist").build()?` in the package's `build.rs` goes with
/// `embedded!("dist")` in its code, which can stand in a `const` or `static` as well. Wherever it stands, the program has
/// each file once. The package `examples/embedded` of Salver's repository is such a program.
#[macro_export]
macro_rules! embedded {
    ($name:literal) => {{
        // Large trees take the compiler long to check.
        #[allow(long_running_const_eval)]
        const SOURCE: $crate::EmbeddedSource = {
            use $crate::digest::KnownDigests;
            use $crate::{EmbeddedFile, EmbeddedSource};
            ::core::include!(::core::concat!(
                ::core::env!("OUT_DIR"),
                "/salver-embed/",
                $name,
                ".rs"
            ))
        };
        SOURCE
    }};
}

const fn are_sorted(files: &[EmbeddedFile]) -> bool {
    let mut rest = files;
    while let [first, second, ..] = rest {
        if !is_less(first.path.as_bytes(), second.path.as_bytes()) {
            return false;
        }
        let Some((_, behind)) = rest.split_first() else {
            return true;
        };
        rest = behind;
    }
    true
}

/// The order of bytes (`<`), which a constant cannot ask for.
const fn is_less(one: &[u8], other: &[u8]) -> bool {
    let (mut one, mut other) = (one, other);
    loop {
        match (one, other) {
            (_, []) => return false,
            ([], _) => return true,
            ([a, rest_of_one @ ..], [b, rest_of_other @ ..]) => {
                if *a != *b {
                    return *a < *b;
                }
                (one, other) = (rest_of_one, rest_of_other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_bytes() {
        let all = ["", "a", "a-b", "a.b", "a/b", "a0", "b", "\u{e9}"];
        for one in all {
            for other in all {
                assert_eq!(
                    is_less(one.as_bytes(), other.as_bytes()),
                    one < other,
                    "{one:?} {other:?}"
                );
            }
        }
    }

    fn file(path: &'static str) -> EmbeddedFile {
        EmbeddedFile {
            path,
            content: b"",
            modified_unix_seconds: 0,
            known: KnownDigests {
                digest: crate::source::digest::of_bytes(b""),
                decoded: None,
            },
        }
    }

    #[test]
    fn only_sorted_files_are_a_tree() {
        let check = |paths: &[&'static str], expected: bool| {
            let files: Vec<EmbeddedFile> = paths.iter().map(|path| file(path)).collect();
            assert_eq!(are_sorted(&files), expected, "{paths:?}");
        };
        check(&[], true);
        check(&["a"], true);
        check(&["a", "a-b", "a/b", "b"], true);
        check(&["a", "a/b", "a-b"], false);
        check(&["a", "a"], false);
    }
}
