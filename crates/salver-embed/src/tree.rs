//! The builder of an embedded tree, for `build.rs`.

use std::collections::BTreeSet;
use std::env;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use salver_assets::{ContentCoding, Symlinks};

use crate::error::Error;
use crate::generate::{generate, generate_on_disk};
use crate::prepare::Preparation;
use crate::store::{Store, write};
use crate::walk::SourceDirectory;

/// A directory that becomes part of the program. Each method says its default.
#[derive(Clone, Debug)]
pub struct Tree {
    directory: PathBuf,
    name: Option<String>,
    codings: Vec<ContentCoding>,
    dotfiles: bool,
    symlinks: Symlinks,
    is_in_debug_builds: bool,
}

/// The summary of a build; of one that reads from disk nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of files in the program, siblings included.
    pub files: usize,
    /// The number of siblings that were compressed by this build; those of earlier ones are kept.
    pub compressed: usize,
    /// The bytes of all files.
    pub bytes: u64,
}

impl Tree {
    /// The files beneath `directory`; a relative path is one within the package.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Tree {
            directory: directory.as_ref().to_owned(),
            name: None,
            codings: ContentCoding::CODED.to_vec(),
            dotfiles: false,
            symlinks: Symlinks::default(),
            is_in_debug_builds: false,
        }
    }

    /// The name by which `embedded!` has it: letters, digits, `-`, `_` and `.`. Default: the directory's own
    /// name, `dist` for `../web/dist`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Codings of which siblings are made; none: nothing is compressed. Those that are there are
    /// taken anyway. Default: Brotli (quality 11), Zstandard (level 19) and gzip (level 9).
    #[must_use]
    pub fn codings(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.codings = codings.into_iter().collect();
        self
    }

    /// Takes files and directories whose name begins with a dot, too (`.well-known` always is); the
    /// engine shows them if it is told so as well. Default: they are left out.
    #[must_use]
    pub fn dotfiles(mut self) -> Self {
        self.dotfiles = true;
        self
    }

    /// The symlinks that are followed. Default: those whose target stays beneath the directory.
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Puts the files into debug builds as well: for tests of the program as it is handed on, say. Default: a build whose
    /// profile inherits `dev` compresses nothing, and reads the directory where it lies while it runs, so that a change of
    /// a file is seen at once.
    #[must_use]
    pub fn embed_in_debug_builds(mut self) -> Self {
        self.is_in_debug_builds = true;
        self
    }

    /// Writes into `OUT_DIR` what `embedded!` includes, and tells Cargo when to do so again: when something
    /// in the directory has changed, or `SOURCE_DATE_EPOCH`. A file that a server would not show either is
    /// named in a warning. In a [debug build](Self::embed_in_debug_builds) it writes where the directory is, and that is
    /// all.
    ///
    /// # Errors
    /// If it is not called by a build script, the directory or a file in it cannot be read, a name
    /// is not UTF-8, links lead in a circle, or two trees have one name: which, and what to do.
    #[allow(clippy::print_stdout, reason = "this is how Cargo is told")]
    pub fn build(&self) -> Result<Summary, Error> {
        println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
        let out = env::var_os("OUT_DIR");
        let out = out.ok_or_else(|| Error::of("OUT_DIR is not set: call this from build.rs"))?;
        let out = Path::new(&out).join("salver-embed");
        self.claim_name()?;
        if !self.is_in_debug_builds && env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
            self.write_on_disk(&out)?;
            return Ok(Summary::default());
        }
        println!("cargo::rerun-if-changed={}", self.directory.display());
        let epoch = match env::var("SOURCE_DATE_EPOCH") {
            Ok(value) => Some(epoch(&value)?),
            Err(_) => None,
        };
        let (summary, warnings) = self.write(&out, epoch)?;
        for warning in warnings {
            println!("cargo::warning={warning}");
        }
        Ok(summary)
    }

    /// Writes where the directory is.
    pub(crate) fn write_on_disk(&self, out: &Path) -> Result<(), Error> {
        let name = self.checked_name()?;
        SourceDirectory::open(&self.directory, self.symlinks)?;
        let path = std::path::absolute(&self.directory);
        let path = path.map_err(|error| Error::at(&self.directory, error))?;
        let path = path.to_str().ok_or_else(|| {
            let what = "its path is not UTF-8; move it, or call Tree::embed_in_debug_builds";
            Error::at(&self.directory, what)
        })?;
        let text = generate_on_disk(path, self.symlinks);
        Store::open(&out.join(name))?;
        write(&out.join(format!("{name}.rs")), text.as_bytes())
    }

    /// Everything but talking to Cargo: writes into `out`, and returns what is to be warned of.
    pub(crate) fn write(
        &self,
        out: &Path,
        modified_unix_seconds: Option<i64>,
    ) -> Result<(Summary, Vec<String>), Error> {
        let name = self.checked_name()?;
        let directory = SourceDirectory::open(&self.directory, self.symlinks)?;
        let walked = directory.walk(self.dotfiles)?;
        let store = Store::open(&out.join(name))?;
        let preparation = Preparation {
            directory: &directory,
            store: &store,
            codings: &self.codings,
            modified_unix_seconds,
        };
        let prepared = preparation.all(&walked.files, threads())?;
        let text = generate(&prepared.entries, name);
        write(&out.join(format!("{name}.rs")), text.as_bytes())?;
        store.sweep()?;
        let mut warnings = walked.passed_over;
        warnings.extend(prepared.warnings);
        if prepared.entries.is_empty() {
            warnings.push(format!("{:?}: there is no file in it", self.directory));
        }
        let summary = Summary {
            files: prepared.entries.len(),
            compressed: prepared.compressed,
            bytes: prepared.bytes,
        };
        Ok((summary, warnings))
    }

    fn checked_name(&self) -> Result<&str, Error> {
        let name = match &self.name {
            Some(name) => name,
            None => self
                .directory
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default(),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            let what = format!("it cannot be called {name:?}; give it a plain name by Tree::name");
            return Err(Error::at(&self.directory, what));
        }
        Ok(name)
    }

    /// Claims the tree's name: two trees of one name would be one file.
    fn claim_name(&self) -> Result<(), Error> {
        static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let name = self.checked_name()?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.insert(name.to_owned()) {
            return Ok(());
        }
        let what =
            format!("another tree is called {name:?}; give one of them a name by Tree::name");
        Err(Error::at(&self.directory, what))
    }
}

/// The number of threads, as many as Cargo lets a build script use.
fn threads() -> NonZero<usize> {
    let said = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    said.or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZero::<usize>::MIN)
}

/// <https://reproducible-builds.org/specs/source-date-epoch/>.
pub(crate) fn epoch(value: &str) -> Result<i64, Error> {
    value.parse().map_err(|_| {
        Error::of(format!(
            "SOURCE_DATE_EPOCH is {value:?}: set it to a number of seconds since 1970, or not at all"
        ))
    })
}
