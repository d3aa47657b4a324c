//! From URLs to an address and the targets of requests.

use std::net::{SocketAddr, ToSocketAddrs};

use url::Url;

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
    /// Whether the URL says https.
    pub is_secure: bool,
}

/// A URL of the `http` or `https` scheme, checked.
///
/// # Errors
/// Misused: what is not such a URL.
pub fn parse(text: &str) -> Result<Url, BenchError> {
    let wrong = |why: &str| BenchError::Misused(format!("{text:?} {why}"));
    let url = Url::parse(text).map_err(|error| {
        wrong(&format!(
            "is no URL ({error}): write it as http://127.0.0.1:8080/"
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(
            "is not a URL of http or https, which is what can be measured",
        ));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Without the URL: results are shown to others.
        return Err(BenchError::Misused(
            "a URL with a name and a password is not asked: send them as a field".to_owned(),
        ));
    }
    Ok(url)
}

/// The request target of a URL (RFC 9112 section 3.2.1).
pub fn origin_form(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

impl Target {
    /// The server that all of these URLs name.
    ///
    /// # Errors
    /// Misused: they name several, or none. Failed: the name stands for no address.
    pub fn of(urls: &[Url]) -> Result<Target, BenchError> {
        let authority = |url: &Url| url.authority().to_owned();
        let server = |url: &Url| format!("{}://{}", url.scheme(), url.authority());
        let Some(first) = urls.first() else {
            return Err(BenchError::Misused(
                "there is no URL to ask: give one".to_owned(),
            ));
        };
        if let Some(other) = urls.iter().find(|url| server(url) != server(first)) {
            return Err(BenchError::Misused(format!(
                "one run asks one server, and {} is not {}: measure them one after the other, or \
                 with salver bench compare",
                server(other),
                server(first)
            )));
        }
        let host = first.host_str().unwrap_or_default();
        let port = first.port_or_known_default().unwrap_or(80);
        let unknown = |error: &dyn std::fmt::Display| {
            BenchError::Failed(format!("no address is known for {host}: {error}"))
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let mut addresses = (bare, port)
            .to_socket_addrs()
            .map_err(|error| unknown(&error))?;
        Ok(Target {
            address: addresses.next().ok_or_else(|| unknown(&"none"))?,
            authority: authority(first),
            host: bare.to_owned(),
            is_secure: first.scheme() == "https",
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
        check(
            "http://127.0.0.1:81/a?b=c#d",
            "127.0.0.1:81",
            "127.0.0.1:81",
            "/a?b=c",
        );
        check("https://127.0.0.1/a", "127.0.0.1:443", "127.0.0.1", "/a");
        check("http://[::1]:81/ä", "[::1]:81", "[::1]:81", "/%C3%A4");
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let check = |texts: &[&str], expected: &str| {
            let urls: Result<Vec<Url>, _> = texts.iter().map(|text| parse(text)).collect();
            let error = urls.and_then(|urls| Target::of(&urls)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(&[], "no URL");
        check(&["localhost:80"], "is not a URL of http");
        check(&["/a"], "is no URL");
        check(&["http://a:b@127.0.0.1/"], "send them as a field");
        check(&["ftp://a/"], "is not a URL of http");
        check(
            &["http://127.0.0.1:1/", "https://127.0.0.1:1/"],
            "asks one server",
        );
        check(
            &["http://127.0.0.1:1/", "http://127.0.0.1:2/"],
            "asks one server",
        );
    }
}
