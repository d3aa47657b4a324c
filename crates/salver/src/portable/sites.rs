//! The sites of a server: which of them a request is for.

use std::time::Duration;

use http::HeaderValue;
use http::header::HOST;
use http::request::Parts;
use salver_assets::{Destination, Engine, HostTable, Prewarmed, Statistics};
use salver_tower::Assets;

use crate::failure::Failure;
use crate::kept_codings::with_kept_codings;
use crate::portable::tls::Tls;
use crate::settings::Settings;

/// The sites that are served, which share one cache.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<Site>,
    hosts: HostTable<usize>,
    /// The number of the one for hosts that no site has.
    other: usize,
}

/// A site that is served.
#[derive(Debug)]
pub(crate) struct Site {
    /// Its number, from 0.
    pub(crate) number: usize,
    pub(crate) assets: Assets,
    /// The field of answers over TLS by which browsers use nothing else (RFC 6797).
    pub(crate) hsts: Option<HeaderValue>,
    engine: Engine,
}

impl Sites {
    /// The sites of these settings.
    ///
    /// # Errors
    /// What of a site cannot work.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        let mut all: Vec<Site> = Vec::with_capacity(settings.sites.len());
        let mut hosts = HostTable::default();
        for (number, site) in settings.sites.iter().enumerate() {
            let engine = match all.first() {
                None => Engine::new(with_kept_codings(site, settings.kept_codings.as_ref())),
                Some(first) => first.engine.beside(site.engine.clone()),
            };
            let engine = engine.map_err(|error| site.failure(&error.to_string()))?;
            all.push(Site {
                number,
                assets: Assets::from_engine(engine.clone()),
                hsts: site.hsts.and_then(hsts),
                engine,
            });
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

    /// The site that a request is for; `None` if its connection, which was made for `server_name`, is for another.
    pub(crate) fn find(
        &self,
        head: &Parts,
        server_name: Option<&str>,
        tls: Option<&Tls>,
    ) -> Option<&Site> {
        let number = match &*self.all {
            [_] => 0,
            _ => {
                let shows_same = |name: &str, authority: &[u8]| {
                    tls.is_some_and(|tls| tls.shows_same(name, authority))
                };
                let destination = Destination {
                    authority: authority(head),
                    server_name,
                };
                destination.site(&self.hosts, self.other, shows_same)?
            }
        };
        self.all.get(number)
    }

    /// Fills the cache. May wait.
    pub(crate) fn prewarm(&self) -> Prewarmed {
        let mut all = Prewarmed::default();
        for site in &self.all {
            let Prewarmed { files, bytes, full } = site.engine.prewarm();
            all.files += files;
            all.bytes = all.bytes.max(bytes);
            all.full |= full;
        }
        all
    }

    /// The counters of the cache that all sites share.
    pub(crate) fn statistics(&self) -> Option<Statistics> {
        self.all.first().map(|site| site.engine.statistics())
    }
}

/// The authority of a request: that of its target, or else that of its field (RFC 9112 section 3.2.2).
pub(crate) fn authority(head: &Parts) -> &[u8] {
    match head.uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => head
            .headers
            .get(HOST)
            .map_or(&b""[..], HeaderValue::as_bytes),
    }
}

/// The value of `Strict-Transport-Security` for this time.
pub(crate) fn hsts(time: Duration) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("max-age={}", time.as_secs())).ok()
}
