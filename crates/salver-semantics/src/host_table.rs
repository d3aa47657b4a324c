//! The hosts of sites: which of them a request is for (RFC 9110 section 7.2).

use core::net::Ipv6Addr;
use std::collections::HashMap;

/// The longest name that a host of a table can have, in bytes (RFC 1035 section 2.3.4). Longer ones are no host's, and
/// cost no more than to be measured.
const LONGEST: usize = 253;

/// Values by host: by the whole name or address, or by what a name ends with, of which the longest counts.
///
/// Hosts are compared in any case, without their port and without the dot that a full name may end with; addresses of
/// IPv6 by what they mean. A look-up allocates nothing.
#[derive(Clone, Debug)]
pub struct HostTable<T> {
    exact: HashMap<Box<[u8]>, T>,
    addresses: HashMap<Ipv6Addr, T>,
    below: HashMap<Box<[u8]>, T>,
    /// The length of the longest name in `below`.
    longest_below: usize,
}

impl<T> Default for HostTable<T> {
    fn default() -> Self {
        HostTable {
            exact: HashMap::new(),
            addresses: HashMap::new(),
            below: HashMap::new(),
            longest_below: 0,
        }
    }
}

impl<T> HostTable<T> {
    /// Adds a host: a name or an address, that of IPv6 in brackets, or `*.` and a name for all names below that.
    /// Returns the value that it had.
    pub fn insert(&mut self, host: &str, value: T) -> Option<T> {
        let host = host.to_ascii_lowercase();
        if let Some(below) = host.strip_prefix("*.") {
            let below = below.as_bytes();
            self.longest_below = self.longest_below.max(below.len());
            return self.below.insert(below.into(), value);
        }
        match literal(host.as_bytes()) {
            Some(address) => self.addresses.insert(address, value),
            None => self.exact.insert(host.as_bytes().into(), value),
        }
    }

    /// The value for the host of an authority, which may have a port; that of the host itself before that of what it
    /// ends with.
    pub fn find(&self, authority: &[u8]) -> Option<&T> {
        let host = host_of(authority);
        if host.first() == Some(&b'[') {
            return self.addresses.get(&literal(host)?);
        }
        let mut buffer = [0; LONGEST];
        let name = buffer.get_mut(..host.len())?;
        name.copy_from_slice(host);
        name.make_ascii_lowercase();
        let name = &*name;
        self.exact.get(name).or_else(|| self.find_below(name))
    }

    /// True if the host of an authority has a value of its own, and not only what it ends with.
    pub fn has(&self, authority: &[u8]) -> bool {
        let host = host_of(authority);
        match host.first() {
            Some(b'[') => {
                literal(host).is_some_and(|address| self.addresses.contains_key(&address))
            }
            _ => host.len() <= LONGEST && self.exact.contains_key(&*host.to_ascii_lowercase()),
        }
    }

    /// The value for the longest end of a name, which is in lower case.
    fn find_below(&self, name: &[u8]) -> Option<&T> {
        // What is longer than all of them need not be looked up.
        let from = name.len().saturating_sub(self.longest_below + 1);
        let ends = name.iter().enumerate().skip(from);
        let mut ends = ends.filter(|(at, byte)| **byte == b'.' && *at > 0);
        if self.below.is_empty() {
            return None;
        }
        ends.find_map(|(dot, _)| self.below.get(name.get(dot + 1..)?))
    }
}

/// The host of an authority: without its port, and without the dot that a full name may end with.
pub fn host_of(authority: &[u8]) -> &[u8] {
    let end = match authority {
        [b'[', ..] => authority
            .iter()
            .position(|byte| *byte == b']')
            .map(|at| at + 1),
        _ => authority.iter().position(|byte| *byte == b':'),
    };
    let host = end.and_then(|end| authority.get(..end));
    let host = host.unwrap_or(authority);
    host.strip_suffix(b".").unwrap_or(host)
}

/// The address in brackets.
fn literal(host: &[u8]) -> Option<Ipv6Addr> {
    let inner = host.strip_prefix(b"[")?.strip_suffix(b"]")?;
    core::str::from_utf8(inner).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(hosts: &[&str]) -> HostTable<String> {
        let mut table = HostTable::default();
        for host in hosts {
            table.insert(host, (*host).to_owned());
        }
        table
    }

    #[test]
    fn the_host_itself_goes_before_the_longest_end() {
        let table = table(&[
            "example.org",
            "*.example.org",
            "*.a.example.org",
            "www.example.org",
            "192.0.2.1",
            "[2001:DB8::1]",
            "localhost",
        ]);
        let check = |authority: &str, expected: Option<&str>| {
            let found = table.find(authority.as_bytes()).map(|host| &**host);
            assert_eq!(found, expected, "{authority}");
            let is_whole = expected.is_some_and(|host| !host.starts_with('*'));
            assert_eq!(table.has(authority.as_bytes()), is_whole, "{authority}");
        };
        check("example.org", Some("example.org"));
        check("EXAMPLE.org.:8443", Some("example.org"));
        check("example.org.", Some("example.org"));
        check("example.org..", None);
        check("www.example.org:80", Some("www.example.org"));
        check("x.www.example.org", Some("*.example.org"));
        check("x.A.example.org", Some("*.a.example.org"));
        check("x.y.a.example.org", Some("*.a.example.org"));
        check("a.example.org", Some("*.example.org"));
        check("xexample.org", None);
        check(".example.org", None);
        check("..example.org", Some("*.example.org"));
        check("192.0.2.1:80", Some("192.0.2.1"));
        check("[2001:db8::1]", Some("[2001:DB8::1]"));
        check("[2001:0db8:0::0001]:8443", Some("[2001:DB8::1]"));
        check("[2001:db8::2]", None);
        check("[2001:db8::1", None);
        check("[v1.x]", None);
        check("localhost", Some("localhost"));
        check("", None);
        check(".", None);
        check(":80", None);
        check("*.example.org", Some("*.example.org"));
    }

    #[test]
    fn a_host_of_any_length_is_looked_up() {
        let table = table(&["*.a", "*.example.org"]);
        for length in [
            LONGEST - 2,
            LONGEST - 1,
            LONGEST,
            LONGEST + 1,
            8_192,
            1 << 20,
        ] {
            let name = format!("{}.a", "x".repeat(length - 2));
            let dots = format!("{}.a", ".x".repeat(length / 2));
            for name in [name, dots] {
                let found = table.find(name.as_bytes()).is_some();
                assert_eq!(found, name.len() <= LONGEST, "{length}");
            }
        }
    }

    /// The value that a search through all hosts finds.
    fn search<'h>(hosts: &'h [String], authority: &str) -> Option<&'h str> {
        let host = authority.split(':').next().unwrap().to_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let whole = hosts.iter().find(|known| *known == host);
        let ends = hosts.iter().filter(|known| {
            let end = known.strip_prefix('*');
            end.is_some_and(|end| host.len() > end.len() && host.ends_with(end))
        });
        let longest = ends.max_by_key(|known| known.len());
        whole.or(longest).map(String::as_str)
    }

    proptest! {
        #[test]
        fn the_table_finds_what_a_search_finds(
            hosts in proptest::collection::hash_set("(\\*\\.)?[ab](\\.[ab]){0,3}", 0..12),
            names in proptest::collection::vec("[abAB](\\.?[abAB]){0,4}\\.?(:8)?", 1..20),
        ) {
            let hosts: Vec<String> = hosts.into_iter().collect();
            let all: Vec<&str> = hosts.iter().map(String::as_str).collect();
            let table = table(&all);
            for name in names {
                let found = table.find(name.as_bytes()).map(String::as_str);
                prop_assert_eq!(found, search(&hosts, &name), "{}", name);
            }
        }

        #[test]
        fn no_authority_is_too_much(authority in proptest::collection::vec(any::<u8>(), 0..300)) {
            let table = table(&["*.a", "a", "[::1]"]);
            let _ = table.find(&authority);
        }
    }
}
