//! Listening sockets and the limit on descriptors.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel holds until they are accepted; it caps this at `somaxconn`.
const BACKLOG: i32 = 16384;

/// A non-blocking listener with `TCP_NODELAY`, which accepted sockets inherit on Linux.
///
/// With `share`, several listeners of one process may bind the same address and the kernel spreads
/// connections over them (`SO_REUSEPORT`); without, a taken address is an error.
///
/// # Errors
/// `AddrInUse`, `AddrNotAvailable`, `PermissionDenied` and what else `bind(2)` gives.
pub fn listen(address: SocketAddr, share: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restart need not wait for connections in TIME_WAIT; a second listener is still refused.
    socket.set_reuse_address(true)?;
    if share {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// What a socket for datagrams may hold in each direction, in bytes; the kernel caps it at
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
pub fn bind_datagrams(address: SocketAddr, share: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if share {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Smaller buffers lose datagrams sooner, and nothing else.
    let _ = socket.set_recv_buffer_size(DATAGRAMS);
    let _ = socket.set_send_buffer_size(DATAGRAMS);
    socket.set_nonblocking(true)?;
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
        let alone = listen(any, false).unwrap();
        let taken = alone.local_addr().unwrap();
        assert_eq!(
            listen(taken, false).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        assert_eq!(
            listen(taken, true).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        let shared = listen(any, true).unwrap();
        let address = shared.local_addr().unwrap();
        assert!(listen(address, true).is_ok());
    }

    #[test]
    fn a_taken_port_for_datagrams_is_an_error_unless_shared() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let alone = bind_datagrams(any, false).unwrap();
        let taken = alone.local_addr().unwrap();
        for share in [false, true] {
            let error = bind_datagrams(taken, share).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
        let shared = bind_datagrams(any, true).unwrap();
        assert!(bind_datagrams(shared.local_addr().unwrap(), true).is_ok());
    }

    #[test]
    fn the_limit_is_raised() {
        assert!(raise_descriptor_limit() >= 256);
    }
}
