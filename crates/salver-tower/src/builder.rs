//! How files are served, said once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Config, ContentCoding, DirectorySource, Engine, Mount, Source, Symlinks};

use crate::assets::Assets;
use crate::error::Error;

/// Makes [`Assets`]; each method says its default.
#[derive(Clone, Debug)]
pub struct Builder {
    root: Root,
    config: Config,
    symlinks: Symlinks,
    fallback: Option<String>,
    keeps: bool,
}

#[derive(Clone, Debug)]
enum Root {
    Directory(PathBuf),
    Source(Arc<dyn Source>),
}

impl Builder {
    pub(crate) fn directory(path: &Path) -> Self {
        Builder::new(Root::Directory(path.to_owned()))
    }

    pub(crate) fn source(source: Arc<dyn Source>) -> Self {
        Builder::new(Root::Source(source))
    }

    fn new(root: Root) -> Self {
        Builder {
            root,
            config: Config {
                cache_max_file: 256 * 1024,
                ..Config::default()
            },
            symlinks: Symlinks::default(),
            fallback: None,
            keeps: true,
        }
    }

    /// Names that stand for a directory, the first that is there wins; none: directories are 404.
    /// Default: `index.html`.
    #[must_use]
    pub fn index<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.index = names.into_iter().map(Into::into).collect();
        self
    }

    /// Answers unknown paths that do not look like a file with this file and 200, as single-page
    /// applications need. Default: they are 404.
    #[must_use]
    pub fn spa(mut self, file: &str) -> Self {
        self.fallback = Some(file.to_owned());
        self
    }

    /// Codings of which precompressed siblings (`app.js.br`) are looked for; of those that a client
    /// accepts the smallest is sent. Default: br, zstd, gzip.
    #[must_use]
    pub fn precompressed(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.config.precompressed = codings.into_iter().collect();
        self
    }

    /// Memory for cached files, their heads and bookkeeping, in bytes. Default: 256 MiB.
    #[must_use]
    pub fn cache_size(mut self, bytes: usize) -> Self {
        self.config.cache_size = bytes;
        self
    }

    /// The longest file that is kept in memory, in bytes; at most a sixteenth of the cache. Default:
    /// 256 KiB: no kernel sends from files here, so that memory is the cheaper way for longer.
    #[must_use]
    pub fn cache_max_file(mut self, bytes: u64) -> Self {
        self.config.cache_max_file = bytes;
        self
    }

    /// Keeps nothing in memory: every request is answered from disk. Default: files are kept.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// What is cached is compared with the disk at most this long after the last time. Default: 1 s.
    #[must_use]
    pub fn revalidate(mut self, after: Duration) -> Self {
        self.config.revalidate = after;
        self
    }

    /// Serves files and directories whose name begins with a dot, too (`.well-known` always is).
    /// Default: they are 404.
    #[must_use]
    pub fn dotfiles(mut self) -> Self {
        self.config.dotfiles = true;
        self
    }

    /// Which symlinks are followed. Default: those whose target stays beneath the directory.
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Opens the directory. Nothing in it is read: that is done as files are asked for.
    ///
    /// # Errors
    /// If the directory cannot be opened, or a setting cannot be used: which, and why.
    pub fn build(self) -> Result<Assets, Error> {
        let Builder {
            root,
            mut config,
            symlinks,
            fallback,
            keeps,
        } = self;
        let source = match root {
            Root::Source(source) => source,
            Root::Directory(path) => {
                let source = DirectorySource::open(&path, symlinks, config.revalidate);
                Arc::new(source.map_err(|error| Error::Directory(path, error))?)
            }
        };
        let mut mount = Mount::tree("/", source);
        if let Some(file) = &fallback {
            mount = mount.with_fallback(file);
        }
        config.cache = keeps;
        config.mounts = vec![mount];
        // No kernel sends from files here: what is read whole once is cheaper than a read for each
        // piece of it.
        config.sendfile_from = config.sendfile_from.max(config.cache_max_file);
        Ok(Assets::from_engine(
            Engine::new(config).map_err(Error::Setting)?,
        ))
    }
}
