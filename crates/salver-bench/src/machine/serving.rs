//! The processes of this machine that serve at an address: from the sockets that `/proc/net`
//! lists and the open files of each process.
//!
//! The CPU of a server is then known to be the server's, although nobody named its process.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, UdpSocket};

use crate::machine::process_table::ids;

/// Where the server is, as far as it can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On another machine.
    Elsewhere,
    /// On this one, in a process that this one may not look at, or in a container.
    Hidden,
    /// In these processes of this machine.
    Here(Vec<u32>),
}

/// Where the server at `address` is; `udp` if it is asked by HTTP/3.
pub(crate) fn place(address: SocketAddr, udp: bool) -> Place {
    // Only an address of this machine can be bound.
    if UdpSocket::bind((address.ip(), 0)).is_err() {
        return Place::Elsewhere;
    }
    let (files, state) = match udp {
        true => (["/proc/net/udp", "/proc/net/udp6"], "07"),
        false => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
    };
    let tables = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let sockets: BTreeSet<String> = tables
        .flat_map(|table| listeners(&table, address.port(), state))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let holders: Vec<u32> = match sockets.is_empty() {
        true => Vec::new(),
        false => ids().filter(|pid| holds(*pid, &sockets)).collect(),
    };
    match holders.is_empty() {
        true => Place::Hidden,
        false => Place::Here(holders),
    }
}

/// The inodes of the sockets at a port that are in a state (`/proc/net/tcp`, proc_net(5)).
fn listeners(table: &str, port: u16, state: &str) -> Vec<u64> {
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, at) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(at, 16) == Ok(port) && fields.get(3) == Some(&state);
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// True if a process has one of these open.
fn holds(pid: u32, sockets: &BTreeSet<String>) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    let files = entries.into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.to_str().is_some_and(|link| sockets.contains(link)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_of_this_process_is_found() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = Place::Here(vec![std::process::id()]);
        assert_eq!(place(tcp.local_addr().unwrap(), false), here);
        let udp = UdpSocket::bind("[::1]:0").or_else(|_| UdpSocket::bind("127.0.0.1:0"));
        let udp = udp.unwrap();
        assert_eq!(place(udp.local_addr().unwrap(), true), here);
        // An address that is kept for documentation (RFC 5737).
        let other = SocketAddr::from(([192, 0, 2, 1], 80));
        assert_eq!(place(other, false), Place::Elsewhere);
    }

    #[test]
    fn a_table_lists_each_socket_with_its_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     \
                     0        0 4711 1 0000000000000000 100 0 0 10 0\n   \
                     1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     \
                     0        0 4712 1 0000000000000000 20 0 0 10 -1\n   nonsense\n";
        assert_eq!(listeners(table, 8080, "0A"), [4711]);
        assert_eq!(listeners(table, 8081, "0A"), [0; 0]);
        assert_eq!(listeners("", 8080, "0A"), [0; 0]);
    }
}
