//! Version 2: binary, with extensions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::checksum::crc32c;
use super::{HEADER_AT_MOST, Progress, ProxyHeader, ProxyProtocolError, proxied};

/// The beginning of every header.
pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The two paths of a Unix socket's connection (section 2.2), which say nothing here.
const UNIX_PATHS: usize = 216;

/// The extension with the checksum of the whole header (section 2.2.3).
const CHECKSUM: u8 = 0x03;

pub(super) fn read(received: &[u8]) -> Result<Progress, ProxyProtocolError> {
    let Some(&[command, family, high, low]) = received.get(12..16) else {
        return Ok(Progress::Incomplete);
    };
    let length = 16 + usize::from(u16::from_be_bytes([high, low]));
    if length > HEADER_AT_MOST {
        return Err(ProxyProtocolError::TooLong);
    }
    let Some(whole) = received.get(..length) else {
        return Ok(Progress::Incomplete);
    };
    let rest = whole.get(16..).unwrap_or_default();
    let header = match (command, family) {
        // LOCAL: all the rest is to be skipped.
        (0x20, _) => ProxyHeader::Unnamed,
        (0x21, 0x00) => ProxyHeader::Unnamed,
        // Over TCP and over UDP.
        (0x21, 0x11 | 0x12) => {
            let (block, extensions) = split::<12>(rest)?;
            check(whole, extensions)?;
            let [a, b, c, d, e, f, g, h, ports @ ..] = *block;
            ends(
                Ipv4Addr::new(a, b, c, d).into(),
                Ipv4Addr::new(e, f, g, h).into(),
                ports,
            )
        }
        (0x21, 0x21 | 0x22) => {
            let (source, rest) = split::<16>(rest)?;
            let (destination, rest) = split::<16>(rest)?;
            let (ports, extensions) = split::<4>(rest)?;
            check(whole, extensions)?;
            ends(
                Ipv6Addr::from_octets(*source).into(),
                Ipv6Addr::from_octets(*destination).into(),
                *ports,
            )
        }
        (0x21, 0x31 | 0x32) => {
            check(whole, split::<UNIX_PATHS>(rest)?.1)?;
            ProxyHeader::Unnamed
        }
        _ => return Err(ProxyProtocolError::Malformed2),
    };
    Ok(Progress::Complete { header, length })
}

fn split<const LENGTH: usize>(bytes: &[u8]) -> Result<(&[u8; LENGTH], &[u8]), ProxyProtocolError> {
    bytes
        .split_first_chunk::<LENGTH>()
        .ok_or(ProxyProtocolError::Malformed2)
}

fn ends(source: IpAddr, destination: IpAddr, ports: [u8; 4]) -> ProxyHeader {
    let [a, b, c, d] = ports;
    proxied(
        (source, u16::from_be_bytes([a, b])),
        (destination, u16::from_be_bytes([c, d])),
    )
}

/// Goes through the extensions (type, length, value) to the header's end, and checks the checksum if there is
/// one.
fn check(whole: &[u8], extensions: &[u8]) -> Result<(), ProxyProtocolError> {
    let mut rest = extensions;
    while !rest.is_empty() {
        let error = ProxyProtocolError::Extensions;
        let (&[kind, high, low], after) = rest.split_first_chunk::<3>().ok_or(error)?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (value, after) = after.split_at_checked(length).ok_or(error)?;
        if kind == CHECKSUM {
            let stated: [u8; 4] = value.try_into().map_err(|_| error)?;
            let at = whole.len() - after.len() - stated.len();
            // It is that of the header with zeros in its own place.
            let (before, _) = whole.split_at_checked(at).ok_or(error)?;
            let parts = [before, &[0; 4], after];
            if crc32c(&parts) != u32::from_be_bytes(stated) {
                return Err(ProxyProtocolError::Checksum);
            }
        }
        rest = after;
    }
    Ok(())
}
