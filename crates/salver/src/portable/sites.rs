//! The sites of a server: which of them a request is for.

use http::Request;
use http::header::HOST;
use salver_assets::{Engine, HostTable, Prewarmed, Statistics};
use salver_tower::Assets;

use crate::failure::Failure;
use crate::kept_codings::with_kept_codings;
use crate::settings::Settings;

/// The sites that are served, which share one cache.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<(Engine, Assets)>,
    hosts: HostTable<usize>,
    /// The number of the one for hosts that no site has.
    other: usize,
}

impl Sites {
    /// The sites of these settings.
    ///
    /// # Errors
    /// What of a site cannot work.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        let mut all: Vec<(Engine, Assets)> = Vec::with_capacity(settings.sites.len());
        let mut hosts = HostTable::default();
        for (number, site) in settings.sites.iter().enumerate() {
            let engine = match all.first() {
                None => Engine::new(with_kept_codings(site, settings.kept_codings.as_ref())),
                Some((first, _)) => first.beside(site.engine.clone()),
            };
            let engine = engine.map_err(|error| site.failure(&error.to_string()))?;
            all.push((engine.clone(), Assets::from_engine(engine)));
            for host in &site.hosts {
                hosts.insert(host, number);
            }
        }
        let other = settings.sites.iter().position(|site| site.hosts.is_empty());
        Ok(Sites {
            all,
            hosts,
            other: other.unwrap_or(0),
        })
    }

    /// The site that a request is for.
    pub(crate) fn find<B>(&self, request: &Request<B>) -> Option<Assets> {
        let number = match &*self.all {
            [_] => 0,
            _ => {
                let field = request.headers().get(HOST);
                let authority = match request.uri().authority() {
                    Some(authority) => authority.as_str().as_bytes(),
                    None => field.map_or(&b""[..], |host| host.as_bytes()),
                };
                *self.hosts.find(authority).unwrap_or(&self.other)
            }
        };
        self.all.get(number).map(|(_, assets)| assets.clone())
    }

    /// Fills the cache. May wait.
    pub(crate) fn prewarm(&self) -> Prewarmed {
        let mut all = Prewarmed::default();
        for (engine, _) in &self.all {
            let Prewarmed { files, bytes, full } = engine.prewarm();
            all.files += files;
            all.bytes = all.bytes.max(bytes);
            all.full |= full;
        }
        all
    }

    /// The counters of the cache that all sites share.
    pub(crate) fn statistics(&self) -> Option<Statistics> {
        self.all.first().map(|(engine, _)| engine.statistics())
    }
}
