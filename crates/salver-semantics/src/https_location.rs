//! The place of a resource over TLS, for who asked for it without.

/// The port of `https` URLs that name none (RFC 9110 section 4.2.2).
const USUAL: u16 = 443;

/// The target of a redirect to TLS, `https://HOST[:PORT]/PATH[?QUERY]`, with path and query as they were received; `None`
/// if there is no host. The authority is a [valid](crate::Authority) one; its own port is left out.
pub fn https_location(
    authority: &[u8],
    path: &[u8],
    query: Option<&[u8]>,
    port: u16,
) -> Option<Vec<u8>> {
    let host = without_port(authority)?;
    let mut location = b"https://".to_vec();
    location.extend_from_slice(host);
    if port != USUAL {
        location.extend_from_slice(format!(":{port}").as_bytes());
    }
    let query = query.map(|query| [b"?", query].concat());
    // A field value is ASCII (RFC 9110 section 5.5); other bytes of a target are replaced by their escapes, which
    // mean the same.
    for &byte in [path, &query.unwrap_or_default()].concat().iter() {
        if byte.is_ascii_graphic() {
            location.push(byte);
        } else {
            location.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    Some(location)
}

/// The host of a valid authority; an IPv6 address keeps its brackets.
fn without_port(authority: &[u8]) -> Option<&[u8]> {
    let from = match authority.first()? {
        b'[' => authority.iter().position(|&byte| byte == b']')?,
        _ => 0,
    };
    let rest = authority.get(from..)?;
    let colon = rest.iter().position(|&byte| byte == b':');
    authority.get(..colon.map_or(authority.len(), |at| from + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_resource_at_another_port() {
        let check =
            |authority: &str, path: &str, query: Option<&str>, port, expected: Option<&str>| {
                let query = query.map(str::as_bytes);
                let found = https_location(authority.as_bytes(), path.as_bytes(), query, port);
                assert_eq!(
                    found.as_deref(),
                    expected.map(str::as_bytes),
                    "{authority} {path}"
                );
            };
        check("a.test:80", "/", None, 443, Some("https://a.test/"));
        check(
            "[::1]:80",
            "/a",
            Some(""),
            444,
            Some("https://[::1]:444/a?"),
        );
        check(
            "[::1]",
            "/\u{fc}",
            Some("b?c"),
            443,
            Some("https://[::1]/%C3%BC?b?c"),
        );
        check("", "/", None, 443, None);
    }
}
