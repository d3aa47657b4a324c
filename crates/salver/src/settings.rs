//! A configuration to settings of the engines and the server, checked once: what cannot work is refused here,
//! before a port is taken.

use salver_assets::Engine;
use salver_assets::strategy::{self, Transport};
use salver_config::{Configuration, Server};
use salver_server::Sites;

use crate::access_log::log_settings;
use crate::admin::{AdminSettings, admin_settings};
use crate::bounds::check_memory;
use crate::bucket_events::{BucketOfSite, buckets_of};
use crate::failure::Failure;
use crate::kept_codings::{KeptCodings, with_kept_codings};
use crate::listening::{Listening, listen};
use crate::proxies::proxies;
use crate::releases::ServedStore;
use crate::site_settings::SiteSettings;
use crate::size::size;

/// Everything that `salver serve` needs to know.
#[derive(Debug)]
pub struct Settings {
    /// Those of each site; one at least.
    pub sites: Vec<SiteSettings>,
    /// The server's, but for its access log.
    pub server: salver_server::Settings,
    /// Those of the access log, if there is one.
    pub access_log: Option<salver_access_log::Settings>,
    /// Those of the admin listener, if there is one.
    pub(crate) admin: Option<AdminSettings>,
    /// The certificates, for people, one line each.
    pub certificates: Vec<String>,
    /// What a person should know although nothing is wrong, one line each.
    pub warnings: Vec<String>,
    /// The directory that keeps made codings, if there is one.
    pub(crate) kept_codings: Option<KeptCodings>,
    /// Whether the cache is filled at the start.
    pub prewarm: bool,
    /// Whether the engine's counters are printed at the end.
    pub statistics: bool,
    /// Whether only what needs attention is said.
    pub quiet: bool,
}

impl Settings {
    /// Checks a configuration against itself and against the file system. Opens the directories and
    /// walks none.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub fn new(configuration: &Configuration) -> Result<Self, Failure> {
        let configured = &configuration.server;
        // Each root takes a descriptor.
        salver_server::raise_descriptor_limit();
        check_memory(configuration)?;
        let (server, listening) = server(configuration)?;
        let read = |site| SiteSettings::new(configuration, site, server.cache_max_file());
        let sites = configuration.sites.iter().map(read);
        let sites = sites.collect::<Result<Vec<_>, _>>()?;
        let mut settings = Settings {
            kept_codings: KeptCodings::new(configuration, &sites)?,
            prewarm: *configured.prewarm && sites.iter().any(|site| site.engine.cache),
            sites,
            server,
            access_log: log_settings(configured)?,
            admin: admin_settings(configured)?,
            certificates: listening.certificates,
            warnings: listening.warnings,
            statistics: *configured.statistics,
            quiet: *configured.quiet,
        };
        settings.warn(configuration);
        Ok(settings)
    }

    /// The names of the sites, in their order; a site alone needs none.
    pub(crate) fn site_names(&self) -> Vec<String> {
        let name = |site: &SiteSettings| match self.sites.len() {
            1 => String::new(),
            _ => site.name().to_owned(),
        };
        self.sites.iter().map(name).collect()
    }

    /// The stores that are served.
    pub(crate) fn stores(&self) -> Vec<ServedStore> {
        let sites = self.sites.iter();
        let stores = sites.filter_map(|site| {
            let ((path, _), releases) = (site.store.clone()?, site.releases.clone());
            Some(ServedStore::new(site.name(), path, &site.hosts, releases))
        });
        stores.collect()
    }

    /// The buckets that are served.
    pub(crate) fn buckets(&self) -> Vec<BucketOfSite> {
        let sites = self.sites.iter().enumerate();
        sites
            .flat_map(|(number, site)| buckets_of(site, number))
            .collect()
    }

    /// The most bytes of the cache that the sites share.
    pub(crate) fn cache_size(&self) -> usize {
        let first = self.sites.first();
        first.map_or(0, |site| site.engine.cache_size)
    }

    /// The sites that are served. All of them share one cache. It begins with the codings that were made of those
    /// `before`.
    ///
    /// # Errors
    /// What of a site cannot work.
    pub fn sites(&self, before: Option<&Sites>) -> Result<Sites, Failure> {
        let compresses = self.sites.iter().any(|site| site.engine.compress);
        let before = before.filter(|_| compresses).map(Sites::first);
        let mut sites: Vec<salver_server::Site> = Vec::with_capacity(self.sites.len());
        let label = |site: &SiteSettings| self.server.site_names.number(site.name());
        for site in &self.sites {
            let engine = match sites.first() {
                None => {
                    let config = with_kept_codings(site, self.kept_codings.as_ref());
                    match before {
                        Some(before) => before.in_place_of(config),
                        None => Engine::new(config),
                    }
                }
                Some(first) => first.engine.beside(site.engine.clone()),
            };
            let engine = engine.map_err(|error| site.failure(&error.to_string()))?;
            let releases = site.releases.as_ref();
            let releases = releases.map(|releases| releases.addresses(&engine, &site.engine));
            let releases = releases
                .transpose()
                .map_err(|error| site.failure(&error.to_string()))?;
            sites.push(salver_server::Site {
                hosts: site.hosts.clone(),
                engine,
                hsts: site.hsts,
                label: if self.sites.len() > 1 { label(site) } else { 0 },
                releases,
            });
        }
        match &*sites {
            [only] if only.releases.is_none() => Some(Sites::from(only.engine.clone())),
            _ => Sites::new(sites),
        }
        .ok_or_else(|| Failure::Misused("there is no site: give a directory to serve".to_owned()))
    }

    fn warn(&mut self, configuration: &Configuration) {
        let server = &configuration.server;
        if let [site] = &*configuration.sites
            && site.hosts.is_said()
        {
            self.warnings.push(format!(
                "{} does nothing: the only site is for all hosts",
                site.hosts.name()
            ));
        } else if configuration.sites.iter().all(|site| site.hosts.is_said())
            && let Some(first) = self.sites.first()
        {
            self.warnings.push(format!(
                "hosts that no site has are answered by {}: a site without hosts would be for them",
                first.label()
            ));
        }
        for site in &self.sites {
            let label = match self.sites.len() {
                1 => String::new(),
                _ => format!("{}: ", site.label()),
            };
            let of_site = site.warnings.iter();
            self.warnings
                .extend(of_site.map(|warning| format!("{label}{warning}")));
        }
        let size_name = server.cache_size.name();
        let cached = self.sites.iter().find(|site| site.engine.cache);
        let Some(cached) = cached else {
            let site = configuration.sites.first();
            if let Some(site) = site.filter(|_| *server.prewarm) {
                self.warnings.push(format!(
                    "{} does nothing together with {}",
                    server.prewarm.name(),
                    site.cache.name()
                ));
            }
            return;
        };
        let memory = configuration.machine.memory();
        if let Some(memory) = memory.filter(|memory| *server.cache_size > memory.bytes()) {
            self.warnings.push(format!(
                "{size_name} is more than the memory that there is, {memory}: when it is used up, the \
                 system ends the server"
            ));
        }
        let most = cached.engine.keep_up_to();
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
}

/// The server's settings, and what a person is told of the addresses.
fn server(configuration: &Configuration) -> Result<(salver_server::Settings, Listening), Failure> {
    let configured: &Server = &configuration.server;
    let defaults = salver_server::Settings::default();
    if !*configured.http1 && !*configured.http2 {
        return Err(Failure::Misused(format!(
            "{} and {} leave nothing to speak over TCP: drop one of them",
            configured.http1.name(),
            configured.http2.name()
        )));
    }
    let proxies = proxies(configured)?;
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
        proxies: salver_server::Proxies {
            trusted: proxies.trusted,
            field: proxies.field,
            protocol: proxies.protocol,
        },
        ..defaults
    };
    let listening = listen(configuration, &mut settings)?;
    Ok((settings, listening))
}

#[cfg(test)]
mod tests {
    use salver_assets::ContentCoding;
    use salver_assets::digest::DECODED;

    use super::*;
    use std::path::Path;

    /// The settings of a command line.
    fn settings(root: &Path, more: &[&str]) -> Settings {
        let arguments = ["salver", "serve", root.to_str().unwrap()];
        let cli = crate::flags::Cli::read(arguments.iter().chain(more)).unwrap();
        let crate::flags::Command::Serve(flags) = cli.command else {
            panic!("another command")
        };
        let nothing = salver_config::Environment::default();
        let configuration = flags.configuration(&nothing, salver_config::Machine::default());
        Settings::new(&configuration.unwrap()).unwrap()
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
            assert_eq!(settings.sites[0].engine.coalesce, coalesce, "{flag}");
            let found: Vec<_> = settings.sites[0]
                .shown
                .iter()
                .map(|shown| shown.cached)
                .collect();
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
                settings(root.path(), &[flag]).sites[0].engine.precompressed,
                expected
            );
        };
        // The default is what this build can verify, and nothing else can be asked for.
        check("--no-prewarm", DECODED);
        check("--precompressed=none", &[]);
    }
}
