//! A request as a handler is given it.

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};

use super::{Held, Peer, belongs_to_connection};

/// Makes it of all lines of its head, those of pseudo-fields among them: names that begin with a
/// colon. `None` if it cannot be said in the types of the `http` crate.
pub(crate) fn given<'a>(
    version: Version,
    asked: &salver_assets::Request<'_>,
    lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    content: Option<Held>,
    peer: Option<Peer>,
) -> Option<Request<Bytes>> {
    let content = content.map(Held::into_bytes).unwrap_or_default();
    let mut request = Request::new(content);
    *request.version_mut() = version;
    let query = asked.query.as_deref();
    let target = match query {
        Some(query) => [&*asked.path, b"?", query].concat(),
        None => asked.path.to_vec(),
    };
    *request.uri_mut() = uri(&target)?;
    let mut authority = None;
    for (name, value) in lines {
        match name {
            b":method" => *request.method_mut() = Method::from_bytes(value).ok()?,
            b":authority" => authority = Some(value),
            [b':', ..] => {}
            name => {
                let name = HeaderName::from_bytes(name).ok()?;
                // What has been done already is not the handler's to do.
                if !belongs_to_connection(name.as_str()) && name != http::header::EXPECT {
                    let value = HeaderValue::from_bytes(value).ok()?;
                    request.headers_mut().append(name, value);
                }
            }
        }
    }
    // RFC 9113 section 8.3.1: what HTTP/1.1 says in Host.
    if let Some(authority) = authority
        && !request.headers().contains_key(HOST)
    {
        let authority = HeaderValue::from_bytes(authority).ok()?;
        request.headers_mut().insert(HOST, authority);
    }
    if let Some(peer) = peer {
        request.extensions_mut().insert(peer);
    }
    Some(request)
}

/// The target as a URI. Bytes that have no place there mean the same as their escapes to whoever
/// sends them.
fn uri(target: &[u8]) -> Option<Uri> {
    if let Ok(uri) = Uri::try_from(target) {
        return Some(uri);
    }
    let mut escaped = String::with_capacity(target.len() + 32);
    for &byte in target {
        let odd = matches!(
            byte,
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
        );
        match byte.is_ascii_graphic() && !odd {
            true => escaped.push(char::from(byte)),
            false => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::try_from(escaped).ok()
}
