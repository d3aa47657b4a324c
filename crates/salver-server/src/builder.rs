//! The builder of servers.

mod handlers;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use salver_assets::rules::RuleSet;
use salver_assets::source::lacks;
use salver_assets::{
    Config, ConfigError, Conventions, Engine, Listing, Mount, Symlinks, TrailingSlash,
};

use crate::handler::{Handlers, InvalidPrefix, Reply, erase_type};
use crate::inherited_sockets::InheritedSockets;
use crate::listener::BindError;
use crate::server::{OnReady, Ready, Server};
use crate::settings::Settings;

impl Server {
    /// A builder, to which a program names directories, handlers and addresses.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same server with a guard of all paths beneath `prefix`: see [`Builder::guard`].
    ///
    /// # Errors
    /// [`BuildError::Guard`] if the prefix is no absolute path.
    pub fn with_guard<F, O>(mut self, prefix: &str, handler: F) -> Result<Self, BuildError>
    where
        F: AsyncFn(Request<Bytes>) -> O + Send + Sync + 'static,
        O: Into<Reply> + 'static,
    {
        let guard = erase_type(handler);
        match self.handlers.add_guard(prefix, guard) {
            Ok(()) => Ok(self),
            Err(InvalidPrefix) => Err(BuildError::Guard(prefix.to_owned())),
        }
    }
}

/// The builder of a [`Server`]; each method names its default.
#[derive(Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct Builder {
    config: Option<Config>,
    settings: Settings,
    /// The addresses without TLS; `None` until one is named.
    addresses: Option<Vec<SocketAddr>>,
    mounts: Vec<MountEntry>,
    symlinks: Symlinks,
    site: SiteSettings,
    fallbacks: Vec<(String, String)>,
    handlers: Handlers,
    bad_prefix: Option<String>,
    on_ready: Option<OnReady>,
    inherited: InheritedSockets,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("settings", &self.settings)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// The settings of all mounts.
#[derive(Default)]
struct SiteSettings {
    rules: Option<Arc<RuleSet>>,
    conventions: Option<Conventions>,
    clean_urls: Option<TrailingSlash>,
    listing: Option<Listing>,
}

impl SiteSettings {
    /// The mount with these settings.
    fn applied_to(&self, mut mount: Mount) -> Mount {
        if let Some(rules) = &self.rules {
            mount = mount.with_rules(Arc::clone(rules));
        }
        if let Some(conventions) = self.conventions {
            mount = mount.with_conventions(conventions);
        }
        if let Some(trailing_slash) = self.clean_urls {
            mount = mount.with_clean_urls(trailing_slash);
        }
        if let Some(listing) = &self.listing {
            mount = mount.with_listing(listing.clone());
        }
        mount
    }
}

/// A mount of the server that is built.
enum MountEntry {
    Directory(String, PathBuf),
    Mount(Mount),
}

impl Builder {
    /// Serves the files beneath `path` beneath `prefix`: `/` or `/static`, say. May be said for
    /// several; of those that fit a request the longest prefix wins. Without any mount there are no
    /// files, and all is for the [`handler`](Self::handler).
    pub fn directory(mut self, prefix: &str, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        self.mounts
            .push(MountEntry::Directory(prefix.to_owned(), path));
        self
    }

    /// Adds a mount: a tree in memory or in the program itself, one file, a directory without the cache.
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(MountEntry::Mount(mount));
        self
    }

    /// Answers unknown paths beneath the directory at `prefix` that do not look like a file with
    /// `file` and 200, as single-page applications need; the log says if it is not there. Otherwise they are the
    /// [`handler`](Self::handler)'s, or 404.
    pub fn spa(mut self, prefix: &str, file: &str) -> Self {
        self.fallbacks.push((prefix.to_owned(), file.to_owned()));
        self
    }

    /// Sets the symlinks that are followed in each [`directory`](Self::directory). Default: those whose target stays
    /// beneath it.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Answers by rules: response fields, redirects, rewrites, access. They hold for each [`directory`](Self::directory),
    /// and match the whole path of a request. A [`mount`](Self::mount) [has its own](Mount::with_rules). Default: none.
    pub fn rules(mut self, rules: Arc<RuleSet>) -> Self {
        self.site.rules = Some(rules);
        self
    }

    /// Serves each [`directory`](Self::directory) by the files that a built site carries for its host: `_headers`,
    /// `_redirects`, `404.html`. Default: they are files like others.
    pub fn conventions(mut self, conventions: Conventions) -> Self {
        self.site.conventions = Some(conventions);
        self
    }

    /// Serves the pages of each [`directory`](Self::directory) without `.html` in their paths. Default: each file at
    /// its own path.
    pub fn clean_urls(mut self, trailing_slash: TrailingSlash) -> Self {
        self.site.clean_urls = Some(trailing_slash);
        self
    }

    /// Lists what a directory without an index holds, beneath each [`directory`](Self::directory). Default: it is not
    /// found.
    pub fn listing(mut self, listing: Listing) -> Self {
        self.site.listing = Some(listing);
        self
    }

    /// Sets the configuration of the engine: index, codings, cache, revalidation. Its mounts are kept. Default:
    /// [`Config::default`] with the [`cache_max_file`](Settings::cache_max_file) of this server.
    pub fn config(mut self, config: Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Sets the settings of the server: workers, limits, protocols. Addresses that are named by
    /// [`listen`](Self::listen), and [`tls`](Self::tls), replace those in them.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Listens at an address without TLS; may be said for several. Port 0 takes any free one.
    /// Default: 127.0.0.1:8080, and none if there is [`tls`](Self::tls).
    pub fn listen(mut self, address: impl Into<SocketAddr>) -> Self {
        self.addresses.get_or_insert_default().push(address.into());
        self
    }

    /// Listens with TLS. Default: nowhere.
    ///
    #[cfg_attr(feature = "self-signed", doc = "```")]
    #[cfg_attr(not(feature = "self-signed"), doc = "```ignore")]
    /// use salver_server::tls::{Certificates, Handshakes};
    /// use salver_server::{Server, TlsSettings};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let site = directory.path();
    /// // Or `Certificates::read`, from PEM files that may be renewed while it runs.
    /// let certificates = Certificates::self_signed(&["localhost".to_owned()])?;
    /// let tls = TlsSettings {
    ///     handshakes: Handshakes::new(certificates)?,
    ///     addresses: vec![([127, 0, 0, 1], 0).into()],
    ///     redirects: vec![([127, 0, 0, 1], 0).into()],
    ///     hsts: None,
    /// };
    /// let server = Server::builder().directory("/", site).tls(tls).build()?;
    /// assert_eq!((server.addresses().len(), server.tls_addresses().len()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::TlsSettings) -> Self {
        self.addresses.get_or_insert_default();
        self.settings.tls = Some(tls);
        self
    }

    /// Takes these sockets, which another process has bound, instead of binding: see [`Server::bind_with`]. Default:
    /// none.
    pub fn inherited_sockets(mut self, sockets: InheritedSockets) -> Self {
        self.inherited = sockets;
        self
    }

    /// Calls `callback` once every worker accepts connections, on the thread that [serves](Server::serve), which goes
    /// on when it returns. Default: no call.
    pub fn on_ready(mut self, callback: impl FnOnce(Ready) + Send + 'static) -> Self {
        self.on_ready = Some(Box::new(callback));
        self
    }

    /// Opens the directories and binds the addresses. Connections queue until [`Server::serve`].
    ///
    /// # Errors
    /// [`BuildError`]: the first thing that cannot work, and what to do.
    pub fn build(self) -> Result<Server, BuildError> {
        if let Some(prefix) = self.bad_prefix {
            return Err(BuildError::Guard(prefix));
        }
        let mut settings = self.settings;
        if let Some(addresses) = self.addresses {
            settings.addresses = addresses;
        }
        let tls = settings.tls();
        let has_tls = tls.is_some_and(|tls| !tls.addresses.is_empty());
        if settings.addresses.is_empty() && settings.unix_sockets.is_empty() && !has_tls {
            return Err(BuildError::Nowhere);
        }
        let mut config = self.config.unwrap_or_else(|| Config {
            cache_max_file: settings.cache_max_file(),
            ..Config::default()
        });
        let mut fallbacks = self.fallbacks;
        for place in self.mounts {
            config.mounts.push(match place {
                MountEntry::Mount(mount) => mount,
                MountEntry::Directory(prefix, path) => {
                    let source = config.open_directory(&path, self.symlinks);
                    let source = source.map_err(|error| BuildError::Directory(path, error))?;
                    let source = Arc::new(source);
                    let mut known = fallbacks.iter();
                    let fallback = known.position(|(of, _)| {
                        of.trim_end_matches('/') == prefix.trim_end_matches('/')
                    });
                    let fallback = fallback.map(|place| fallbacks.swap_remove(place));
                    if let Some((_, file)) = &fallback
                        && lacks(&*source, file)
                    {
                        tracing::warn!(
                            "spa: {file:?} is not there: unknown paths are 404 until it is"
                        );
                    }
                    let mount = self.site.applied_to(Mount::tree(&prefix, source));
                    match fallback {
                        Some((_, file)) => mount.with_fallback(&file),
                        None => mount,
                    }
                }
            });
        }
        if let Some((prefix, _)) = fallbacks.pop() {
            return Err(BuildError::Spa(prefix));
        }
        if config.mounts.is_empty() && !self.handlers.is_empty() {
            // Nothing is a file: all is for the handlers.
            let nothing = Arc::new(salver_assets::MemorySource::new());
            config.mounts.push(Mount::tree("/", nothing));
        }
        let engine = Engine::new(config).map_err(BuildError::Setting)?;
        let server = Server::bind_with(engine, settings, self.inherited);
        let mut server = server.map_err(BuildError::Address)?;
        server.handlers = self.handlers;
        server.on_ready = self.on_ready;
        Ok(server)
    }

    /// Builds the server, and serves until [`Handle::shutdown`](crate::Handle::shutdown).
    ///
    /// # Errors
    /// As [`build`](Self::build) and [`Server::serve`].
    pub fn serve(self) -> Result<(), BuildError> {
        self.build()?.serve().map_err(BuildError::Loop)
    }
}

/// The error of a server that cannot be built or run.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A directory cannot be opened.
    Directory(PathBuf, io::Error),
    /// A setting of the engine cannot be used.
    Setting(ConfigError),
    /// The prefix of a [`Builder::guard`], [`Builder::answer_timeout`] or the like is no absolute path.
    Guard(String),
    /// No directory is served at the prefix that [`Builder::spa`] was given.
    Spa(String),
    /// No address is named, neither with TLS nor without.
    Nowhere,
    /// An address cannot be listened on.
    Address(BindError),
    /// A loop cannot be set up.
    Loop(io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Directory(path, error) => {
                write!(f, "cannot serve {}: {error}", path.display())
            }
            BuildError::Setting(error) => error.fmt(f),
            BuildError::Spa(prefix) => {
                write!(
                    f,
                    "spa({prefix:?}): no directory is served there; name its prefix"
                )
            }
            BuildError::Guard(prefix) => {
                write!(
                    f,
                    "the prefix {prefix:?} is no absolute path such as /private"
                )
            }
            BuildError::Nowhere => {
                f.write_str("there is no address to listen on: name one by listen or tls")
            }
            BuildError::Address(error) => error.fmt(f),
            BuildError::Loop(error) => write!(f, "a loop cannot be set up: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Directory(_, error) | BuildError::Loop(error) => Some(error),
            BuildError::Setting(error) => Some(error),
            BuildError::Address(error) => Some(error),
            BuildError::Guard(_) | BuildError::Spa(_) | BuildError::Nowhere => None,
        }
    }
}
