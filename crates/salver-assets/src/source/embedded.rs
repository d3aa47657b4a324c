//! Files that are part of the program, as a [`Source`].

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use salver_os::Symlinks;

use crate::source::directory::DirectorySource;
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
/// In a debug build it may be [a directory](EmbeddedDirectory) in their place, so that nothing has to be built anew when
/// a file changes.
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
    directory: Option<&'static EmbeddedDirectory>,
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
        EmbeddedSource {
            files,
            directory: None,
        }
    }

    /// The files that are in this directory while the program runs.
    pub const fn on_disk(directory: &'static EmbeddedDirectory) -> Self {
        EmbeddedSource {
            files: &[],
            directory: Some(directory),
        }
    }

    /// All files that are part of the program, sorted by path; none where a debug build reads them from disk.
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
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        match self.directory {
            None => Ok(Arc::new(*self)),
            Some(_) if patience == Patience::MustNotWait => Err(io::ErrorKind::WouldBlock.into()),
            Some(directory) => directory.view(),
        }
    }
}

/// A directory from which a debug build reads what other builds have in themselves: `salver-embed` names it.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedDirectory {
    path: &'static str,
    symlinks: Symlinks,
}

impl EmbeddedDirectory {
    /// The directory at `path`.
    pub const fn new(path: &'static str, symlinks: Symlinks) -> Self {
        EmbeddedDirectory { path, symlinks }
    }

    /// The directory as it is now. It is opened each time, since a constant holds nothing open.
    fn view(&self) -> io::Result<Arc<dyn View>> {
        let path = Path::new(self.path);
        match DirectorySource::open(path, self.symlinks, Duration::MAX) {
            Ok(source) => source.view(Patience::MayWait),
            // No tree without files: it was there when the program was built.
            Err(error) => Err(io::Error::other(format!(
                "{path:?}, which this debug build reads its files from: {error}"
            ))),
        }
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
/// each file once; a debug build reads the directory while it runs, unless `Tree::embed_in_debug_builds` says otherwise. The
/// package `examples/embedded` of Salver's repository is such a program.
#[macro_export]
macro_rules! embedded {
    ($name:literal) => {{
        // Large trees take the compiler long to check.
        #[allow(long_running_const_eval)]
        const SOURCE: $crate::EmbeddedSource = {
            #[allow(unused_imports)]
            use $crate::{
                EmbeddedDirectory, EmbeddedFile, EmbeddedSource, Symlinks, digest::KnownDigests,
            };
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
