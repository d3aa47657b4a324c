//! The choice of a certificate for a client.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use salver_semantics::HostTable;

use crate::pair::Pair;

/// The certificates at one moment, at least one.
#[derive(Debug)]
pub(crate) struct CertificateSet {
    pairs: Vec<Arc<Pair>>,
    /// The indices of those for a name.
    exact: HashMap<String, Vec<usize>>,
    /// The indices of those for any one label before a name.
    wildcard: HashMap<String, Vec<usize>>,
    by_site: Arc<PairsBySite>,
}

/// The indices of the certificates of each site, the site's first one first.
#[derive(Debug, Default)]
pub(crate) struct PairsBySite {
    /// Empty for a site that may show those of all.
    sites: Vec<Vec<usize>>,
    hosts: HostTable<usize>,
    /// The site of hosts that no site has.
    other: usize,
}

impl PairsBySite {
    /// The indices of sites with these hosts.
    pub(crate) fn new(sites: Vec<(Vec<String>, Vec<usize>)>) -> Self {
        let other = sites.iter().position(|(hosts, _)| hosts.is_empty());
        let mut table = HostTable::default();
        for (number, (hosts, _)) in sites.iter().enumerate() {
            for host in hosts {
                table.insert(host, number);
            }
        }
        PairsBySite {
            sites: sites.into_iter().map(|(_, pairs)| pairs).collect(),
            hosts: table,
            other: other.unwrap_or(0),
        }
    }

    /// The indices of the site for a name; `None` if it may show those of all.
    fn of(&self, name: &str) -> Option<&[usize]> {
        let site = *self.hosts.find(name.as_bytes()).unwrap_or(&self.other);
        let own = self.sites.get(site).map(Vec::as_slice);
        own.filter(|own| !own.is_empty())
    }
}

impl CertificateSet {
    pub(crate) fn new(pairs: Vec<Arc<Pair>>, by_site: Arc<PairsBySite>) -> Self {
        let (mut exact, mut wildcard) = (HashMap::new(), HashMap::new());
        for (number, pair) in pairs.iter().enumerate() {
            for name in &pair.names {
                let (table, name) = match name.strip_prefix("*.") {
                    Some(rest) => (&mut wildcard, rest),
                    None => (&mut exact, &**name),
                };
                let all: &mut Vec<usize> = table.entry(name.to_owned()).or_default();
                all.push(number);
            }
        }
        CertificateSet {
            pairs,
            exact,
            wildcard,
            by_site,
        }
    }

    /// The same set with another pair in the place of this number.
    pub(crate) fn with(&self, number: usize, pair: Pair) -> Self {
        let mut pairs = self.pairs.clone();
        if let Some(place) = pairs.get_mut(number) {
            *place = Arc::new(pair);
        }
        CertificateSet::new(pairs, Arc::clone(&self.by_site))
    }

    pub(crate) fn pairs(&self) -> &[Arc<Pair>] {
        &self.pairs
    }

    /// The certificate for a name: of those of its site that have it, rather by itself than by a wildcard,
    /// the first whose signatures the client knows. The first of its site where the client names no host,
    /// or one that no certificate is for.
    pub(crate) fn choose(
        &self,
        name: Option<&str>,
        usable: impl Fn(&Pair) -> bool,
    ) -> Option<&Arc<Pair>> {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        // The wildcard stands for the whole left-most label and nothing else (RFC 9525 section
        // 6.3).
        let labels = name.split_once('.');
        let parent = labels.map_or("", |(label, parent)| match label {
            "" => "",
            _ => parent,
        });
        let exact = self.exact.get(&name).into_iter().flatten();
        let wildcard = self.wildcard.get(parent).into_iter().flatten();
        let of_site = self.by_site.of(&name);
        let mut named = exact
            .chain(wildcard)
            .filter(|number| of_site.is_none_or(|own| own.contains(number)))
            .filter_map(|number| self.pairs.get(*number));
        let first = of_site.and_then(|own| own.first()).unwrap_or(&0);
        let first = named.clone().next().or(self.pairs.get(*first));
        named.find(|pair| usable(pair)).or(first)
    }
}

/// The resolver that gives each handshake the certificate for the host that it names, of the current set.
#[derive(Debug)]
pub(crate) struct CertificateResolver(ArcSwap<CertificateSet>);

impl CertificateResolver {
    pub(crate) fn new(set: CertificateSet) -> Self {
        CertificateResolver(ArcSwap::from_pointee(set))
    }

    /// The current set.
    pub(crate) fn set(&self) -> Arc<CertificateSet> {
        self.0.load_full()
    }

    /// Replaces the set; handshakes and connections that have begun keep what they have.
    pub(crate) fn replace(&self, set: CertificateSet) {
        self.0.store(Arc::new(set));
    }
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = client_hello.signature_schemes();
        let usable = |pair: &Pair| pair.key.key.choose_scheme(schemes).is_some();
        let set = self.0.load();
        let pair = set.choose(client_hello.server_name(), usable)?;
        Some(Arc::clone(&pair.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_signed;

    fn pair(names: &[&str]) -> Arc<Pair> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(self_signed::pair(&names).unwrap())
    }

    /// The certificates of one site.
    fn set(pairs: Vec<Arc<Pair>>) -> CertificateSet {
        CertificateSet::new(pairs, Arc::default())
    }

    #[test]
    fn a_site_shows_its_own_certificates() {
        let pairs = vec![
            pair(&["*.test", "shared.test"]),
            pair(&["elsewhere.example"]),
            pair(&["b.test"]),
        ];
        let site = |hosts: &[&str], pairs: &[usize]| {
            let hosts = hosts.iter().map(|host| (*host).to_owned());
            (hosts.collect::<Vec<_>>(), pairs.to_vec())
        };
        let by_site = PairsBySite::new(vec![
            site(&["a.test"], &[0]),
            site(&["b.test", "*.b.test"], &[1, 2]),
            site(&[], &[2]),
            site(&["all.test"], &[]),
        ]);
        let set = CertificateSet::new(pairs, Arc::new(by_site));
        let check = |name: Option<&str>, expected: usize| {
            let found = set.choose(name, |_| true).unwrap();
            assert!(Arc::ptr_eq(found, &set.pairs()[expected]), "{name:?}");
        };
        check(Some("a.test"), 0);
        check(Some("b.test"), 2);
        // No certificate of its own has the name: then its first, and none of another site.
        check(Some("x.b.test"), 1);
        check(Some("other.test"), 2);
        check(None, 2);
        check(Some("all.test"), 0);
    }

    #[test]
    fn the_name_chooses_and_the_first_stands_for_the_rest() {
        let set = set(vec![
            pair(&["default.test", "127.0.0.1"]),
            pair(&["*.example.test"]),
            pair(&["www.example.test", "Example.TEST"]),
            pair(&["*.b.example.test", "f*.partial.test"]),
        ]);
        let check = |name: Option<&str>, expected: usize| {
            let found = set.choose(name, |_| true).unwrap();
            let expected = &set.pairs()[expected];
            assert!(Arc::ptr_eq(found, expected), "{name:?}: {:?}", found.names);
        };
        check(None, 0);
        check(Some("default.test"), 0);
        check(Some("unknown.test"), 0);
        check(Some("127.0.0.1"), 0);
        check(Some("a.example.test"), 1);
        check(Some("A.EXAMPLE.test"), 1);
        // By itself before by a wildcard.
        check(Some("www.example.test"), 2);
        check(Some("example.test"), 2);
        check(Some("EXAMPLE.test"), 2);
        // One label, and a whole one.
        check(Some("x.a.example.test"), 0);
        check(Some("x.b.example.test"), 3);
        check(Some("b.example.test"), 1);
        check(Some(".example.test"), 0);
        check(Some("foo.partial.test"), 0);
        check(Some("*.example.test"), 1);
        check(Some(""), 0);
        check(Some("."), 0);
    }

    #[test]
    fn of_two_for_one_name_the_client_gets_what_it_can_verify() {
        let set = set(vec![
            pair(&["other.test"]),
            pair(&["both.test"]),
            pair(&["both.test"]),
        ]);
        let check = |usable: &[usize], expected: usize| {
            let can = |pair: &Pair| {
                let number = set
                    .pairs()
                    .iter()
                    .position(|one| std::ptr::eq(&**one, pair));
                usable.contains(&number.unwrap())
            };
            let found = set.choose(Some("both.test"), can).unwrap();
            assert!(Arc::ptr_eq(found, &set.pairs()[expected]), "{usable:?}");
        };
        check(&[0, 1, 2], 1);
        check(&[0, 2], 2);
        // None: the handshake fails with the right one.
        check(&[], 1);
        check(&[0], 1);
    }
}
