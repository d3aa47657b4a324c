//! The sites of a server: which of them a request is for, and its engine.

use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Engine, ResponsePlan};
pub(crate) use salver_semantics::Destination;
use salver_semantics::{HostTable, MISDIRECTED};

use crate::settings::TlsSettings;

/// A site: what is shown to whoever asks for one of its hosts.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its hosts: names and addresses, that of IPv6 in brackets, and `*.example.org` for all names below one. The
    /// first site without any is for all hosts that no other has, else the first site is.
    pub hosts: Vec<String>,
    /// Its engine. Those of all sites are made [beside](Engine::beside) the first, so that they share one cache.
    pub engine: Engine,
    /// The time for which clients shall use nothing but TLS with its hosts; instead of
    /// [`TlsSettings::hsts`](crate::TlsSettings::hsts).
    pub hsts: Option<Duration>,
    /// The number of its name in [`Settings::site_names`](crate::Settings::site_names), by which its requests are
    /// counted and logged; 0 without a name.
    pub label: u16,
}

/// The sites of a server; clones share them. An [`Engine`] alone is one, for all hosts.
#[derive(Clone, Debug)]
pub struct Sites {
    first: ServedSite,
    /// All of them by their hosts; `None` if there is no other.
    by_host: Option<Arc<SitesByHost>>,
    /// The times of [`Site::hsts`], each once.
    hsts: Arc<[Option<Duration>]>,
}

#[derive(Debug)]
struct SitesByHost {
    sites: Vec<ServedSite>,
    /// The numbers of sites by their hosts.
    hosts: HostTable<usize>,
    /// The number of the one for hosts that no site has.
    other: usize,
}

/// A site as requests find it.
#[derive(Clone, Debug)]
pub(crate) struct ServedSite {
    pub(crate) engine: Engine,
    /// The number that its answers have for the fields that a listener adds: 0 for those of the server, else one more
    /// than that of its time in [`Sites::hsts`].
    pub(crate) fields: u16,
    /// The number of its name.
    pub(crate) label: u16,
}

impl ServedSite {
    /// Notes in an answer that it is of this site.
    #[inline]
    pub(crate) fn mark(&self, plan: &mut ResponsePlan) {
        plan.driver_fields = self.fields;
        plan.driver_site = self.label;
    }
}

impl From<Engine> for Sites {
    fn from(engine: Engine) -> Self {
        Sites {
            first: ServedSite {
                engine,
                fields: 0,
                label: 0,
            },
            by_host: None,
            hsts: Arc::new([]),
        }
    }
}

impl Sites {
    /// These sites. Of two with the same host the last has it.
    ///
    /// `None` if there is none.
    pub fn new(sites: Vec<Site>) -> Option<Self> {
        let other = sites.iter().position(|site| site.hosts.is_empty());
        let mut hosts = HostTable::default();
        let (mut served, mut hsts) = (Vec::with_capacity(sites.len()), Vec::new());
        for (number, site) in sites.into_iter().enumerate() {
            for host in &site.hosts {
                hosts.insert(host, number);
            }
            let known = hsts.iter().position(|time| *time == site.hsts);
            let place = known.unwrap_or(hsts.len());
            if known.is_none() {
                hsts.push(site.hsts);
            }
            served.push(ServedSite {
                engine: site.engine,
                fields: u16::try_from(place + 1).unwrap_or(0),
                label: site.label,
            });
        }
        let first = served.first()?.clone();
        let by_host = (served.len() > 1).then(|| {
            Arc::new(SitesByHost {
                sites: served,
                hosts,
                other: other.unwrap_or(0),
            })
        });
        Some(Sites {
            first,
            by_host,
            hsts: hsts.into(),
        })
    }

    /// The engine of the first site. What it says of the cache as a whole, it says of all sites.
    pub fn first(&self) -> &Engine {
        &self.first.engine
    }

    /// The engines of all sites, in their order.
    pub fn engines(&self) -> impl Iterator<Item = &Engine> {
        let others = self.by_host.iter().flat_map(|all| all.sites.iter().skip(1));
        std::iter::once(&self.first)
            .chain(others)
            .map(|site| &site.engine)
    }

    /// The times for which clients shall use TLS alone, of which each answer has one by the number of its site's
    /// fields, counted from 1.
    pub(crate) fn hsts(&self) -> &[Option<Duration>] {
        &self.hsts
    }

    /// True if it takes the host of a request to find its site.
    pub(crate) fn are_several(&self) -> bool {
        self.by_host.is_some()
    }

    /// The site that a request is for, unless the connection is for another: then the request may have been meant for
    /// another server.
    #[inline]
    pub(crate) fn find<'a>(
        &self,
        destination: impl FnOnce() -> Destination<'a>,
        tls: Option<&TlsSettings>,
    ) -> Result<&ServedSite, Misdirected> {
        match &self.by_host {
            None => Ok(&self.first),
            Some(all) => all.find(destination(), tls),
        }
    }
}

impl SitesByHost {
    /// The site that a request is for, as [`Sites::find`] says.
    #[inline(never)]
    fn find(
        &self,
        destination: Destination<'_>,
        tls: Option<&TlsSettings>,
    ) -> Result<&ServedSite, Misdirected> {
        let shows_same = |name: &str, authority: &[u8]| {
            tls.is_some_and(|tls| tls.handshakes.shows_same(name, authority))
        };
        let number = destination.site(&self.hosts, self.other, shows_same);
        let site = number.and_then(|number| self.sites.get(number));
        site.ok_or(Misdirected)
    }
}

/// The refusal of a request that came over a connection which is for another site.
#[derive(Debug)]
pub(crate) struct Misdirected;

impl Misdirected {
    /// The answer (RFC 9110 section 15.5.20).
    pub(crate) fn plan(&self) -> ResponsePlan {
        ResponsePlan::error(421, MISDIRECTED, vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_assets::{Config, MemorySource, Mount, Source};

    fn engine() -> Engine {
        let source: Arc<dyn Source> = Arc::new(MemorySource::new());
        let config = Config {
            mounts: vec![Mount::tree("/", source)],
            ..Config::default()
        };
        Engine::new(config).unwrap()
    }

    fn sites(hosts: &[&[&str]]) -> Sites {
        let first = engine();
        let site = |hosts: &&[&str]| Site {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            engine: first.clone(),
            hsts: None,
            label: 0,
        };
        Sites::new(hosts.iter().map(site).collect()).unwrap()
    }

    /// The number of the site for an authority, without TLS.
    fn find(sites: &Sites, authority: &str) -> usize {
        let destination = || Destination {
            authority: authority.as_bytes(),
            server_name: None,
        };
        let found = sites.find(destination, None).unwrap();
        let mut all = sites.by_host.as_ref().unwrap().sites.iter();
        all.position(|site| std::ptr::eq(site, found)).unwrap()
    }

    #[test]
    fn the_site_without_hosts_is_for_all_others_or_the_first() {
        let check = |sites: &Sites, authority: &str, expected| {
            assert_eq!(find(sites, authority), expected, "{authority}");
        };
        let all = sites(&[&["a.test", "*.b.test"], &[], &["x.b.test"]]);
        check(&all, "A.test:8080", 0);
        check(&all, "y.b.test", 0);
        check(&all, "x.b.test.", 2);
        check(&all, "b.test", 1);
        check(&all, "", 1);
        check(&all, &"a".repeat(100_000), 1);
        let all = sites(&[&["a.test"], &["b.test"]]);
        check(&all, "b.test", 1);
        check(&all, "c.test", 0);
        check(&all, "", 0);
    }

    #[test]
    fn a_site_alone_is_found_without_its_host() {
        let nobody = || panic!("the host is not asked for");
        for sites in [sites(&[&["a.test"]]), Sites::from(engine())] {
            assert!(sites.find(nobody, None).is_ok() && !sites.are_several());
        }
        assert!(Sites::new(Vec::new()).is_none());
    }

    #[test]
    fn times_are_kept_once() {
        let year = Duration::from_secs(31_536_000);
        let site = |hsts| Site {
            hosts: Vec::new(),
            engine: engine(),
            hsts,
            label: 0,
        };
        let times = [None, Some(year), None, Some(year), Some(Duration::ZERO)];
        let sites = Sites::new(times.map(site).into()).unwrap();
        assert_eq!(sites.hsts(), [None, Some(year), Some(Duration::ZERO)]);
        let all = &sites.by_host.as_ref().unwrap().sites;
        let fields: Vec<u16> = all.iter().map(|site| site.fields).collect();
        assert_eq!(fields, [1, 2, 1, 2, 3]);
    }
}
