//! A port at which nobody listens.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// An address that refuses connections. Its port is taken until this is dropped: one that was given back could be
/// somebody else's by the time that it is asked.
#[derive(Debug)]
pub struct Refusing {
    /// Where nobody listens.
    pub address: SocketAddr,
    _socket: OwnedFd,
}

impl Refusing {
    /// On any port of this machine.
    ///
    /// # Panics
    /// If there is none.
    #[allow(clippy::new_without_default, reason = "it is one of many")]
    pub fn new() -> Self {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = getsockname(&socket).unwrap().try_into().unwrap();
        Refusing {
            address,
            _socket: socket,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn it_refuses_and_keeps_its_port() {
        let refusing = Refusing::new();
        let error = TcpStream::connect(refusing.address).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(TcpListener::bind(refusing.address).is_err());
    }
}
