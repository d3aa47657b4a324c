//! Requests over a connection that was made for another site (RFC 9110 section 15.5.20).

use crate::host_table::{HostTable, host_of};

/// The text of the 421 that a misdirected request gets.
pub const MISDIRECTED: &str =
    "Misdirected Request: this connection is for another host, open one for this host";

/// The destination of a request: the host that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The authority of the request; empty if it names none.
    pub authority: &'a [u8],
    /// The host that the connection was made for, empty if the client named none; `None` without TLS.
    pub server_name: Option<&'a str>,
}

impl<'a> Destination<'a> {
    /// The number of the site that the request is for, of a table that has them by their hosts and that for all `other`
    /// hosts. `None` if the connection is for another: then the request may have been meant for another server, unless
    /// the client is shown the same certificate for both hosts, which `shows_same` knows.
    pub fn site(
        self,
        hosts: &HostTable<usize>,
        other: usize,
        shows_same: impl FnOnce(&str, &[u8]) -> bool,
    ) -> Option<usize> {
        let address = |authority: &[u8]| (*hosts.find(authority).unwrap_or(&other), ());
        self.find(address, shows_same).map(|(number, ())| number)
    }

    /// The number of the site that the request is for and what else `address` says of its authority, by the rule of
    /// [`site`](Self::site).
    pub fn find<T>(
        mut self,
        address: impl Fn(&'a [u8]) -> (usize, T),
        shows_same: impl FnOnce(&str, &[u8]) -> bool,
    ) -> Option<(usize, T)> {
        if let (b"", Some(name)) = (self.authority, self.server_name) {
            // HTTP/1.0 need not say it twice.
            self.authority = name.as_bytes();
        }
        let (number, rest) = address(self.authority);
        let is_its = self.is_of_connection()
            || self.server_name.is_none_or(|name| {
                address(name.as_bytes()).0 == number || shows_same(name, self.authority)
            });
        is_its.then_some((number, rest))
    }

    /// True if the request is for the host that the connection was made for, as nearly all are.
    fn is_of_connection(&self) -> bool {
        let name = self.server_name.map(str::as_bytes);
        name.is_some_and(|name| name.eq_ignore_ascii_case(host_of(self.authority)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_for_one_site() {
        let mut hosts = HostTable::default();
        for (number, host) in ["a.test", "b.test", "c.test"].into_iter().enumerate() {
            hosts.insert(host, number);
        }
        let check = |authority: &str, server_name: Option<&str>, same: bool, expected| {
            let destination = Destination {
                authority: authority.as_bytes(),
                server_name,
            };
            let found = destination.site(&hosts, 2, |_, _| same);
            assert_eq!(found, expected, "{authority} {server_name:?}");
        };
        check("a.test:80", None, false, Some(0));
        check("d.test", None, false, Some(2));
        check("A.test", Some("a.test"), false, Some(0));
        check("", Some("b.test"), false, Some(1));
        check("b.test", Some("a.test"), false, None);
        check("b.test", Some("a.test"), true, Some(1));
        check("b.test", Some(""), false, None);
        // Both are hosts that no site has.
        check("e.test", Some("d.test"), false, Some(2));
    }
}
