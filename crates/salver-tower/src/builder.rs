//! The builder of [`Assets`]: all settings and their defaults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use salver_assets::rules::{Action, Fault, Rule, RuleSet};
use salver_assets::source::lacks;
use salver_assets::strategy::{Transport, cache_max_file};
use salver_assets::{
    CacheControl, Config, ContentCoding, Engine, Mount, Source, Symlinks, TrailingSlash,
};

use crate::assets::Assets;
use crate::driver::Engines;
use crate::error::Error;
use crate::events::EventHub;
use crate::listing::MountListing;

/// The longest file that is read whole, in bytes, where a program does not say otherwise.
const READ_UP_TO: u64 = 1 << 30;

impl Assets {
    /// The files beneath `directory`, with every default of [`Builder`].
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, Error> {
        Assets::builder(directory).build()
    }

    /// The files beneath `directory`, served as the builder is told.
    pub fn builder(directory: impl AsRef<Path>) -> Builder {
        Builder::new(Root::Directory(directory.as_ref().to_owned()))
    }

    /// The files of an engine that is there already: of several mounts, with rules, or beside another whose cache it
    /// shares. Whole files are read through its cache, and its [events](Assets::events) go to the observer that it was
    /// made with. Files for which rules want a password are answered 500: nobody here verifies one.
    pub fn from_engine(engine: Engine) -> Self {
        let whole = engine.clone();
        Assets::from_engines(Engines::new(
            engine,
            None,
            (&whole, READ_UP_TO),
            Arc::default(),
        ))
    }

    /// The files of any source: in memory for tests, say.
    pub fn from_source(source: Arc<dyn Source>) -> Builder {
        Builder::new(Root::Source(source))
    }
}

/// Makes [`Assets`]; each method says its default.
#[derive(Clone, Debug)]
pub struct Builder {
    root: Root,
    pub(crate) config: Config,
    symlinks: Symlinks,
    fallback: Option<String>,
    listing: MountListing,
    error_pages: Vec<(u16, String)>,
    clean_urls: Option<TrailingSlash>,
    read_up_to: u64,
    keeps: bool,
}

#[derive(Clone, Debug)]
enum Root {
    Directory(PathBuf),
    Source(Arc<dyn Source>),
}

impl Builder {
    fn new(root: Root) -> Self {
        Builder {
            root,
            config: Config {
                // No kernel sends from files here.
                cache_max_file: cache_max_file(Transport::PassesThrough),
                ..Config::default()
            },
            symlinks: Symlinks::default(),
            fallback: None,
            listing: MountListing::default(),
            error_pages: Vec::new(),
            clean_urls: None,
            read_up_to: READ_UP_TO,
            keeps: true,
        }
    }

    /// Names that stand for a directory, the first that is there wins; none: directories are 404, with and without their
    /// slash, unless they are listed.
    /// Default: `index.html`.
    #[must_use]
    pub fn index<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.index = names.into_iter().map(Into::into).collect();
        self
    }

    /// Answers unknown paths that do not look like a file with this file and 200, as single-page
    /// applications need; the log says if it is not there. Default: they are 404.
    #[must_use]
    pub fn spa(mut self, file: &str) -> Self {
        self.fallback = Some(file.to_owned());
        self
    }

    /// Answers what is not found by this file and 404, its conditions, codings and HEAD included: `404.html`. A
    /// [fallback service](Assets::fallback) is asked first. Default: a line of text.
    ///
    /// ```
    /// # fn main() -> Result<(), salver_tower::Error> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let dist = directory.path();
    /// use salver_tower::{Assets, TrailingSlash};
    ///
    /// // As Astro, Next.js and Jekyll write a site: `/about` is `about.html`.
    /// let site = Assets::builder(dist).clean_urls(TrailingSlash::Auto).not_found("404.html");
    /// let assets = site.build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn not_found(self, file: &str) -> Self {
        self.error_page(404, file)
    }

    /// The same for another status of 400 to 599 but 406, 412 and 416: 400, of malformed paths (`/%00`), or 405. Default:
    /// a line of text.
    #[must_use]
    pub fn error_page(mut self, status: u16, file: &str) -> Self {
        let path = format!("/{}", file.trim_start_matches('/'));
        self.error_pages.push((status, path));
        self
    }

    /// Serves pages without `.html` in their paths, `about.html` at `/about`, and redirects (308) their other paths there.
    /// What the program names itself, as in [`Assets::file`], has its own name all the same. Default: each file at its own
    /// path.
    #[must_use]
    pub fn clean_urls(mut self, trailing_slash: TrailingSlash) -> Self {
        self.clean_urls = Some(trailing_slash);
        self
    }

    /// Codings of which precompressed siblings (`app.js.br`) are looked for; of those that a client
    /// accepts the smallest is sent. One whose feature (`brotli`, `zstd`, `gzip`) this crate is built without
    /// is sent only from [`embedded!`](crate::embedded) trees. Default: br, zstd, gzip.
    #[must_use]
    pub fn precompressed(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.config.precompressed = codings.into_iter().collect();
        self
    }

    /// Memory for cached files, their heads and bookkeeping, in bytes; paths without a file have a sixteenth of it.
    /// Default: 256 MiB.
    #[must_use]
    pub fn cache_size(mut self, bytes: usize) -> Self {
        self.config.cache_size = bytes;
        self
    }

    /// The longest file that is kept in memory, in bytes; at most a sixteenth of the cache. Default:
    /// 1 MiB: no kernel sends from files here, so that memory is the cheaper way for longer.
    #[must_use]
    pub fn cache_max_file(mut self, bytes: u64) -> Self {
        self.config.cache_max_file = bytes;
        self
    }

    /// The longest file that is [read](Assets::read) whole, in bytes; longer ones are [`ReadError::TooLong`], and are not
    /// read. Default: 1 GiB.
    ///
    /// [`ReadError::TooLong`]: crate::ReadError::TooLong
    #[must_use]
    pub fn read_up_to(mut self, bytes: u64) -> Self {
        self.read_up_to = bytes;
        self
    }

    /// Keeps nothing in memory: every request is answered from disk. Default: files are kept.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// The longest time between two comparisons of a cached file with the disk. Default: 1 s.
    #[must_use]
    pub fn revalidate(mut self, after: Duration) -> Self {
        self.config.revalidate = after;
        self
    }

    /// Cache-Control by path: what `rule` gives, a `&'static str`, a `String` or a `HeaderValue`, and
    /// the default where it gives `None`. Default: `public, max-age=31536000, immutable` for names with
    /// a fingerprint (`app.3f9a1c2b.js`) that are not HTML, else `no-cache`.
    ///
    /// The value stands on every answer of the file (200, 206 and 304, in every coding), also where
    /// [`spa`](Self::spa) sends the file for another path; 404, other errors and redirects are
    /// `no-cache`. The path is the file's, decoded, with `/` before it, and without a prefix that a
    /// router took off: `/app.js` also for `app.js.br`, `/blog/index.html` also for what answers
    /// `/blog/`.
    ///
    /// The rule is asked when a file is loaded, not for each request, so it should depend on the path
    /// alone and not wait for anything. A value that is no Cache-Control (a line's end, no
    /// directive, more than 1,024 bytes) is never sent: the answer says `no-store` instead, and the
    /// log, once, why.
    ///
    /// ```
    /// # fn main() -> Result<(), salver_tower::Error> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let dist = directory.path();
    /// let assets = salver_tower::Assets::builder(dist)
    ///     .cache_control(|path| match path {
    ///         "/service-worker.js" => Some("no-store"),
    ///         _ if path.starts_with("/fonts/") => Some("public, max-age=604800"),
    ///         _ => None,
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cache_control<V: TryInto<HeaderValue>>(
        mut self,
        rule: impl Fn(&str) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        self.config.cache_control = CacheControl::by_path(move |path| {
            // The engine refuses what is no value; nothing is such.
            let value = rule(path)?.try_into().ok();
            Some(value.map_or_else(Bytes::new, |value| Bytes::copy_from_slice(value.as_bytes())))
        });
        self
    }

    /// Serves files and directories whose name begins with a dot, too (`.well-known` always is).
    /// Default: they are 404.
    #[must_use]
    pub fn dotfiles(mut self) -> Self {
        self.config.dotfiles = true;
        self
    }

    /// The symlinks that are followed. Default: those whose target stays beneath the directory.
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Lists what a directory without an index holds, as a page or, for who accepts that, as JSON. Takes the feature
    /// `listing`. Default: it is 404.
    #[cfg(feature = "listing")]
    #[must_use]
    pub fn listing(mut self, listing: salver_assets::Listing) -> Self {
        self.listing = MountListing(Some(listing));
        self
    }

    /// Opens the directory. Nothing in it is read: that is done as files are asked for. A page that is not there is named
    /// in the log.
    ///
    /// # Errors
    /// If the directory cannot be opened, or a setting cannot be used: which, and why.
    pub fn build(self) -> Result<Assets, Error> {
        let listing = self.listing.clone();
        let (clean_urls, read_up_to) = (self.clean_urls, self.read_up_to);
        let rules = error_pages(&self.error_pages).map_err(Error::ErrorPage)?;
        let config = self.config()?;
        let events = Arc::new(EventHub::default());
        let with_mounts = |clean_urls: Option<TrailingSlash>| {
            let mounts = config.mounts.iter().cloned().map(|mut mount| {
                mount = listing.on(mount);
                if let Some(trailing_slash) = clean_urls {
                    mount = mount.with_clean_urls(trailing_slash);
                }
                mount.with_rules(Arc::clone(&rules))
            });
            Config {
                observer: Some(events.clone()),
                mounts: mounts.collect(),
                ..config.clone()
            }
        };
        let engine = Engine::new(with_mounts(clean_urls)).map_err(Error::Setting)?;
        // The program names files, whatever their paths on the web are.
        let named = clean_urls.map(|_| engine.beside(with_mounts(None)));
        let named = named.transpose().map_err(Error::Setting)?;
        let whole = Engine::new(whole(config.clone(), read_up_to)).map_err(Error::Setting)?;
        let engines = Engines::new(engine, named, (&whole, read_up_to), events.clone());
        Ok(Assets::from_engines(engines))
    }

    /// [`Assets`] that only read whole files.
    pub(crate) fn build_whole_reads(self) -> Result<Assets, Error> {
        let read_up_to = self.read_up_to;
        let engine = Engine::new(whole(self.config()?, read_up_to)).map_err(Error::Setting)?;
        let engines = Engines::new(engine.clone(), None, (&engine, read_up_to), Arc::default());
        Ok(Assets::from_engines(engines))
    }

    fn config(self) -> Result<Config, Error> {
        let Builder {
            root,
            mut config,
            symlinks,
            fallback,
            listing: _,
            error_pages,
            clean_urls: _,
            read_up_to: _,
            keeps,
        } = self;
        let source = match root {
            Root::Source(source) => source,
            Root::Directory(path) => {
                let source = config.open_directory(&path, symlinks);
                Arc::new(source.map_err(|error| Error::Directory(path, error))?)
            }
        };
        let pages = error_pages.iter().map(|(_, file)| file);
        for file in fallback.iter().chain(pages) {
            if lacks(&*source, file) {
                tracing::warn!("{file:?} is not there: what it is to answer is 404 without it");
            }
        }
        let mut mount = Mount::tree("/", source);
        if let Some(file) = &fallback {
            mount = mount.with_fallback(file);
        }
        config.cache = keeps;
        config.mounts = vec![mount];
        // No kernel sends from files here: what is read whole once is cheaper than a read for each
        // piece of it.
        config.sendfile_from = config.sendfile_from.max(config.cache_max_file);
        Ok(config)
    }
}

/// The rules of these pages; none is no rule.
fn error_pages(pages: &[(u16, String)]) -> Result<Arc<RuleSet>, Fault> {
    let page = |(status, path): &(u16, String)| Action::ErrorPage(*status, path.clone());
    let rule = Rule {
        actions: pages.iter().map(page).collect(),
        ..Rule::default()
    };
    let rules = if pages.is_empty() { vec![] } else { vec![rule] };
    RuleSet::compile(&rules).map(Arc::new)
}

/// The same files, each read whole within the load that all share who ask for it at one moment. Only
/// its bytes are wanted: nothing is kept, negotiated or hashed. How much of them there is at a time is the program's affair.
fn whole(config: Config, read_up_to: u64) -> Config {
    Config {
        cache: false,
        cache_size: usize::MAX,
        precompressed: Vec::new(),
        compress: false,
        dictionaries: false,
        hash_up_to: 0,
        sendfile_from: read_up_to.saturating_add(1),
        cache_control: CacheControl::default(),
        ..config
    }
}
