//! A configuration to settings of the engines and the portable server, checked once: what cannot work, and what this
//! system lacks, is refused here, before a port is taken.

use std::time::Duration;

use salver_assets::strategy::{Transport, cache_max_file};
use salver_config::{Configuration, Server};

use crate::access_log::log_settings;
use crate::banner::Addresses;
use crate::bounds::{check_memory, check_ports};
use crate::failure::Failure;
use crate::hosts::addresses_at;
use crate::kept_codings::KeptCodings;
use crate::portable::absences;
use crate::portable::tls::{self, Tls};
use crate::proxies::{Proxies, proxies};
use crate::site_settings::SiteSettings;

/// Everything that `salver serve` needs to know.
#[derive(Debug)]
pub struct Settings {
    /// Those of each site; one at least.
    pub sites: Vec<SiteSettings>,
    /// Where it listens.
    pub(crate) addresses: Addresses,
    /// TLS, if there is a certificate.
    pub(crate) tls: Option<Tls>,
    /// The certificates, for people, one line each.
    pub certificates: Vec<String>,
    /// Those of the access log, if there is one.
    pub(crate) access_log: Option<salver_access_log::Settings>,
    /// The proxies that are believed who the client is.
    pub(crate) proxies: Proxies,
    /// Bounds of connections.
    pub(crate) limits: Limits,
    /// Threads; `None`: nobody knows how many cores there are.
    pub workers: Option<usize>,
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

/// The versions of HTTP and the bounds of connections, and what all answers have.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) http1: bool,
    pub(crate) http2: bool,
    pub(crate) max_connections: usize,
    pub(crate) max_connections_per_client: usize,
    pub(crate) idle_timeout: Duration,
    pub(crate) header_timeout: Duration,
    pub(crate) send_timeout: Duration,
    pub(crate) answer_timeout: Duration,
    pub(crate) drain: Duration,
    /// True if answers say how the cache had them.
    pub(crate) cache_status: bool,
}

impl Settings {
    /// The names of the sites, in their order; a site alone needs none.
    pub(crate) fn site_names(&self) -> Vec<String> {
        let name = |site: &SiteSettings| match self.sites.len() {
            1 => String::new(),
            _ => site.name().to_owned(),
        };
        self.sites.iter().map(name).collect()
    }

    /// Checks a configuration against itself, this system and the file system.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub fn new(configuration: &Configuration) -> Result<Self, Failure> {
        absences::refuse(configuration)?;
        let server = &configuration.server;
        check_memory(configuration)?;
        check_ports(server)?;
        let limits = limits(server)?;
        let tls = tls::read(configuration, limits.protocols())?;
        let addresses = addresses(server, tls.as_ref())?;
        // No kernel sends from files here.
        let most = cache_max_file(Transport::PassesThrough);
        let read = |site| SiteSettings::new(configuration, site, most);
        let sites = configuration.sites.iter().map(read);
        let mut sites = sites.collect::<Result<Vec<_>, _>>()?;
        for site in &mut sites {
            let engine = &mut site.engine;
            engine.sendfile_from = engine.sendfile_from.max(engine.cache_max_file);
        }
        let told = tls.as_ref();
        let told = told.map(|tls| (tls.certificates.clone(), tls.warnings.clone()));
        let (certificates, mut warnings) = told.unwrap_or_default();
        for site in &sites {
            let label = match sites.len() {
                1 => String::new(),
                _ => format!("{}: ", site.label()),
            };
            warnings.extend(
                site.warnings
                    .iter()
                    .map(|warning| format!("{label}{warning}")),
            );
        }
        Ok(Settings {
            kept_codings: KeptCodings::new(configuration, &sites)?,
            prewarm: *server.prewarm && sites.iter().any(|site| site.engine.cache),
            sites,
            addresses,
            certificates,
            tls,
            access_log: log_settings(server)?,
            proxies: proxies(server)?,
            limits,
            workers: server.workers.map(usize::from),
            warnings,
            statistics: *server.statistics,
            quiet: *server.quiet,
        })
    }
}

/// The addresses that the configuration says, those with TLS apart.
fn addresses(server: &Server, tls: Option<&Tls>) -> Result<Addresses, Failure> {
    let at_ports = addresses_at(&server.host, &server.port)?;
    let http = addresses_at(&server.host, &server.http_port)?;
    Ok(match tls {
        Some(tls) => Addresses {
            https: at_ports,
            http,
            redirects: tls.redirects.clone(),
        },
        None => Addresses {
            http: [at_ports, http].concat(),
            ..Addresses::default()
        },
    })
}

impl Limits {
    /// The versions of HTTP, as ALPN names them, the best first.
    fn protocols(&self) -> &'static [&'static [u8]] {
        match (self.http1, self.http2) {
            (true, false) => &[b"http/1.1"],
            (false, true) => &[b"h2"],
            (true, true) | (false, false) => &[b"h2", b"http/1.1"],
        }
    }
}

fn limits(server: &Server) -> Result<Limits, Failure> {
    if !*server.http1 && !*server.http2 {
        return Err(Failure::Misused(format!(
            "{} and {} leave nothing to speak over TCP: drop one of them",
            server.http1.name(),
            server.http2.name()
        )));
    }
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let all = number(*server.max_connections);
    // One client cannot keep all others out.
    let of_client = server.max_connections_per_client.map_or(all / 2, number);
    Ok(Limits {
        http1: *server.http1,
        http2: *server.http2,
        max_connections: all,
        max_connections_per_client: of_client.max(1),
        idle_timeout: *server.idle_timeout,
        header_timeout: *server.header_timeout,
        send_timeout: *server.send_timeout,
        answer_timeout: *server.answer_timeout,
        drain: *server.drain,
        cache_status: *server.cache_status,
    })
}
