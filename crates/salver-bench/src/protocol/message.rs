//! A request's bytes as a message of HTTP/2 and HTTP/3.

use bytes::Bytes;
use http::header::HeaderName;
use http::uri::Scheme;
use http::{HeaderValue, Request, Uri, Version};

use crate::error::BenchError;

/// More fields than this are not sent.
const FIELDS: usize = 256;

/// Fields of a connection of HTTP/1.1, which the other versions do not have (RFC 9113 section 8.2.2).
const OF_CONNECTIONS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// The same request, its `Host` as the authority (RFC 9113 section 8.3.1).
///
/// # Errors
/// Misused: a field that somebody gave cannot be sent.
pub(crate) fn message(text: &[u8], is_secure: bool) -> Result<Request<Bytes>, BenchError> {
    let wrong = |why: &dyn std::fmt::Display| {
        BenchError::Misused(format!("a request cannot be sent like this: {why}"))
    };
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let head = match parsed.parse(text).map_err(|error| wrong(&error))? {
        httparse::Status::Complete(head) => head,
        httparse::Status::Partial => return Err(wrong(&"it has no end")),
    };
    let body = text.get(head..).unwrap_or_default();
    let mut request = Request::new(Bytes::copy_from_slice(body));
    *request.method_mut() = match parsed.method {
        Some(method) => method.parse().map_err(|error| wrong(&error))?,
        None => http::Method::GET,
    };
    *request.version_mut() = Version::HTTP_2;
    let mut uri = Uri::builder()
        .scheme(match is_secure {
            true => Scheme::HTTPS,
            false => Scheme::HTTP,
        })
        .path_and_query(parsed.path.unwrap_or("/"));
    for field in parsed.headers.iter() {
        if field.name.eq_ignore_ascii_case("host") {
            uri = uri.authority(field.value);
            continue;
        }
        let name = HeaderName::try_from(field.name).map_err(|error| wrong(&error))?;
        if OF_CONNECTIONS.contains(&name.as_str()) {
            continue;
        }
        let value = HeaderValue::from_bytes(field.value).map_err(|error| wrong(&error))?;
        request.headers_mut().append(name, value);
    }
    *request.uri_mut() = uri.build().map_err(|error| wrong(&error))?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kept_but_those_of_connections() {
        let text = "PUT /a?b HTTP/1.1\r\nHost: [::1]:8443\r\nConnection: close\r\nX: y\r\nx: Z\r\n\
                    Accept-Encoding: br\r\n\r\n{}";
        let request = message(text.as_bytes(), true).unwrap();
        assert_eq!(request.uri(), "https://[::1]:8443/a?b");
        assert_eq!(request.method(), "PUT");
        assert_eq!(&request.body()[..], b"{}");
        let fields = request.headers().iter();
        let fields: Vec<_> = { fields }
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(fields, [("x", "y"), ("x", "Z"), ("accept-encoding", "br")]);
        let check = |text: &str| {
            let error = message(text.as_bytes(), false).unwrap_err();
            assert!(matches!(error, BenchError::Misused(_)), "{error}");
        };
        check("GET / HTTP/1.1\r\nHost: a\r\nä: b\r\n\r\n");
        check("GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    }
}
