//! `--host`: names and addresses to what is listened on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use salver_config::Setting;

use crate::failure::Failure;

/// A host without the brackets that an address has in a URL.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host)
}

/// All addresses that hosts stand for, each once; one that stands for every interface takes the
/// place of those that it covers. `name` is what the setting is called that has the hosts.
fn addresses(name: &str, hosts: &[String], port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for host in hosts {
        let unknown = || {
            Failure::Misused(format!(
                "{name} {host:?} stands for no address: give one such as 127.0.0.1 or 0.0.0.0"
            ))
        };
        if bare(host).is_empty() {
            // To Windows that is this machine by its name.
            return Err(unknown());
        }
        let found = (bare(host), port).to_socket_addrs();
        let before = all.len();
        all.extend(found.map_err(|_| unknown())?);
        if all.len() == before {
            return Err(unknown());
        }
    }
    let any = |ip: IpAddr| all.iter().any(|address| address.ip() == ip);
    let any_v4 = any(Ipv4Addr::UNSPECIFIED.into());
    let any_v6 = any(Ipv6Addr::UNSPECIFIED.into());
    let mut each: Vec<SocketAddr> = Vec::new();
    for address in all {
        let covered = match address {
            SocketAddr::V4(_) => any_v4 || any_v6,
            SocketAddr::V6(_) => any_v6,
        };
        if !(covered && !address.ip().is_unspecified() || each.contains(&address)) {
            each.push(address);
        }
    }
    Ok(each)
}

/// The addresses that hosts stand for, at each of these ports.
pub(crate) fn addresses_at(
    hosts: &Setting<Vec<String>>,
    ports: &[u16],
) -> Result<Vec<SocketAddr>, Failure> {
    let name = hosts.name();
    let all = ports.iter().map(|&port| addresses(&name, hosts, port));
    Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_give_each_of_their_addresses_once() {
        fn check(host: &str, expected: &[&str]) {
            let hosts: Vec<_> = host.split(' ').map(str::to_owned).collect();
            let found = addresses("--host", &hosts, 80).unwrap_or_default();
            let expected: Vec<SocketAddr> = expected.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(found, expected, "{host:?}");
        }
        check("127.0.0.1", &["127.0.0.1:80"]);
        check("0.0.0.0", &["0.0.0.0:80"]);
        check("::1", &["[::1]:80"]);
        check("[::1]", &["[::1]:80"]);
        check("", &[]);
        check("[]", &[]);
        check("127.0.0.1:80", &[]);
        check("127.0.0.1 ::1", &["127.0.0.1:80", "[::1]:80"]);
        check("127.0.0.1 [::1] 127.0.0.1", &["127.0.0.1:80", "[::1]:80"]);
        check("127.0.0.1 nowhere.invalid", &[]);
        // What every interface covers needs no socket of its own.
        check("0.0.0.0 127.0.0.1 ::1", &["0.0.0.0:80", "[::1]:80"]);
        check("127.0.0.1 :: ::1", &["[::]:80"]);
        check(":: 0.0.0.0 127.0.0.1", &["[::]:80", "0.0.0.0:80"]);
        let mut found = addresses("--host", &["localhost".to_owned()], 80).unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()));
        let count = found.len();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count);
    }
}
