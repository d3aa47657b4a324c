//! A configuration to settings of the engine and the server, checked once: what cannot work is refused here,
//! before a port is taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use salver_assets::source::Kind;
use salver_assets::strategy::{self, Transport};
use salver_assets::{Config, ContentCoding, DirectorySource, Mount, Symlinks};
use salver_bench::environment::Environment;
use salver_config::conventions::CleanUrls;
use salver_config::values::{self, Coding, Spa};
use salver_config::{Configuration, Origin, Server, Setting, Site};

use crate::access_log::{log_settings, proxies};
use crate::conventions::with_conventions;
use crate::failure::Failure;
use crate::listening::{Listening, listen};
use crate::roots::{absolute, has_file, kind, neither, open};

/// Everything that `salver serve` needs to know.
#[derive(Debug)]
pub struct Settings {
    /// The engine's.
    pub engine: Config,
    /// The server's, but for its access log.
    pub server: salver_server::Settings,
    /// Those of the access log, if there is one.
    pub access_log: Option<salver_access_log::Settings>,
    /// What is served where, for people; the root first.
    pub shown: Vec<Shown>,
    /// The certificates, for people, one line each.
    pub certificates: Vec<String>,
    /// What a person should know although nothing is wrong, one line each.
    pub warnings: Vec<String>,
    /// Whether the cache is filled at the start.
    pub prewarm: bool,
    /// Whether the engine's counters are printed at the end.
    pub statistics: bool,
    /// Whether only what needs attention is said.
    pub quiet: bool,
}

/// A directory or a file and where it appears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The path of its URL.
    pub prefix: String,
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// The index that stands for the directory itself, if there is one.
    pub index: Option<String>,
    /// The file that answers unknown paths.
    pub fallback: Option<String>,
    /// Whether what it holds may be kept in memory, if there is a cache.
    pub cached: bool,
}

impl Settings {
    /// Checks a configuration against itself and against the file system. Opens the directories and
    /// walks none.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub fn new(configuration: &Configuration) -> Result<Self, Failure> {
        if let Some(text) = unserved(configuration).into_iter().next() {
            return Err(Failure::Misused(text));
        }
        let mut sites = configuration.sites.iter();
        let site = sites.next().ok_or_else(|| {
            Failure::Misused("there is no site: give a directory to serve".to_owned())
        })?;
        Settings::of_site(&configuration.server, site)
    }

    /// The settings of a server that shows one site.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub(crate) fn of_site(configured: &Server, site: &Site) -> Result<Self, Failure> {
        let mut engine = engine(configured, site)?;
        let (server, listening) = server(configured, site)?;
        let default = server.cache_max_file();
        engine.cache_max_file = configured.cache_max_file.unwrap_or(default);
        let mut settings = Settings {
            engine,
            server,
            access_log: log_settings(configured)?,
            shown: Vec::new(),
            certificates: listening.certificates,
            warnings: listening.warnings,
            prewarm: *configured.prewarm && *site.cache,
            statistics: *configured.statistics,
            quiet: *configured.quiet,
        };
        settings.warn_of_settings(configured, site);
        settings.add_root(site)?;
        for (mounts, is_cached) in [(&site.mount, true), (&site.mount_plain, false)] {
            for mount in mounts.iter() {
                let added = settings.add_mount(mount, is_cached, site);
                added.map_err(|failure| of_mount(&mounts.name(), mount, failure))?;
            }
        }
        Ok(settings)
    }

    fn warn_of_settings(&mut self, server: &Server, site: &Site) {
        if site.trailing_slash.is_said() && *site.clean_urls == CleanUrls::Off {
            self.warnings.push(format!(
                "{} does nothing without {}",
                site.trailing_slash.name(),
                site.clean_urls.name()
            ));
        }
        let size_name = server.cache_size.name();
        if !*site.cache {
            if *server.prewarm {
                self.warnings.push(format!(
                    "{} does nothing together with {}",
                    server.prewarm.name(),
                    site.cache.name()
                ));
            }
            return;
        }
        let memory = Environment::now([]).memory_bytes;
        if let Some(memory) = memory.filter(|memory| *server.cache_size > *memory) {
            self.warnings.push(format!(
                "{size_name} is more than the memory of this machine, {}: when it is used up, the \
                 system ends the server",
                size(memory)
            ));
        }
        let most = self.engine.keep_up_to();
        // What nobody asked for is no reason to warn, as long as small files are kept.
        let asked = *server.cache_max_file;
        if most < asked.unwrap_or(strategy::cache_max_file(Transport::KernelSends)) {
            self.warnings.push(format!(
                "files beyond {} are not kept in memory: {} is more than a sixteenth of {size_name}",
                size(most),
                server.cache_max_file.name()
            ));
        }
    }

    fn add_root(&mut self, site: &Site) -> Result<(), Failure> {
        let (path, source) = self
            .open_root(site)
            .map_err(|failure| of_file(&site.root, failure))?;
        let fallback = match &*site.spa {
            Spa::Off => None,
            Spa::Index => self.engine.index.first().cloned(),
            Spa::File(file) => Some(file.clone()),
        };
        if *site.root == Path::new(".") && !(site.mount.is_empty() && site.mount_plain.is_empty()) {
            self.warnings.push(format!(
                "besides what is mounted, / shows the current directory, {path:?}: give another PATH if \
                 that is not meant"
            ));
        }
        self.add_tree(site, "/", path, source, fallback, true);
        Ok(())
    }

    fn open_root(&self, site: &Site) -> Result<(PathBuf, DirectorySource), Failure> {
        let path = absolute(&site.root)?;
        let source = match kind(&path)? {
            Kind::Directory => open(&self.engine, &path, links(site))?,
            Kind::File => {
                let name = path.file_name().unwrap_or_default();
                return Err(Failure::Misused(format!(
                    "{path:?} is a file: give a directory, and for this one file --mount /{}=FILE",
                    name.display()
                )));
            }
            Kind::Other => return Err(neither(&path)),
        };
        Ok((path, source))
    }

    fn add_mount(
        &mut self,
        mount: &values::Mount,
        cached: bool,
        site: &Site,
    ) -> Result<(), Failure> {
        let values::Mount { prefix, path } = mount;
        let path = absolute(path)?;
        match kind(&path)? {
            Kind::Directory => {
                let source = open(&self.engine, &path, links(site))?;
                self.add_tree(site, prefix, path, source, None, cached);
            }
            Kind::File => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(neither(&path));
                };
                let Some(name) = name.to_str() else {
                    return Err(Failure::Misused(format!(
                        "{path:?} has a name that is not UTF-8: mount its directory instead"
                    )));
                };
                // This one file was named by the person: if it is a link, it may lead anywhere.
                let source = open(&self.engine, parent, Symlinks::Any)?;
                let mount = Mount::file(prefix, Arc::new(source), name);
                self.add(
                    mount,
                    Shown {
                        prefix: prefix.clone(),
                        path,
                        index: None,
                        fallback: None,
                        cached,
                    },
                );
            }
            Kind::Other => return Err(neither(&path)),
        }
        Ok(())
    }

    /// Adds a tree and says what it will be like to visit it.
    fn add_tree(
        &mut self,
        site: &Site,
        prefix: &str,
        path: PathBuf,
        source: DirectorySource,
        fallback: Option<String>,
        cached: bool,
    ) {
        let has = |name: &String| has_file(&source, name);
        let index = self.engine.index.iter().find(|name| has(name)).cloned();
        let slash = if prefix.ends_with('/') { "" } else { "/" };
        if let Some(file) = fallback.as_ref().filter(|file| !has(file)) {
            self.warnings.push(format!(
                "{file} is not in {path:?}: unknown paths are answered 404 until it is"
            ));
        }
        if index.is_none() && fallback.as_ref().is_none_or(|file| !has(file)) {
            let names = self.engine.index.join(" or ");
            self.warnings.push(format!(
                "{prefix}{slash} is answered 404: no {names} in {path:?}"
            ));
        }
        let mut mount = with_conventions(Mount::tree(prefix, Arc::new(source)), site);
        if let Some(file) = &fallback {
            mount = mount.with_fallback(file);
        }
        let shown = Shown {
            prefix: format!("{prefix}{slash}"),
            path,
            index,
            fallback,
            cached,
        };
        self.add(mount, shown);
    }

    /// Adds a mount as it is shown.
    fn add(&mut self, mount: Mount, shown: Shown) {
        self.engine.mounts.push(match shown.cached {
            true => mount,
            false => mount.without_cache(),
        });
        self.shown.push(shown);
    }
}

/// A failure that says which mount it is of.
fn of_mount(name: &str, mount: &values::Mount, failure: Failure) -> Failure {
    let values::Mount { prefix, path } = mount;
    let path = path.to_string_lossy();
    failure.of(&format!("{name} {prefix}={}", path.escape_debug()))
}

/// A failure that says which line of a file it is of, if a file has the setting.
fn of_file<T>(setting: &Setting<T>, failure: Failure) -> Failure {
    match setting.origin() {
        Origin::File(_) => failure.of(&setting.name()),
        _ => failure,
    }
}

/// What a configuration says and no server does: a line each.
pub(crate) fn unserved(configuration: &Configuration) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(place) = configuration
        .sites
        .get(1)
        .and_then(|site| site.place.as_ref())
    {
        lines.push(format!(
            "{place}: a second site is not served: start a server for each site"
        ));
    }
    for site in &configuration.sites {
        let said = [
            (site.hosts.is_said(), site.hosts.name()),
            (site.error_pages.is_said(), site.error_pages.name()),
            (site.env_variables.is_said(), site.env_variables.name()),
            (site.env_script.is_said(), site.env_script.name()),
            (
                site.env_placeholders.is_said(),
                site.env_placeholders.name(),
            ),
            (site.rules.is_said(), site.rules.name()),
        ];
        let named = said.into_iter().filter(|(is_said, _)| *is_said);
        lines.extend(named.map(|(_, name)| format!("{name} is not served: leave it out")));
    }
    lines
}

/// Which links the engine follows.
fn links(site: &Site) -> Symlinks {
    match *site.symlinks {
        values::Symlinks::None => Symlinks::None,
        values::Symlinks::Beneath => Symlinks::Beneath,
        values::Symlinks::Any => Symlinks::Any,
    }
}

/// Which siblings the engine looks for.
fn codings(site: &Site) -> Vec<ContentCoding> {
    let coding = |coding: &Coding| match coding {
        Coding::Brotli => ContentCoding::Brotli,
        Coding::Zstd => ContentCoding::Zstd,
        Coding::Gzip => ContentCoding::Gzip,
    };
    site.precompressed.0.iter().map(coding).collect()
}

/// A cache of fewer bytes holds no page of a site, only bookkeeping.
const LEAST_CACHE: u64 = 64 * 1024;

/// The least memory that connections can be served with, in bytes.
const LEAST_MEMORY: u64 = 1024 * 1024;

fn engine(server: &Server, site: &Site) -> Result<Config, Failure> {
    if *server.connection_memory < LEAST_MEMORY {
        return Err(Failure::Misused(format!(
            "{} is too little for any connection: give 1MiB or more",
            server.connection_memory.name()
        )));
    }
    if *site.cache && *server.cache_size < LEAST_CACHE {
        return Err(Failure::Misused(format!(
            "{} of {} holds next to nothing: give 64KiB or more, or --no-cache to keep \
             nothing in memory",
            server.cache_size.name(),
            size(*server.cache_size)
        )));
    }
    Ok(Config {
        mounts: Vec::new(),
        index: site.index.to_vec(),
        precompressed: codings(site),
        cache_size: usize::try_from(*server.cache_size).unwrap_or(usize::MAX),
        sendfile_from: *server.sendfile_from,
        open_files: usize::try_from(*server.open_files).unwrap_or(usize::MAX),
        cache: *site.cache,
        coalesce: *server.coalesce,
        revalidate: *server.revalidate,
        dotfiles: *site.dotfiles,
        ..Config::default()
    })
}

/// The server's settings, and what a person is told of the addresses.
fn server(
    configured: &Server,
    site: &Site,
) -> Result<(salver_server::Settings, Listening), Failure> {
    let defaults = salver_server::Settings::default();
    if !*configured.http1 && !*configured.http2 {
        return Err(Failure::Misused(format!(
            "{} and {} leave nothing to speak over TCP: drop one of them",
            configured.http1.name(),
            configured.http2.name()
        )));
    }
    let mut settings = salver_server::Settings {
        http1: *configured.http1,
        http2: *configured.http2,
        #[cfg(feature = "http3")]
        http3: *configured.http3,
        workers: configured.workers.map_or(defaults.workers, usize::from),
        max_connections: usize::try_from(*configured.max_connections).unwrap_or(usize::MAX),
        idle_timeout: *configured.idle_timeout,
        header_timeout: *configured.header_timeout,
        send_timeout: *configured.send_timeout,
        min_rate: *configured.min_rate,
        answer_timeout: *configured.answer_timeout,
        max_connections_per_client: configured
            .max_connections_per_client
            .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        connection_memory: *configured.connection_memory,
        grace: *configured.drain,
        cache_status: *configured.cache_status,
        proxies: proxies(configured)?,
        ..defaults
    };
    let listening = listen(configured, site, &mut settings)?;
    Ok((settings, listening))
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    let text = bytesize::ByteSize(bytes).display().iec().to_string();
    text.replacen(".0 ", " ", 1)
}

#[cfg(test)]
mod tests {
    use salver_assets::digest::DECODED;

    use super::*;

    /// The settings of a command line.
    fn settings(root: &Path, more: &[&str]) -> Settings {
        let arguments = ["salver", "serve", root.to_str().unwrap()];
        let cli = crate::flags::Cli::read(arguments.iter().chain(more)).unwrap();
        let crate::flags::Command::Serve(flags) = cli.command else {
            panic!("another command")
        };
        let nothing = salver_config::Environment::default();
        Settings::new(&flags.configuration(&nothing).unwrap()).unwrap()
    }

    #[test]
    fn the_bounds_of_clients_are_as_the_flags_say() {
        let root = tempfile::tempdir().unwrap();
        let mut more = vec!["--max-connections-per-client", "7"];
        more.extend(["--connection-memory", "3MiB"]);
        more.extend(["--min-rate", "9B", "--answer-timeout", "11s"]);
        let server = settings(root.path(), &more).server;
        assert_eq!(server.max_connections_per_client, Some(7));
        assert_eq!((server.connection_memory, server.min_rate), (3 << 20, 9));
        assert_eq!(server.answer_timeout.as_secs(), 11);
    }

    #[cfg(feature = "self-signed")]
    #[test]
    fn who_asked_for_a_self_signed_certificate_quietly_hears_nothing_of_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("index.html"), "x").unwrap();
        for (more, expected) in [
            (&["--tls-self-signed"][..], 1),
            (&["--tls-self-signed", "-q"], 0),
        ] {
            let warnings = settings(root.path(), more).warnings;
            assert_eq!(warnings.len(), expected, "{warnings:?}");
        }
    }

    #[test]
    fn what_is_shared_and_kept_is_as_the_flags_say() {
        let root = tempfile::tempdir().unwrap();
        let shown = root.path().to_str().unwrap();
        let check = |flag: &str, coalesce: bool, cached: &[bool]| {
            let settings = settings(root.path(), &[flag]);
            assert_eq!(settings.engine.coalesce, coalesce, "{flag}");
            let found: Vec<_> = settings.shown.iter().map(|shown| shown.cached).collect();
            assert_eq!(found, cached, "{flag}");
        };
        check("--coalesce", true, &[true]);
        check("--no-coalesce", false, &[true]);
        check(&format!("--mount=/a={shown}"), true, &[true, true]);
        check(&format!("--mount-plain=/a={shown}"), true, &[true, false]);
    }

    #[test]
    fn codings_and_links_are_those_of_the_engine() {
        let root = tempfile::tempdir().unwrap();
        let check = |flag: &str, expected: &[ContentCoding]| {
            assert_eq!(
                settings(root.path(), &[flag]).engine.precompressed,
                expected
            );
        };
        // The default is what this build can verify, and nothing else can be asked for.
        check("--no-prewarm", DECODED);
        check("--precompressed=none", &[]);
    }

    #[test]
    fn sizes_are_for_people() {
        fn check(bytes: u64, expected: &str) {
            assert_eq!(size(bytes), expected);
        }
        check(0, "0 B");
        check(1000, "1000 B");
        check(1 << 20, "1 MiB");
        check(3 << 19, "1.5 MiB");
        check(256 << 20, "256 MiB");
    }
}
