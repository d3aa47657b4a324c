//! Requests in the types of the `http` crate, as handlers take them.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{COOKIE, EXPECT, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};
use salver_assets::{RequestPath, encode_path};

use super::peer::Peer;
use super::request_body::RequestBody;
use super::sent_fields::belongs_to_connection;

/// The request of all field lines of its head, those of pseudo-fields included, whose names begin with a colon.
/// `path` is that of `asked`, if it has one. Its fields are put into `spare`, which is empty and may have memory. `None`
/// if the types of the `http` crate cannot express it.
pub(crate) fn to_http_request<'a>(
    version: Version,
    asked: &salver_assets::Request<'_>,
    path: Option<&RequestPath<'_>>,
    mut lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    (content, spare): (Option<RequestBody>, HeaderMap),
    peer: Option<Peer>,
) -> Option<Request<RequestBody>> {
    let mut request = Request::new(content.unwrap_or_default());
    *request.version_mut() = version;
    *request.uri_mut() = to_uri(&without_dot_segments(&asked.path, path), &asked.query)?;
    let mut method = Method::GET;
    let mut fields = spare;
    // What is done about these fields below is noted here: a look into the map is a hash.
    let (mut authority, mut host, mut cookies) = (None, None, 0);
    lines.try_for_each(|(name, value)| {
        match name {
            b":method" => method = Method::from_bytes(value).ok()?,
            b":authority" => authority = Some(value),
            [b':', ..] => {}
            name => {
                let name = HeaderName::from_bytes(name).ok()?;
                // The server has handled these fields already.
                if !belongs_to_connection(name.as_str()) && name != EXPECT {
                    if name == HOST {
                        host = host.or(Some(value));
                    }
                    cookies += usize::from(name == COOKIE);
                    fields.append(name, HeaderValue::from_bytes(value).ok()?);
                }
            }
        }
        Some(())
    })?;
    // RFC 9112 section 3.2.2 and RFC 9113 section 8.3.1: it replaces Host.
    if let Some(authority) = authority.filter(|authority| host != Some(authority)) {
        fields.insert(HOST, HeaderValue::from_bytes(authority).ok()?);
    }
    if cookies > 1 {
        join_cookies(&mut fields);
    }
    *request.method_mut() = method;
    *request.headers_mut() = fields;
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
        // Most paths are what was received.
        Some(path) if path.as_bytes() == raw => raw.into(),
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

/// Path and query as a URI. Bytes that are not allowed there are replaced by their escapes, which mean the same.
fn to_uri(path: &[u8], query: &Option<Cow<'_, [u8]>>) -> Option<Uri> {
    let target = || match query {
        Some(query) => [path, b"?", query].concat(),
        None => path.to_vec(),
    };
    if let Ok(uri) = Uri::from_maybe_shared(Bytes::from(target())) {
        return Some(uri);
    }
    let is_odd = |byte: &u8| {
        let odd = matches!(
            byte,
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        odd || !byte.is_ascii_graphic()
    };
    let target = target();
    let mut escaped = String::with_capacity(target.len() + 32);
    for byte in target {
        match is_odd(&byte) {
            false => escaped.push(char::from(byte)),
            true => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::try_from(escaped).ok()
}
