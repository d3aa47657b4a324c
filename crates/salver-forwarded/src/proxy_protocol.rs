//! The header of the PROXY protocol, versions 1 and 2 (HAProxy's `proxy-protocol.txt`).
//!
//! It comes once, before the first byte of the connection proper. Who expects it closes a connection that
//! begins otherwise, and who does not expect it never looks for it: else every client could name itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

mod checksum;
mod v1;
mod v2;

/// The longest header that is read, in bytes. Version 1 has at most 107, version 2 as many as its extensions
/// need: a certificate's names may take hundreds.
pub const HEADER_AT_MOST: usize = 4096;

/// The meaning of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyHeader {
    /// Nobody is named: the proxy's own connection, such as a check of health (`LOCAL`), or a client without
    /// an IP address (`UNKNOWN`, `AF_UNSPEC`, `AF_UNIX`). The connection's own addresses hold.
    Unnamed,
    /// The connection is another's. IPv4-mapped addresses are given as IPv4.
    Proxied {
        /// The client.
        source: SocketAddr,
        /// The address to which it connected.
        destination: SocketAddr,
    },
}

/// The state of reading a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// What has come may be the beginning of a header: read on, and try again from its first byte.
    Incomplete,
    /// The header is complete.
    Complete {
        /// The meaning.
        header: ProxyHeader,
        /// Its length in bytes. What follows belongs to the connection proper.
        length: usize,
    },
}

/// The fault of a header. The proxy and this server are set up differently, or it is no proxy: the connection
/// is closed without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProxyProtocolError {
    /// The connection begins otherwise.
    NoHeader,
    /// A header of version 1 that is none by its grammar.
    Malformed1,
    /// A header of version 2 with a version, command, family or length that is not.
    Malformed2,
    /// The extensions of a header of version 2 do not fill it.
    Extensions,
    /// The checksum of a header of version 2 is another's.
    Checksum,
    /// It is longer than [`HEADER_AT_MOST`], or than 107 bytes in version 1.
    TooLong,
}

impl fmt::Display for ProxyProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxyProtocolError::NoHeader => {
                "the connection does not begin with a header of the PROXY protocol: let the proxy send it"
            }
            ProxyProtocolError::Malformed1 => "the PROXY protocol's header, version 1, is malformed",
            ProxyProtocolError::Malformed2 => "the PROXY protocol's header, version 2, is malformed",
            ProxyProtocolError::Extensions => {
                "the extensions of the PROXY protocol's header do not fill it"
            }
            ProxyProtocolError::Checksum => "the checksum of the PROXY protocol's header is wrong",
            ProxyProtocolError::TooLong => "the PROXY protocol's header is too long",
        })
    }
}

impl std::error::Error for ProxyProtocolError {}

/// Reads the header at the beginning of `received`, all that has come over the connection so far.
///
/// # Errors
/// Said as soon as what has come cannot become a header: the connection is to be closed.
pub fn read(received: &[u8]) -> Result<Progress, ProxyProtocolError> {
    if begins(received, v2::SIGNATURE) {
        v2::read(received)
    } else if begins(received, v1::SIGNATURE) {
        v1::read(received)
    } else {
        Err(ProxyProtocolError::NoHeader)
    }
}

/// True if `received` begins with `signature`, or may yet.
fn begins(received: &[u8], signature: &[u8]) -> bool {
    received.starts_with(signature) || signature.starts_with(received)
}

/// Both ends of the connection as the header names them.
fn proxied(source: (IpAddr, u16), destination: (IpAddr, u16)) -> ProxyHeader {
    let canonical = |(address, port): (IpAddr, u16)| SocketAddr::new(address.to_canonical(), port);
    ProxyHeader::Proxied {
        source: canonical(source),
        destination: canonical(destination),
    }
}

#[cfg(test)]
mod tests;
