//! Version 1: one line of text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Progress, ProxyHeader, ProxyProtocolError, proxied};

/// The beginning of every header.
pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// The longest line, its end included (section 2.1).
const LINE_AT_MOST: usize = 107;

pub(super) fn read(received: &[u8]) -> Result<Progress, ProxyProtocolError> {
    let within = received.get(..LINE_AT_MOST).unwrap_or(received);
    let Some(end) = within.windows(2).position(|pair| pair == b"\r\n") else {
        return match received.len() < LINE_AT_MOST {
            true => Ok(Progress::Incomplete),
            false => Err(ProxyProtocolError::TooLong),
        };
    };
    let line = within.get(..end).unwrap_or_default();
    Ok(Progress::Complete {
        header: header(line).ok_or(ProxyProtocolError::Malformed1)?,
        length: end + 2,
    })
}

/// The meaning of a line without its end.
fn header(line: &[u8]) -> Option<ProxyHeader> {
    // The rest of such a line is to be ignored, whatever it is.
    if let Some([] | [b' ', ..]) = line.strip_prefix(b"PROXY UNKNOWN") {
        return Some(ProxyHeader::Unnamed);
    }
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ').skip(1);
    let family = words.next()?;
    let address = |text: &str| match family {
        "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => None,
    };
    let source = address(words.next()?)?;
    let destination = address(words.next()?)?;
    let header = proxied(
        (source, port(words.next()?)?),
        (destination, port(words.next()?)?),
    );
    words.next().is_none().then_some(header)
}

/// A decimal number without a sign and without leading zeros.
fn port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|sign| sign.is_ascii_digit());
    let is_plain = is_number && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}
