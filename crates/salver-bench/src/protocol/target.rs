//! The target of a load: an address, and the request targets, from URLs.

use std::fmt::{Display, Write as _};
use std::net::{SocketAddr, ToSocketAddrs};

use http::Uri;
use http::uri::Authority;

use crate::error::BenchError;

/// A server: where it listens, and what it is called in `Host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The first address that the name stands for.
    pub address: SocketAddr,
    /// The `Host` field's value (RFC 9110 section 7.2).
    pub authority: String,
    /// The host's name or address alone: whom a certificate has to name.
    pub host: String,
    /// The URL says https.
    pub is_secure: bool,
}

/// A URL of the `http` or `https` scheme, checked.
///
/// # Errors
/// Misused: what is not such a URL.
pub fn parse(text: &str) -> Result<Uri, BenchError> {
    let wrong = |why: &str| BenchError::Misused(format!("{text:?} {why}"));
    let no_url = |why: &dyn Display| {
        wrong(&format!(
            "is no URL ({why}): write it as http://127.0.0.1:8080/"
        ))
    };
    let url: Uri = escaped(text).parse().map_err(|error| no_url(&error))?;
    let (scheme, authority) = match (url.scheme_str(), url.authority()) {
        (None, _) => return Err(no_url(&"it has no scheme")),
        (scheme, authority) => (scheme, authority.map_or("", Authority::as_str)),
    };
    if !matches!(scheme, Some("http" | "https")) {
        return Err(wrong(
            "is not a URL of http or https, which is what can be measured",
        ));
    }
    if authority.contains('@') {
        // Without the URL: results are shown to others.
        return Err(BenchError::Misused(
            "a URL with a name and a password is not asked: send them as a field".to_owned(),
        ));
    }
    let host = url.host().unwrap_or_default();
    if host.is_empty() {
        return Err(wrong("names no host"));
    }
    if authority != host && url.port_u16().is_none() {
        return Err(wrong("names no port from 0 to 65535"));
    }
    Ok(url)
}

/// A URL with what cannot stand in its path and query as it is percent-encoded, and without fragment.
fn escaped(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let after_scheme = text.find("://").map_or(0, |at| at + 3);
    let rest = text.get(after_scheme..).unwrap_or_default();
    let authority = rest.find(['/', '?']).unwrap_or(rest.len());
    let (before, after) = text.split_at(after_scheme + authority);
    let stays = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    format!("{before}{}", percent_encoded(after.as_bytes(), stays))
}

/// Percent-encoded (RFC 3986 section 2.1), but for bytes that `stay` as they are.
pub(crate) fn percent_encoded(bytes: &[u8], stays: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = match stays(*byte) {
            true => text.write_char(char::from(*byte)),
            false => write!(text, "%{byte:02X}"),
        };
    }
    text
}

/// The request target of a URL (RFC 9112 section 3.2.1).
pub fn origin_form(url: &Uri) -> String {
    let form = url.path_and_query().map_or("/", |form| form.as_str());
    match form.starts_with('/') {
        true => form.to_owned(),
        false => format!("/{form}"),
    }
}

impl Target {
    /// The server that all of these URLs name.
    ///
    /// # Errors
    /// Misused: they name several, or none. Failed: the name stands for no address.
    pub fn of(urls: &[Uri]) -> Result<Target, BenchError> {
        let Some(first) = urls.first() else {
            return Err(BenchError::Misused(
                "there is no URL to ask: give one".to_owned(),
            ));
        };
        let authority = |url: &Uri| url.authority().map_or("", Authority::as_str).to_owned();
        let server = |url: &Uri| {
            let scheme = url.scheme_str().unwrap_or_default();
            format!("{scheme}://{}", authority(url))
        };
        let is_other =
            |url: &&Uri| (url.scheme(), url.authority()) != (first.scheme(), first.authority());
        if let Some(other) = urls.iter().find(is_other) {
            return Err(BenchError::Misused(format!(
                "one run asks one server, and {} is not {}: measure them one after the other, or \
                 with salver bench compare",
                server(other),
                server(first)
            )));
        }
        let is_secure = first.scheme_str() == Some("https");
        let host = first.host().unwrap_or_default();
        let port = first.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let unknown = |error: &dyn Display| {
            BenchError::Failed(format!("no address is known for {host}: {error}"))
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = (bare, port).to_socket_addrs();
        let first_address = addresses.map_err(|error| unknown(&error))?.next();
        Ok(Target {
            address: first_address.ok_or_else(|| unknown(&"none"))?,
            authority: authority(first),
            host: bare.to_owned(),
            is_secure,
        })
    }

    /// Scheme and authority, as a URL begins.
    pub fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_server_and_what_to_ask() {
        let check = |text: &str, address: &str, authority: &str, form: &str| {
            let url = parse(text).unwrap();
            let target = Target::of(std::slice::from_ref(&url)).unwrap();
            assert_eq!(target.address.to_string(), address, "{text}");
            assert_eq!(target.authority, authority, "{text}");
            assert_eq!(origin_form(&url), form, "{text}");
        };
        check("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/");
        let (one, two) = ("127.0.0.1:81", "127.0.0.1:80");
        check("http://127.0.0.1:81/a?b=c#d", one, one, "/a?b=c");
        check("https://127.0.0.1/a", "127.0.0.1:443", "127.0.0.1", "/a");
        check("http://[::1]:81/ä", "[::1]:81", "[::1]:81", "/%C3%A4");
        check("http://127.0.0.1:80?a b", two, two, "/?a%20b");
        check("http://127.0.0.1/a/../%2e", two, "127.0.0.1", "/a/../%2e");
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let check = |texts: &[&str], expected: &str| {
            let urls: Result<Vec<Uri>, _> = texts.iter().map(|text| parse(text)).collect();
            let error = urls.and_then(|urls| Target::of(&urls)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(&[], "no URL");
        check(&["localhost:80"], "is no URL (it has no scheme)");
        check(&["/a"], "is no URL");
        check(&["http:///a"], "is no URL");
        check(&["http://127.0.0.1:99999/"], "names no port");
        check(&["http://bücher.example/"], "is no URL");
        check(&["http://a:b@127.0.0.1/"], "send them as a field");
        check(&["ftp://a/"], "is not a URL of http");
        for other in ["https://127.0.0.1:1/", "http://127.0.0.1:2/"] {
            check(&["http://127.0.0.1:1/", other], "asks one server");
        }
    }
}
