//! The sites of a server: which of them a request is for, and its engine.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Engine, ResponsePlan};
pub(crate) use salver_semantics::Destination;
use salver_semantics::{HostTable, MISDIRECTED};

use crate::release_addresses::{self, ReleaseAddresses};
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
    /// The addresses of its releases, if they have any.
    pub releases: Option<ReleaseAddresses>,
}

/// The sites of a server; clones share them. An [`Engine`] alone is one, for all hosts.
#[derive(Clone, Debug)]
pub struct Sites {
    first: ServedSite,
    /// All of them by their hosts; `None` if there is no other, and it has no releases with addresses of their own.
    by_host: Option<Arc<SitesByHost>>,
    /// The fields that answers of sites have, each set of them once.
    fields: Arc<[SiteFields]>,
}

/// The fields that the answers of a site have besides those of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiteFields {
    /// The time for which clients shall use nothing but TLS.
    pub(crate) hsts: Option<Duration>,
    /// True if search engines are not to show it.
    pub(crate) is_noindex: bool,
}

#[derive(Debug)]
struct SitesByHost {
    sites: Vec<ServedSite>,
    /// The numbers of sites by their hosts.
    hosts: HostTable<usize>,
    /// The number of the one for hosts that no site has.
    other: usize,
    /// True if releases of any site have hosts.
    have_release_hosts: bool,
}

/// A site as requests find it.
#[derive(Clone, Debug)]
pub(crate) struct ServedSite {
    pub(crate) engine: Engine,
    /// The number that its answers have for the fields that a listener adds: 0 for those of the server, else one more
    /// than that of its own in [`Sites::fields`].
    pub(crate) fields: u16,
    /// The number of its name.
    pub(crate) label: u16,
    /// Its releases, if they have addresses.
    releases: Option<Arc<ServedReleases>>,
}

/// The releases of a site as requests find them.
#[derive(Debug)]
struct ServedReleases {
    addresses: ReleaseAddresses,
    /// The number of the fields of their answers.
    fields: u16,
}

/// What a request is for.
#[derive(Debug)]
pub(crate) enum FoundSite<'s> {
    /// A site, as nearly all are.
    Site(&'s ServedSite),
    /// A release of one.
    Release(ServedRelease),
}

/// A release that a request is for.
#[derive(Debug)]
pub(crate) struct ServedRelease {
    /// The release as a site; its engine is that of its site if there is no such release.
    pub(crate) site: ServedSite,
    /// True if there can be such a release.
    pub(crate) is_known: bool,
    /// The length of the beginning of the path that is the path of the release, if it is found by that.
    pub(crate) prefix: usize,
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
                releases: None,
            },
            by_host: None,
            fields: Arc::new([]),
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
        let (mut served, mut fields) = (Vec::with_capacity(sites.len()), Vec::new());
        let mut number_of = |of: SiteFields| {
            let known = fields.iter().position(|known| *known == of);
            let place = known.unwrap_or(fields.len());
            if known.is_none() {
                fields.push(of);
            }
            u16::try_from(place + 1).unwrap_or(0)
        };
        for (number, site) in sites.into_iter().enumerate() {
            for host in &site.hosts {
                hosts.insert(host, number);
            }
            let of = |is_noindex| SiteFields {
                hsts: site.hsts,
                is_noindex,
            };
            served.push(ServedSite {
                engine: site.engine,
                fields: number_of(of(false)),
                label: site.label,
                releases: site.releases.map(|addresses| {
                    Arc::new(ServedReleases {
                        addresses,
                        fields: number_of(of(true)),
                    })
                }),
            });
        }
        let first = served.first()?.clone();
        let mut releases = served.iter().filter_map(|site| site.releases.as_ref());
        let have_releases = releases.clone().next().is_some();
        let have_release_hosts = releases.any(|releases| releases.addresses.are_by_host());
        let by_host = (served.len() > 1 || have_releases).then(|| {
            Arc::new(SitesByHost {
                sites: served,
                hosts,
                other: other.unwrap_or(0),
                have_release_hosts,
            })
        });
        Some(Sites {
            first,
            by_host,
            fields: fields.into(),
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

    /// The fields that answers have by the number of their site's fields, counted from 1.
    pub(crate) fn fields(&self) -> &[SiteFields] {
        &self.fields
    }

    /// True if it takes the host of a request to find its site.
    pub(crate) fn are_several(&self) -> bool {
        self.by_host.is_some()
    }

    /// The site, or the release of one, that a request for this path is for, unless the connection is for another: then
    /// the request may have been meant for another server.
    #[inline]
    pub(crate) fn find<'a>(
        &self,
        destination: impl FnOnce() -> Destination<'a>,
        path: &[u8],
        tls: Option<&TlsSettings>,
    ) -> Result<FoundSite<'_>, Misdirected> {
        match &self.by_host {
            None => Ok(FoundSite::Site(&self.first)),
            Some(all) => all.find(destination(), path, tls),
        }
    }
}

impl SitesByHost {
    /// The site that a request is for, as [`Sites::find`] says.
    #[inline(never)]
    fn find(
        &self,
        destination: Destination<'_>,
        path: &[u8],
        tls: Option<&TlsSettings>,
    ) -> Result<FoundSite<'_>, Misdirected> {
        let shows_same = |name: &str, authority: &[u8]| {
            tls.is_some_and(|tls| tls.handshakes.shows_same(name, authority))
        };
        let address = destination.find(|authority| self.address(authority), shows_same);
        let (number, release) = address.ok_or(Misdirected)?;
        let site = self.sites.get(number).ok_or(Misdirected)?;
        Ok(match &site.releases {
            None => FoundSite::Site(site),
            Some(releases) => site.find_release(releases, release, path),
        })
    }

    /// The number of the site that an authority is of, and the name of the release if it is of one. What is a host of a
    /// site is that before all else.
    fn address<'a>(&self, authority: &'a [u8]) -> (usize, Option<&'a str>) {
        let of = |authority: &[u8]| *self.hosts.find(authority).unwrap_or(&self.other);
        if self.have_release_hosts
            && let Some((name, host)) = release_addresses::of_host(authority)
            && !self.hosts.has(authority)
        {
            let site = of(host);
            let releases = self.sites.get(site).and_then(|site| site.releases.as_ref());
            if releases.is_some_and(|releases| releases.addresses.are_by_host()) {
                return (site, Some(name));
            }
        }
        (of(authority), None)
    }
}

impl ServedSite {
    /// This site, or the release of it that has this name as host, or this path.
    fn find_release(
        &self,
        releases: &ServedReleases,
        name: Option<&str>,
        path: &[u8],
    ) -> FoundSite<'_> {
        let (name, prefix) = match (name, releases.addresses.of_path(path)) {
            (Some(name), _) => (Some(name), 0),
            (None, Some(path)) => (path.name, path.prefix.len()),
            (None, None) => return FoundSite::Site(self),
        };
        // Hosts are compared in any case (RFC 9110 section 4.2.3).
        let name = name.map(str::to_ascii_lowercase);
        let engine = name.and_then(|name| releases.addresses.engine(&name));
        FoundSite::Release(ServedRelease {
            is_known: engine.is_some(),
            site: ServedSite {
                engine: engine.unwrap_or_else(|| self.engine.clone()),
                fields: releases.fields,
                label: self.label,
                releases: None,
            },
            prefix,
        })
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
