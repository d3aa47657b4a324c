//! Listening sockets and the limit on descriptors.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

/// Connections that the kernel holds until they are accepted; it caps this at `somaxconn`.
const BACKLOG: i32 = 16384;

/// The address families that reach a socket at an IPv6 address; at one of IPv4 it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Families {
    /// Clients over IPv6 alone.
    Own,
    /// At the address that stands for every interface, clients over IPv4 too: their addresses are
    /// mapped ones (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2).
    Both,
}

/// A non-blocking socket for these clients, not bound yet.
fn socket(address: SocketAddr, kind: Type, families: Families, share: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if share {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        // The system would decide by its own default.
        socket.set_only_v6(families == Families::Own)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The time after which the kernel asks a peer that is silent if it is still there, that between two questions, and their
/// number: a peer that has vanished is found out within two minutes.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(60), Duration::from_secs(10), 6);

/// Sets the options of a listener that accepted sockets inherit on Linux, so that they cost no connection anything.
fn set_inherited(listener: &SockRef<'_>) -> io::Result<()> {
    let (time, interval, retries) = KEEPALIVE;
    let keepalive = TcpKeepalive::new().with_time(time);
    let keepalive = keepalive.with_interval(interval).with_retries(retries);
    listener.set_tcp_keepalive(&keepalive)?;
    listener.set_tcp_nodelay(true)
}

/// A non-blocking listener with `TCP_NODELAY` and `SO_KEEPALIVE`, which accepted sockets inherit on Linux.
///
/// With `share`, several listeners of one process may bind the same address and the kernel spreads
/// connections over them (`SO_REUSEPORT`); without, a taken address is an error.
///
/// # Errors
/// `AddrInUse`, `AddrNotAvailable`, `PermissionDenied` and what else `bind(2)` gives.
pub fn listen(address: SocketAddr, families: Families, share: bool) -> io::Result<TcpListener> {
    let socket = socket(address, Type::STREAM, families, share)?;
    // A restart need not wait for connections in TIME_WAIT; a second listener is still refused.
    socket.set_reuse_address(true)?;
    set_inherited(&SockRef::from(&socket))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Sets what accepted sockets inherit for a listener that somebody else has made, as [`listen`] does.
///
/// # Errors
/// That of `setsockopt(2)`: this is no listener over TCP, say.
pub fn send_at_once(listener: &TcpListener) -> io::Result<()> {
    set_inherited(&SockRef::from(listener))
}

/// The bytes that a socket for datagrams may hold in each direction; the kernel caps it at
/// `rmem_max` and `wmem_max`. A burst of many connections waits here while the loop is busy.
const DATAGRAMS: usize = 4 << 20;

/// A non-blocking socket for datagrams.
///
/// With `share`, several sockets of one process may bind the same address and the kernel spreads
/// datagrams over them by the addresses and ports of both sides (`SO_REUSEPORT`); without, a taken
/// address is an error.
///
/// # Errors
/// `AddrInUse`, `AddrNotAvailable`, `PermissionDenied` and what else `bind(2)` gives.
pub fn bind_datagrams(
    address: SocketAddr,
    families: Families,
    share: bool,
) -> io::Result<UdpSocket> {
    let socket = socket(address, Type::DGRAM, families, share)?;
    // Smaller buffers lose datagrams sooner, and nothing else.
    let _ = socket.set_recv_buffer_size(DATAGRAMS);
    let _ = socket.set_send_buffer_size(DATAGRAMS);
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Raises the soft limit on open descriptors to the hard one; returns what is in force.
pub fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Refused on some systems where "unlimited" is not a count: then the old limit stays.
    if setrlimit(Resource::Nofile, raised).is_ok() {
        limit.maximum.unwrap_or(u64::MAX)
    } else {
        limit.current.unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_an_error_unless_shared() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let alone = listen(any, Families::Own, false).unwrap();
        let taken = alone.local_addr().unwrap();
        assert_eq!(
            listen(taken, Families::Own, false).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        assert_eq!(
            listen(taken, Families::Own, true).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        let shared = listen(any, Families::Own, true).unwrap();
        let address = shared.local_addr().unwrap();
        assert!(listen(address, Families::Own, true).is_ok());
    }

    #[test]
    fn who_is_accepted_is_asked_if_it_is_still_there() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let own = listen(any, Families::Own, false).unwrap();
        let given = TcpListener::bind(any).unwrap();
        send_at_once(&given).unwrap();
        for listener in [own, given] {
            listener.set_nonblocking(false).unwrap();
            let address = listener.local_addr().unwrap();
            let _client = std::net::TcpStream::connect(address).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let accepted = SockRef::from(&accepted);
            assert!(accepted.keepalive().unwrap() && accepted.tcp_nodelay().unwrap());
            let times = (
                accepted.tcp_keepalive_time().unwrap(),
                accepted.tcp_keepalive_interval().unwrap(),
                accepted.tcp_keepalive_retries().unwrap(),
            );
            assert_eq!(times, KEEPALIVE);
        }
    }

    #[test]
    fn a_taken_port_for_datagrams_is_an_error_unless_shared() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let alone = bind_datagrams(any, Families::Own, false).unwrap();
        let taken = alone.local_addr().unwrap();
        for share in [false, true] {
            let error = bind_datagrams(taken, Families::Own, share).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
        let shared = bind_datagrams(any, Families::Own, true).unwrap();
        assert!(bind_datagrams(shared.local_addr().unwrap(), Families::Own, true).is_ok());
    }

    #[test]
    fn both_families_reach_one_socket_or_each_its_own() {
        let any: SocketAddr = "[::]:0".parse().unwrap();
        let both = listen(any, Families::Both, false).unwrap();
        let port = both.local_addr().unwrap().port();
        let over_ipv4 = SocketAddr::from(([127, 0, 0, 1], port));
        std::net::TcpStream::connect(over_ipv4).unwrap();
        let taken = listen(([0, 0, 0, 0], port).into(), Families::Own, false);
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let own = listen(any, Families::Own, false).unwrap();
        let port = own.local_addr().unwrap().port();
        let over_ipv4 = SocketAddr::from(([127, 0, 0, 1], port));
        assert!(std::net::TcpStream::connect(over_ipv4).is_err());
        let datagrams = bind_datagrams(any, Families::Both, false).unwrap();
        let port = datagrams.local_addr().unwrap().port();
        let taken = bind_datagrams(([0, 0, 0, 0], port).into(), Families::Own, false);
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn the_limit_is_raised() {
        assert!(raise_descriptor_limit() >= 256);
    }
}
