//! Requests in the types of the `http` crate, as handlers take them.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{COOKIE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use salver_assets::{RequestPath, encode_path};

use super::answer::belongs_to_connection;
use super::peer::Peer;
use super::request_body::RequestBody;

/// The request of all field lines of its head, those of pseudo-fields included, whose names begin with a colon.
/// `path` is that of `asked`, if it has one. `None` if the types of the `http` crate cannot express it.
pub(crate) fn to_http_request<'a>(
    version: Version,
    asked: &salver_assets::Request<'_>,
    path: Option<&RequestPath<'_>>,
    lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    content: Option<RequestBody>,
    peer: Option<Peer>,
) -> Option<Request<RequestBody>> {
    let mut request = Request::new(content.unwrap_or_default());
    *request.version_mut() = version;
    let path = without_dot_segments(&asked.path, path);
    let target = match &asked.query {
        Some(query) => [&*path, b"?", query].concat(),
        None => path.into_owned(),
    };
    *request.uri_mut() = to_uri(target)?;
    let mut authority = None;
    for (name, value) in lines {
        match name {
            b":method" => *request.method_mut() = Method::from_bytes(value).ok()?,
            b":authority" => authority = Some(value),
            [b':', ..] => {}
            name => {
                let name = HeaderName::from_bytes(name).ok()?;
                // The server has handled these fields already.
                if !belongs_to_connection(name.as_str()) && name != http::header::EXPECT {
                    let value = HeaderValue::from_bytes(value).ok()?;
                    request.headers_mut().append(name, value);
                }
            }
        }
    }
    // RFC 9112 section 3.2.2 and RFC 9113 section 8.3.1: it replaces Host.
    if let Some(authority) = authority
        && request.headers().get(HOST).map(HeaderValue::as_bytes) != Some(authority)
    {
        let authority = HeaderValue::from_bytes(authority).ok()?;
        request.headers_mut().insert(HOST, authority);
    }
    join_cookies(request.headers_mut());
    if let Some(peer) = peer {
        request.extensions_mut().insert(peer);
    }
    Some(request)
}

/// A path as it was received, but without dot segments and empty ones: a guard does not see them, so that a handler
/// must not either (`/private/../x` is `/x`).
fn without_dot_segments<'a>(raw: &'a [u8], path: Option<&RequestPath<'_>>) -> Cow<'a, [u8]> {
    // Leaving out a segment leaves out its slash; the dot of `/a/.` alone hides nothing.
    let slashes = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
    match path {
        Some(path) if slashes(path.as_bytes()) != slashes(raw) => {
            let mut encoded = String::with_capacity(raw.len());
            encode_path(path.as_bytes(), &mut encoded);
            encoded.into_bytes().into()
        }
        _ => raw.into(),
    }
}

/// Joins the lines of Cookie, into which HTTP/2 and HTTP/3 may split it, but which programs do not expect (RFC 9113
/// section 8.2.3).
fn join_cookies(fields: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = fields
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if crumbs.len() > 1
        && let Ok(whole) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        fields.insert(COOKIE, whole);
    }
}

/// The target as a URI. Bytes that are not allowed there are replaced by their escapes, which mean the same.
fn to_uri(target: Vec<u8>) -> Option<Uri> {
    let is_odd = |byte: &u8| {
        let odd = matches!(
            byte,
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        odd || !byte.is_ascii_graphic()
    };
    // Of most targets no copy is needed.
    let odd = target.iter().any(is_odd).then(|| target.clone());
    if let Ok(uri) = Uri::from_maybe_shared(Bytes::from(target)) {
        return Some(uri);
    }
    let target = odd?;
    let mut escaped = String::with_capacity(target.len() + 32);
    for byte in target {
        match is_odd(&byte) {
            false => escaped.push(char::from(byte)),
            true => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::try_from(escaped).ok()
}
