//! A server that runs, and its change to another configuration or to a new program.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use salver_access_log::Statistics as LogStatistics;
use salver_assets::Prewarmed;
use salver_config::{Configuration, Environment};
use salver_server::{Handle, InheritedSockets, Sites};

use crate::access_log::Logs;
use crate::admin::{Current, RunningAdmin};
use crate::failure::Failure;
use crate::live_reload::LiveReload;
use crate::previous;
use crate::process::handover::{Inheritance, Successor};
use crate::process::pid_file::PidFile;
use crate::process::sandbox::Sandbox;
use crate::process::service_manager::ServiceManager;
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::site_settings::SiteSettings;

/// The keys, or their tables with a dot, of what needs another process.
const OF_THE_PROCESS: [&str; 5] = ["process.", "workers", "quiet", "admin.", "live-reload"];

/// The keys, or their tables with a dot, of what files are not answered by: then the engine stays, with its cache.
const OF_THE_SERVER: [&str; 17] = [
    "drain",
    "statistics",
    "open",
    "host",
    "port",
    "http-port",
    "https-redirect",
    "tls.certificate",
    "tls.key",
    "tls.self-signed",
    "http1",
    "http2",
    "http3",
    "cache.prewarm",
    "cache.status",
    "limits.",
    "proxies.",
];

/// The table of the access log, which is no matter of the engine, either.
const OF_THE_LOG: &str = "log.";

/// True if a key is one of these, or in one of these tables.
fn is_of(all: &[&str], key: &str) -> bool {
    let is_in = |of: &&str| *of == key || of.ends_with('.') && key.starts_with(*of);
    all.iter().any(is_in)
}

/// A server that runs.
pub(crate) struct Running {
    pub(crate) flags: ServeFlags,
    pub(crate) environment: Environment,
    pub(crate) configuration: Configuration,
    pub(crate) settings: Settings,
    pub(crate) sites: Sites,
    pub(crate) logs: Logs,
    pub(crate) handle: Handle,
    pub(crate) admin: Option<RunningAdmin>,
    /// What the admin listener tells of.
    pub(crate) current: Arc<Current>,
    /// The addresses that the service manager has chosen, because the configuration says none.
    pub(crate) adopted: Option<Vec<SocketAddr>>,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) pid_file: Option<PidFile>,
    pub(crate) manager: Arc<ServiceManager>,
    pub(crate) program: PathBuf,
    /// What tells pages that files have changed, if they are to know.
    pub(crate) live_reload: Option<LiveReload>,
}

impl Running {
    /// Reads the configuration again and serves by it, or goes on as before and says why, in one line.
    ///
    /// # Errors
    /// Why nothing has changed.
    pub(crate) fn reload(&mut self) -> Result<String, String> {
        self.manager.is_reloading();
        if let Some(file) = &mut self.pid_file {
            file.begin();
        }
        let result = self.change().map_err(|failure| failure.to_string());
        match &result {
            Ok(text) => tracing::info!("{text}"),
            Err(why) => tracing::error!("nothing has changed: {why}"),
        }
        self.has_changed(&result);
        result
    }

    /// Says what came of a reload or an upgrade.
    pub(crate) fn has_changed(&mut self, result: &Result<String, String>) {
        if let Some(file) = &mut self.pid_file {
            file.end(result);
        }
        self.manager.is_ready(match result {
            Ok(text) => text,
            Err(why) => why,
        });
    }

    fn change(&mut self) -> Result<String, Failure> {
        // Limits that have changed since the start need another process: a sandbox hides them from this one.
        let machine = self.configuration.machine;
        let configuration = self.flags.configuration(&self.environment, machine);
        let configuration = configuration.map_err(first)?;
        let changed = configuration.changed_from(&self.configuration);
        if let Some(key) = changed.iter().find(|key| is_of(&OF_THE_PROCESS, key)) {
            return Err(Failure::Misused(format!(
                "{key} is another, which needs another process: restart it"
            )));
        }
        if let Some(sandbox) = &self.sandbox {
            sandbox.permits(&configuration)?;
        }
        let mut settings = Settings::new(&configuration)?;
        settings.server.workers = self.settings.server.workers;
        let before = &self.settings.server;
        settings.server.metrics.clone_from(&before.metrics);
        settings.server.site_names = Arc::clone(&before.site_names);
        if let Some(addresses) = &self.adopted {
            adopt(&mut settings.server, addresses);
        }
        let largest = |settings: &Settings| -> Vec<u64> {
            let sites = settings.sites.iter();
            sites.map(|site| site.engine.cache_max_file).collect()
        };
        let is_of_server = |key: &&str| is_of(&OF_THE_SERVER, key) || is_of(&[OF_THE_LOG], key);
        let keeps_sites =
            changed.iter().all(is_of_server) && largest(&settings) == largest(&self.settings);
        let sites = match keeps_sites {
            true => self.sites.clone(),
            false => settings.sites(Some(&self.sites))?,
        };
        if settings.prewarm && !keeps_sites {
            prewarm(&sites);
        }
        let log = match changed.iter().any(|key| is_of(&[OF_THE_LOG], key)) {
            true => self.logs.open(settings.access_log.as_ref())?,
            false => self.logs.current(),
        };
        let of_server = salver_server::Settings {
            access_log: log.clone(),
            ..settings.server.clone()
        };
        match keeps_sites {
            // The trees are the same, and go on.
            true => {
                for (site, before) in settings.sites.iter_mut().zip(&self.settings.sites) {
                    site.kept.clone_from(&before.kept);
                }
            }
            false => {
                let [trees, before] =
                    [&settings, &self.settings].map(|all| SiteSettings::kept_trees(&all.sites));
                previous::start(&trees, &before);
            }
        }
        let reloaded = self.handle.reload(sites.clone(), of_server);
        let reloaded = reloaded.map_err(|error| Failure::Failed(error.to_string()))?;
        self.current.set(
            (&sites, settings.site_names()),
            settings.cache_size(),
            log.clone(),
            (settings.stores(), settings.buckets()),
        );
        self.logs.set_current(log);
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        self.settings = settings;
        self.sites = sites;
        self.configuration = configuration;
        let addresses = reloaded.addresses.iter().chain(&reloaded.tls_addresses);
        let addresses: Vec<_> = addresses.map(ToString::to_string).collect();
        Ok(format!(
            "reloaded: {} at {}",
            match &*changed {
                [] => "nothing is another".to_owned(),
                changed => format!("with another {}", changed.join(", ")),
            },
            addresses.join(", ")
        ))
    }

    /// What starts a new program in the place of this one, on a thread that may wait.
    ///
    /// # Errors
    /// Why that cannot be tried.
    pub(crate) fn upgrade(
        &self,
    ) -> Result<impl FnOnce() -> Result<Successor, String> + Send + 'static, String> {
        if std::process::id() == 1 {
            return Err(
                "the end of the first process of a container is the end of the container: replace that instead"
                    .to_owned(),
            );
        }
        let mut sockets = self.handle.sockets().map_err(|error| error.to_string())?;
        if let Some(admin) = &self.admin {
            let more = admin.sockets().map_err(|error| error.to_string())?;
            sockets.listeners.extend(more.listeners);
            sockets.unix.extend(more.unix);
        }
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let program = self.program.clone();
        let inheritance = Inheritance {
            workers: self.settings.server.workers,
            machine: self.configuration.machine,
            sandbox: self.sandbox.clone(),
        };
        Ok(move || Successor::start(&program, &arguments, &sockets, &inheritance))
    }

    /// Ends what the server has written to; returns what became of the lines of its log.
    pub(crate) fn end(self, is_replaced: bool) -> Option<LogStatistics> {
        drop(self.admin);
        if let Some(file) = self.pid_file.filter(|_| !is_replaced) {
            file.remove();
        }
        self.logs.end()
    }
}

/// Listens at the addresses that a service manager has chosen.
pub(crate) fn adopt(settings: &mut salver_server::Settings, addresses: &[SocketAddr]) {
    #[cfg(feature = "tls")]
    if let Some(tls) = &mut settings.tls {
        tls.addresses = addresses.to_vec();
        return;
    }
    settings.addresses = addresses.to_vec();
}

/// The addresses of the sockets of a service manager, if the configuration leaves the choice to it.
///
/// # Errors
/// It gives one for an address that the configuration does not have.
pub(crate) fn adopted(
    configuration: &Configuration,
    settings: &salver_server::Settings,
    given: &InheritedSockets,
) -> Result<Option<Vec<SocketAddr>>, Failure> {
    let given = given.addresses();
    let server = &configuration.server;
    let is_said = server.host.is_said() || server.port.is_said() || server.http_port.is_said();
    if given.is_empty() {
        return Ok(None);
    }
    if !is_said {
        return Ok(Some(given));
    }
    #[cfg(feature = "tls")]
    let over_tls = settings.tls.iter();
    #[cfg(feature = "tls")]
    let over_tls = over_tls.flat_map(|tls| tls.addresses.iter().chain(&tls.redirects));
    #[cfg(not(feature = "tls"))]
    let over_tls = std::iter::empty();
    let configured: Vec<&SocketAddr> = settings.addresses.iter().chain(over_tls).collect();
    match given.iter().find(|address| !configured.contains(address)) {
        None => Ok(None),
        Some(address) => Err(Failure::Misused(format!(
            "the service manager gives a socket at {address}, which is not listened on: give {} and {} as it has \
             them, or neither",
            server.host.name(),
            server.port.name()
        ))),
    }
}

/// Warns of keys that this process cannot read again, so that their renewal would go unnoticed.
pub(crate) fn warn_of_unreadable(configuration: &Configuration) {
    for (key, path) in configuration.paths() {
        let is_read = key.starts_with("tls.");
        if let Err(error) = std::fs::File::open(&path)
            && is_read
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            tracing::warn!(
                "{path:?} cannot be read by this user: it is served, and its renewal needs a restart; let the group of \
                 the user read it"
            );
        }
    }
}

/// Fills the cache that all sites share.
pub(crate) fn prewarm(sites: &Sites) -> Prewarmed {
    let mut all = Prewarmed::default();
    for engine in sites.engines() {
        let Prewarmed { files, bytes, full } = engine.prewarm();
        all.files += files;
        all.bytes = all.bytes.max(bytes);
        all.full |= full;
    }
    all
}

/// The first of several failures, in one line that says how to hear of the others.
pub(crate) fn first(failures: Vec<Failure>) -> Failure {
    let more = failures.len().saturating_sub(1);
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Failure::Failed("the configuration cannot be read".to_owned());
    };
    match more {
        0 => first,
        more => first.and(more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_itself_or_in_its_table() {
        let check = |key: &str, expected: bool| assert_eq!(is_of(&OF_THE_SERVER, key), expected);
        check("host", true);
        check("hosts", false);
        check("limits.send-timeout", true);
        check("cache.status", true);
        check("cache.size", false);
        assert!(is_of(&OF_THE_PROCESS, "process.user"));
    }
}
